//! `Prefer: wait`: an answer that comes when the job has ended. The scheduler
//! object tells the moment; D1 is read once before and once after.
use super::caller::Caller;
use super::ports::{Ambient, Database, SchedulerPort};
use super::problem::Problem;
use super::read;
use super::store::JobRow;
use crate::domain::{JobId, Span};

/// Reads a job once it has ended, or when the caller's wait is over.
///
/// # Errors
///
/// 404, or 503 if the database does not answer.
pub async fn until_ended<P>(ports: &P, caller: &Caller, job: JobId) -> Result<JobRow, Problem>
where
    P: Database + SchedulerPort + Ambient,
{
    let row = read::job(ports, caller, job).await?;
    let Some(wait) = caller.wait.filter(|_| !row.status.ended()) else {
        return Ok(row);
    };
    let until = ports.now() + wait;
    loop {
        let left = until.since(ports.now());
        let was_here = ports.wait(job, left).await;
        let row = read::job(ports, caller, job).await?;
        let left = until.since(ports.now());
        if row.status.ended() || left == Span::ZERO {
            return Ok(row);
        }
        // The scheduler does not know the job (yet, or any more), or did not
        // answer: its row tells the end soon.
        if !matches!(was_here, Ok(true)) {
            ports.pause(ASK_AGAIN.min(left)).await;
        }
    }
}

const ASK_AGAIN: Span = Span::from_millis(500);
