//! `DELETE /jobs/:id` and `/batches/:id`: what has not ended ends now.
//!
//! D1 is told first: from then on no attempt can begin, and no answer counts.
//! The scheduler then gives back what the jobs hold; one it cannot be told of
//! comes back to it unpaid, when its message finds nothing to do.
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::ports::{Ambient, Database, Rows, SchedulerPort};
use super::problem::Problem;
use super::retry::patiently;
use super::store::{self, BatchRow, JobRow};
use super::view::{BatchView, JobView};
use crate::domain::{BatchId, JobId, JobStatus, Timestamp};

/// What canceling needs.
pub trait Canceler: Database + SchedulerPort + Ambient {}
impl<P: Database + SchedulerPort + Ambient> Canceler for P {}

/// Cancels a job.
///
/// # Errors
///
/// 404, 409 if it has ended, 503 if the database does not answer.
pub async fn job<P: Canceler>(ports: &P, caller: &Caller, job: JobId) -> Answered {
    let (tenant, now) = (&caller.tenant.tenant_id, ports.now());
    let statements = || vec![store::cancel_job(tenant, job, now), store::find_job(tenant, job)];
    let rows = patiently(ports, async || ports.batch(statements()).await).await?;
    let row = read::<JobRow>(&rows, 1)?.pop().ok_or_else(Problem::not_found)?;
    if !canceled_at(&row, now) {
        let detail = format!("the job is {} already", row.status.as_str());
        let title = "The job has ended";
        return Err(Problem::conflict("job-ended", title, Some(row.status), detail));
    }
    tell(ports, vec![job]).await;
    Answer::json(200, &JobView::from(row))
}

/// Cancels the jobs of a batch that have not ended.
///
/// # Errors
///
/// 404, 409 if all have ended, 503 if the database does not answer.
pub async fn batch<P: Canceler>(ports: &P, caller: &Caller, batch: BatchId) -> Answered {
    let (tenant, now) = (&caller.tenant.tenant_id, ports.now());
    let statements = || {
        vec![
            store::cancel_batch(tenant, batch, now),
            store::find_batch(tenant, batch),
            store::batch_jobs(tenant, batch),
        ]
    };
    let rows = patiently(ports, async || ports.batch(statements()).await).await?;
    let found = read::<BatchRow>(&rows, 1)?.pop().ok_or_else(Problem::not_found)?;
    let jobs = read::<JobRow>(&rows, 2)?;
    let canceled = jobs.iter().filter(|job| canceled_at(job, now)).map(|job| job.job_id);
    let canceled: Vec<_> = canceled.collect();
    if canceled.is_empty() {
        let detail = "every job of the batch has ended already";
        return Err(Problem::conflict("batch-ended", "The batch has ended", None, detail));
    }
    tell(ports, canceled).await;
    Answer::json(200, &BatchView::new(found, jobs))
}

/// It was this request that canceled the job. Its statement may have been
/// carried out twice, if the first answer was lost.
fn canceled_at(row: &JobRow, now: Timestamp) -> bool {
    row.status == JobStatus::Canceled && row.completed_at == Some(now)
}

async fn tell<P: SchedulerPort + Ambient>(ports: &P, jobs: Vec<JobId>) {
    let _ = patiently(ports, async || ports.cancel(jobs.clone()).await).await;
}

fn read<T: serde::de::DeserializeOwned>(rows: &[Rows], at: usize) -> Result<Vec<T>, Problem> {
    Ok(store::first(rows.get(at..).unwrap_or_default())?)
}
