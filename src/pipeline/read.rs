//! What an owner may read. A foreign id and an unknown one answer alike.
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::ports::{Ambient, Database, Rows, SchedulerPort, Statement};
use super::problem::Problem;
use super::query::Query;
use super::retry::patiently;
use super::store::{self, BatchRow, JobRow};
use super::view::{BatchView, JobView, ask_again};
use super::waiting::until_ended;
use crate::domain::{BatchId, JobId, JobStatus, Timestamp, from_json};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Reads a job of the caller's tenant.
///
/// # Errors
///
/// 404, or 503 if the database does not answer.
pub async fn job<P>(ports: &P, caller: &Caller, job: JobId) -> Result<JobRow, Problem>
where
    P: Database + Ambient,
{
    let rows = ask(ports, vec![store::find_job(&caller.tenant.tenant_id, job)]).await?;
    store::first::<JobRow>(&rows)?.pop().ok_or_else(Problem::not_found)
}

/// How a job stands, once it has ended or the caller's wait is over.
///
/// # Errors
///
/// 404, or 503 if the database does not answer.
pub async fn show<P>(ports: &P, caller: &Caller, job: JobId) -> Answered
where
    P: Database + SchedulerPort + Ambient,
{
    let row = until_ended(ports, caller, job).await?;
    let explained = match row.status {
        // Not knowing is no reason to refuse the rest.
        JobStatus::Pending => ports.explain(job).await.ok().flatten(),
        JobStatus::Running
        | JobStatus::Completed
        | JobStatus::Failed
        | JobStatus::DeadLettered
        | JobStatus::Canceled => None,
    };
    let starts = explained.as_deref().and_then(estimated_start);
    let again = (!row.status.ended()).then(|| ask_again(row.created_at, ports.now(), starts));
    let answer = Answer::json(200, &JobView::from(row).waiting_for(explained))?.again(again);
    Ok(preferred(answer, caller))
}

fn estimated_start(explained: &RawValue) -> Option<Timestamp> {
    let said = from_json::<Said>(explained.get()).ok()?;
    Timestamp::from_rfc3339(&said.estimated_start?)
}

/// After a job was accepted: 200 with the job if it ends within the caller's
/// wait, or else what it was to be told.
pub async fn after<P>(ports: &P, caller: &Caller, accepted: Answer) -> Answer
where
    P: Database + SchedulerPort + Ambient,
{
    if caller.wait.is_none() {
        return accepted;
    }
    let location = accepted.headers.iter().find(|(name, _)| *name == "location");
    let job = location.and_then(|(_, path)| path.strip_prefix("/jobs/")?.parse().ok());
    let row = match job {
        Some(job) => until_ended(ports, caller, job).await.ok(),
        None => None,
    };
    let demotion = || from_json::<Said>(&accepted.body).ok()?.demotion;
    let ended = row.filter(|row| row.status.ended());
    let view = ended.map(|row| JobView::from(row).demotion(demotion()));
    let body = view.and_then(|view| serde_json::to_string(&view).ok());
    let answer = match body {
        Some(body) => Answer { status: 200, body, ..accepted },
        None => accepted,
    };
    preferred(answer, caller)
}

/// What an answer or the scheduler said, as far as it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    estimated_start: Option<String>,
    demotion: Option<Box<RawValue>>,
}

fn preferred(answer: Answer, caller: &Caller) -> Answer {
    match caller.wait {
        Some(wait) => {
            answer.with("preference-applied", format!("wait={}", wait.as_secs_rounded_up()))
        }
        None => answer,
    }
}

/// Reads a batch of the caller's tenant, with its jobs.
///
/// # Errors
///
/// 404, or 503 if the database does not answer.
pub async fn batch<P>(ports: &P, caller: &Caller, batch: BatchId) -> Answered
where
    P: Database + Ambient,
{
    let tenant = &caller.tenant.tenant_id;
    let both = vec![store::find_batch(tenant, batch), store::batch_jobs(tenant, batch)];
    let rows = ask(ports, both).await?;
    let found = store::first::<BatchRow>(&rows)?.pop().ok_or_else(Problem::not_found)?;
    let jobs = store::first::<JobRow>(rows.get(1..).unwrap_or_default())?;
    let view = BatchView::new(found, jobs);
    let again = (!view.ended()).then(|| ask_again(view.created_at(), ports.now(), None));
    Ok(Answer::json(200, &view)?.again(again))
}

/// How a result may be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// The text of the answer.
    Text,
    /// Claude's whole message.
    Message,
}

impl Format {
    /// Reads the `format` parameter of a query.
    ///
    /// # Errors
    ///
    /// 400 for another word or parameter.
    pub fn of(query: &Query) -> Result<Self, Problem> {
        query.only(&["format"])?;
        let words = [("text", Self::Text), ("message", Self::Message)];
        Ok(query.word("format", &words)?.unwrap_or(Self::Text))
    }
}

/// In which form a job's result is to be read, which there is.
///
/// # Errors
///
/// 400 for a form that nobody knows, 404, 409 that says the state, 410 if its
/// content was removed, or 503 if the database does not answer.
pub async fn result<P>(
    ports: &P,
    caller: &Caller,
    job: JobId,
    query: &Query,
) -> Result<Format, Problem>
where
    P: Database + Ambient,
{
    let format = Format::of(query)?;
    has_result(&self::job(ports, caller, job).await?)?;
    Ok(format)
}

fn has_result(job: &JobRow) -> Result<(), Problem> {
    if job.purged_at.is_some() {
        return Err(Problem::purged());
    }
    let detail = match job.status {
        JobStatus::Completed => return Ok(()),
        JobStatus::Pending | JobStatus::Running => {
            format!("the job is {}; ask again later", job.status.as_str())
        }
        JobStatus::Failed | JobStatus::DeadLettered => {
            let reason = job.error_message.as_deref().unwrap_or("no reason is known");
            format!("the job is {}: {reason}", job.status.as_str())
        }
        JobStatus::Canceled => "the job was canceled".to_owned(),
    };
    Err(Problem::no_result(job.status, detail))
}

/// Asks the database, patiently.
pub(super) async fn ask<P>(ports: &P, statements: Vec<Statement>) -> Result<Vec<Rows>, Problem>
where
    P: Database + Ambient,
{
    Ok(patiently(ports, async || ports.batch(statements.clone()).await).await?)
}
