//! A long call is given up when its job is canceled meanwhile.
use super::accept::discard;
use super::attempt::{Finished, lost};
use super::input::{message_key, result_key};
use super::messages::Handover;
use super::ports::{Ambient, Database, Objects, SchedulerPort};
use super::retry::patiently;
use super::store::{self, Ended, Ending, Revoked};
use crate::domain::{JobError, JobId, JobStatus, Span};
use futures_util::future::{Either, select};
use std::pin::pin;

/// Makes an attempt, and asks from time to time whether it is still wanted.
/// Most calls have ended before the first time.
pub(super) async fn watched<P: SchedulerPort + Ambient>(
    ports: &P,
    handover: Handover,
    attempt: impl Future<Output = Finished>,
) -> Finished {
    let mut attempt = pin!(attempt);
    let mut pause = FIRST;
    loop {
        match select(attempt.as_mut(), pin!(ports.pause(pause))).await {
            Either::Left((finished, _)) => return finished,
            Either::Right(_) => {}
        }
        let canceled = ports.canceled(vec![handover.job_id]).await;
        if canceled.is_ok_and(|canceled| !canceled.is_empty()) {
            return lost(handover, JobError::new("canceled", "the job's owner canceled it"));
        }
        pause = pause.scaled(3, 2).min(LONGEST);
    }
}

/// Removes results that came for jobs canceled or purged meanwhile.
pub(super) async fn discard_unwanted<P>(ports: &P, endings: &[Ending], ended: &[Ended])
where
    P: Database + Objects + Ambient,
{
    let late = endings.iter().filter(|ending| {
        let changed = ended.iter().any(|job| job.job_id == ending.job_id);
        ending.status == JobStatus::Completed && !changed
    });
    let late: Vec<JobId> = late.map(|ending| ending.job_id).collect();
    if late.is_empty() {
        return;
    }
    let ask = async || ports.batch(vec![store::unwanted(&late)]).await;
    let Ok(rows) = patiently(ports, ask).await else { return };
    let unwanted = store::first::<Revoked>(&rows).unwrap_or_default();
    let keys = |job: JobId| [result_key(job), message_key(job)];
    let keys: Vec<_> = unwanted.iter().flat_map(|job| keys(job.job_id)).collect();
    discard(ports, keys).await;
}

const FIRST: Span = Span::from_secs(3);
const LONGEST: Span = Span::from_secs(15);
