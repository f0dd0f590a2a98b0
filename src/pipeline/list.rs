//! `GET /jobs` and `GET /batches`: pages, the newest first.
//!
//! A page ends at a place, and the next begins below it. Places are in the order
//! of acceptance, so what is added meanwhile comes before the first page, and
//! nothing is told twice or left out. (The order of ids would not do: a job has
//! its id before its upload.)
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::ports::{Ambient, Database};
use super::problem::Problem;
use super::query::{Query, cut};
use super::read::ask;
use super::store::{self, BatchRow, JobRow, JobsOf, Listed, Page, beginning};
use super::view::{BatchStatus, BatchSummary, JobView};
use crate::domain::{BatchId, JobId, JobStatus, Priority, Timestamp};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// The answer to `GET /jobs`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Jobs {
    jobs: Vec<JobView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The answer to `GET /batches`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Batches {
    batches: Vec<BatchSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A page of the tenant's jobs.
///
/// # Errors
///
/// 400 that names the parameter, 503 if the database does not answer.
pub async fn jobs<P: Database + Ambient>(ports: &P, caller: &Caller, query: &Query) -> Answered {
    query.only(&[
        "status",
        "priority",
        "batch",
        "userId",
        "createdAfter",
        "createdBefore",
        "limit",
        "cursor",
    ])?;
    let limit = query.limit()?;
    let page = page::<JobId>(caller, query, limit)?;
    let statuses = JobStatus::ALL.map(|status| (status.as_str(), status));
    let of = JobsOf {
        status: query.word("status", &statuses)?,
        batch: id(query, "batch")?,
        user_id: query.get("userId"),
    };
    let rows = ask(ports, vec![store::list_jobs(&page, &of)]).await?;
    let mut rows = store::first::<JobRow>(&rows)?;
    let last = cut(&mut rows, limit).map(|row| Listed { at: row.created_at, id: row.job_id });
    let next_cursor = last.map(|place| place.to_string());
    Answer::json(200, &Jobs { jobs: rows.into_iter().map(JobView::from).collect(), next_cursor })
}

/// A page of the tenant's batches.
///
/// # Errors
///
/// 400 that names the parameter, 503 if the database does not answer.
pub async fn batches<P: Database + Ambient>(ports: &P, caller: &Caller, query: &Query) -> Answered {
    query.only(&["status", "priority", "createdAfter", "createdBefore", "limit", "cursor"])?;
    let limit = query.limit()?;
    let page = page::<BatchId>(caller, query, limit)?;
    let ended = query.word("status", &BatchStatus::WORDS)?;
    let rows = ask(ports, vec![store::list_batches(&page, ended)]).await?;
    let mut rows = store::first::<BatchRow>(&rows)?;
    let last = cut(&mut rows, limit).map(|row| Listed { at: row.created_at, id: row.batch_id });
    let next_cursor = last.map(|place| place.to_string());
    let batches = rows.into_iter().map(BatchSummary::from).collect();
    Answer::json(200, &Batches { batches, next_cursor })
}

/// What both lists ask for; a row more than the page has tells of another page.
fn page<'a, Id: FromStr + fmt::Display>(
    caller: &'a Caller,
    query: &Query,
    limit: u32,
) -> Result<Page<'a>, Problem> {
    let priorities = Priority::ALL.map(|priority| (priority.as_str(), priority));
    let cursor = cursor::<Id>(query)?.map(|place| place.to_string());
    let ends = [cursor, moment(query, "createdBefore")?.map(beginning)];
    Ok(Page {
        tenant: &caller.tenant.tenant_id,
        priority: query.word("priority", &priorities)?,
        from: moment(query, "createdAfter")?.map(beginning),
        below: ends.into_iter().flatten().min(),
        limit: limit + 1,
    })
}

fn cursor<Id: FromStr>(query: &Query) -> Result<Option<Listed<Id>>, Problem> {
    let wrong = |()| Problem::field("cursor", "`cursor` must be a `nextCursor`, as it was");
    query.get("cursor").map(|value| value.parse().map_err(wrong)).transpose()
}

fn id<Id: FromStr>(query: &Query, name: &str) -> Result<Option<Id>, Problem> {
    let wrong = || Problem::field(name, format!("`{name}` must be an id, as an answer named it"));
    query.get(name).map(|value| value.parse().map_err(|_| wrong())).transpose()
}

fn moment(query: &Query, name: &str) -> Result<Option<Timestamp>, Problem> {
    let detail = || format!("`{name}` must be a time in UTC like 2026-11-30T08:00:00Z (RFC 3339)");
    let wrong = || Problem::field(name, detail());
    let read = |value| Timestamp::from_rfc3339(value).ok_or_else(wrong);
    query.get(name).map(read).transpose()
}
