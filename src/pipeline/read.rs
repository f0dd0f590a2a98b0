//! What an owner may read. A foreign id and an unknown one answer alike.
use super::caller::Caller;
use super::ports::{Ambient, Database, Rows, Statement};
use super::problem::Problem;
use super::retry::patiently;
use super::store::{self, BatchRow, JobRow};
use super::view::BatchView;
use crate::domain::{BatchId, JobId, JobStatus};

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

/// Reads a batch of the caller's tenant, with its jobs.
///
/// # Errors
///
/// 404, or 503 if the database does not answer.
pub async fn batch<P>(ports: &P, caller: &Caller, batch: BatchId) -> Result<BatchView, Problem>
where
    P: Database + Ambient,
{
    let tenant = &caller.tenant.tenant_id;
    let both = vec![store::find_batch(tenant, batch), store::batch_jobs(tenant, batch)];
    let rows = ask(ports, both).await?;
    let found = store::first::<BatchRow>(&rows)?.pop().ok_or_else(Problem::not_found)?;
    let jobs = store::first::<JobRow>(rows.get(1..).unwrap_or_default())?;
    Ok(BatchView::new(found, jobs))
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
    /// 400 for another word.
    pub fn of(word: Option<&str>) -> Result<Self, Problem> {
        match word {
            None | Some("text") => Ok(Self::Text),
            Some("message") => Ok(Self::Message),
            Some(_) => Err(Problem::field("format", "`format` must be `text` or `message`")),
        }
    }
}

/// Whether a job has a result to read.
///
/// # Errors
///
/// 409 that says the state.
pub fn has_result(job: &JobRow) -> Result<(), Problem> {
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

async fn ask<P>(ports: &P, statements: Vec<Statement>) -> Result<Vec<Rows>, Problem>
where
    P: Database + Ambient,
{
    Ok(patiently(ports, async || ports.batch(statements.clone()).await).await?)
}
