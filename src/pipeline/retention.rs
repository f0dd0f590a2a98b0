//! What is kept, is kept for a time: jobs that ended long ago go, with all they
//! hold, and so do idempotency keys that are free again.
//!
//! The objects go before their rows: after a crash between the two the rows are
//! found again. A batch goes with its last job.
use super::idempotency::expired_before;
use super::ports::{Ambient, Database, Objects, PortResult};
use super::purge::remove_content;
use super::retry::patiently;
use super::store::{self, Ended};
use crate::domain::{BatchId, JobId, Span};

/// Removes jobs that ended longer ago than this, bounded work a run; says how
/// many.
///
/// # Errors
///
/// A store did not answer; the next run finds what is left.
pub async fn retire<P>(ports: &P, older_than: Span) -> PortResult<usize>
where
    P: Database + Objects + Ambient,
{
    let now = ports.now();
    let old = store::ended_before(now.before(older_than), MOST);
    let forget = store::forget_keys(expired_before(now), MOST);
    let ask = async || ports.batch(vec![old.clone(), forget.clone()]).await;
    let old: Vec<Ended> = store::first(&patiently(ports, ask).await?)?;
    if old.is_empty() {
        return Ok(0);
    }
    let places: Vec<_> = old.iter().map(|job| (job.job_id, job.batch_id)).collect();
    remove_content(ports, &places).await?;
    let jobs: Vec<JobId> = places.iter().map(|(job, _)| *job).collect();
    let mut batches: Vec<BatchId> = places.iter().filter_map(|(_, batch)| *batch).collect();
    batches.dedup();
    patiently(ports, async || ports.batch(store::retire(&jobs, &batches)).await).await?;
    Ok(jobs.len())
}

/// Jobs, and keys, that a run removes: a run is a minute's.
const MOST: u32 = 1_000;
