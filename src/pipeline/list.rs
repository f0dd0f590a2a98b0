//! `GET /jobs` and `GET /batches`: pages, the newest first.
//!
//! A page ends at an id, and the next begins below it. Ids sort by creation, so
//! what is added meanwhile comes before the first page, and nothing is told
//! twice or left out. The moment in an id is the row's `createdAt`: a range of
//! time is a range of ids.
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::ports::{Ambient, Database};
use super::problem::Problem;
use super::query::{Query, cut};
use super::read::ask;
use super::store::{self, BatchRow, JobRow, JobsOf, Page};
use super::view::{BatchStatus, BatchSummary, JobView};
use crate::domain::{BatchId, JobId, JobStatus, Priority, Timestamp};
use serde::Serialize;
use std::str::FromStr;
use utoipa::ToSchema;

/// The answer to `GET /jobs`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Jobs {
    jobs: Vec<JobView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<JobId>,
}

/// The answer to `GET /batches`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Batches {
    batches: Vec<BatchSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<BatchId>,
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
    let page = page(caller, query, limit, JobId::first_of)?;
    let statuses = JobStatus::ALL.map(|status| (status.as_str(), status));
    let of = JobsOf {
        status: query.word("status", &statuses)?,
        batch: id(query, "batch")?,
        user_id: query.get("userId"),
    };
    let rows = ask(ports, vec![store::list_jobs(&page, &of)]).await?;
    let mut rows = store::first::<JobRow>(&rows)?;
    let next_cursor = cut(&mut rows, limit).map(|last| last.job_id);
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
    let page = page(caller, query, limit, BatchId::first_of)?;
    let ended = query.word("status", &BatchStatus::WORDS)?;
    let rows = ask(ports, vec![store::list_batches(&page, ended)]).await?;
    let mut rows = store::first::<BatchRow>(&rows)?;
    let next_cursor = cut(&mut rows, limit).map(|last| last.batch_id);
    let batches = rows.into_iter().map(BatchSummary::from).collect();
    Answer::json(200, &Batches { batches, next_cursor })
}

/// What both lists ask for; a row more than the page has tells of another page.
fn page<'a, Id: FromStr + Ord>(
    caller: &'a Caller,
    query: &Query,
    limit: u32,
    first_of: impl Fn(Timestamp) -> Id,
) -> Result<Page<'a, Id>, Problem> {
    let priorities = Priority::ALL.map(|priority| (priority.as_str(), priority));
    let ends = [id(query, "cursor")?, moment(query, "createdBefore")?.map(&first_of)];
    Ok(Page {
        tenant: &caller.tenant.tenant_id,
        priority: query.word("priority", &priorities)?,
        from: moment(query, "createdAfter")?.map(first_of),
        below: ends.into_iter().flatten().min(),
        limit: limit + 1,
    })
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
