//! `DELETE` with `?purge=true`: what a job was asked and what it answered goes;
//! that it was, when, and what it cost stays.
//!
//! The objects go first. Whoever is stopped between the two purges again: what
//! is not there is removed as well.
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::input::content_keys;
use super::ports::{Ambient, Database, Objects, PortResult, Rows};
use super::problem::Problem;
use super::read::ask;
use super::retry::patiently;
use super::store::{self, BatchRow, JobRow};
use super::view::{BatchView, JobView};
use crate::domain::{BatchId, JobId, JobStatus};

/// What purging needs.
pub trait Purger: Database + Objects + Ambient {}
impl<P: Database + Objects + Ambient> Purger for P {}

/// Removes the content of a job that has ended.
///
/// # Errors
///
/// 404, 409 if it has not ended, 503 if a store does not answer.
pub async fn job<P: Purger>(ports: &P, caller: &Caller, job: JobId) -> Answered {
    let tenant = &caller.tenant.tenant_id;
    let found = || store::find_job(tenant, job);
    let row = one_job(&ask(ports, vec![found()]).await?)?;
    if !row.status.ended() {
        let detail = format!("the job is {}; cancel it first", row.status.as_str());
        return Err(not_ended("The job has not ended", Some(row.status), detail));
    }
    remove_content(ports, &[(job, row.batch_id)]).await?;
    let mut statements = vec![store::purge_jobs(tenant, &[job], ports.now()), found()];
    statements.extend(row.batch_id.map(|batch| store::forget_names(tenant, batch, &[job])));
    let rows = ask(ports, statements).await?;
    Answer::json(200, &JobView::from(one_job(rows.get(1..).unwrap_or_default())?))
}

/// Removes the content of a batch all of whose jobs have ended, and of these.
///
/// # Errors
///
/// 404, 409 if a job has not ended, 503 if a store does not answer.
pub async fn batch<P: Purger>(ports: &P, caller: &Caller, batch: BatchId) -> Answered {
    let tenant = &caller.tenant.tenant_id;
    let found = || [store::find_batch(tenant, batch), store::batch_jobs(tenant, batch)];
    let (_, jobs) = one_batch(&ask(ports, found().into()).await?)?;
    let open = jobs.iter().filter(|job| !job.status.ended()).count();
    if open > 0 {
        let detail = format!("{open} of its jobs have not ended; cancel the batch first");
        return Err(not_ended("The batch has not ended", None, detail));
    }
    let jobs: Vec<_> = jobs.iter().map(|job| (job.job_id, Some(batch))).collect();
    remove_content(ports, &jobs).await?;
    let jobs: Vec<_> = jobs.iter().map(|(job, _)| *job).collect();
    let purge = [
        store::purge_jobs(tenant, &jobs, ports.now()),
        store::forget_names(tenant, batch, &jobs),
        store::purge_batch(tenant, batch),
    ];
    let removed = purge.len();
    let statements = purge.into_iter().chain(found()).collect();
    let rows = ask(ports, statements).await?;
    let (found, jobs) = one_batch(rows.get(removed..).unwrap_or_default())?;
    Answer::json(200, &BatchView::new(found, jobs))
}

/// Removes the objects of jobs.
///
/// # Errors
///
/// R2 did not answer; how much was removed is not known.
pub(super) async fn remove_content<P>(
    ports: &P,
    jobs: &[(JobId, Option<BatchId>)],
) -> PortResult<()>
where
    P: Objects + Ambient,
{
    let keys: Vec<_> = jobs.iter().flat_map(|(job, batch)| content_keys(*job, *batch)).collect();
    for keys in keys.chunks(MOST_KEYS) {
        patiently(ports, async || ports.delete(keys.to_vec()).await).await?;
    }
    Ok(())
}

fn one_job(rows: &[Rows]) -> Result<JobRow, Problem> {
    store::first::<JobRow>(rows)?.pop().ok_or_else(Problem::not_found)
}

fn one_batch(rows: &[Rows]) -> Result<(BatchRow, Vec<JobRow>), Problem> {
    let batch = store::first::<BatchRow>(rows)?.pop().ok_or_else(Problem::not_found)?;
    Ok((batch, store::first::<JobRow>(rows.get(1..).unwrap_or_default())?))
}

fn not_ended(title: &'static str, status: Option<JobStatus>, detail: String) -> Problem {
    Problem::conflict("not-ended", title, status, detail)
}

/// R2 takes so many at once.
const MOST_KEYS: usize = 1_000;
