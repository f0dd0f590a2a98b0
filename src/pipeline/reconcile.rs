//! Leases that ended without news: D1 and R2 tell what really happened.
//!
//! A lease that was never claimed is revoked first, in the same transaction
//! that reads where the jobs stand, so that its message, should it still come,
//! starts nothing.
use super::attempt::{Finished, completed, lost};
use super::messages::Handover;
use super::ports::{Ambient, Database, Objects, PortResult};
use super::result;
use super::retry::patiently;
use super::store::{self, Lease, Revoked, Standing};
use crate::domain::{JobError, JobStatus, Outcome, Timestamp};
use crate::scheduler::Settlement;

/// Finds out how each lease ended, and writes down what the attempt could not.
///
/// # Errors
///
/// A store did not answer; nothing is lost, ask again later.
pub async fn reconcile<P>(ports: &P, leases: &[Lease]) -> PortResult<Vec<Settlement>>
where
    P: Database + Objects + Ambient,
{
    let statements = || vec![store::revoke(leases), store::standings_of(leases)];
    let rows = patiently(ports, async || ports.batch(statements()).await).await?;
    let revoked = store::first::<Revoked>(&rows)?;
    let standings = store::first::<Standing>(rows.get(1..).unwrap_or_default())?;
    let mut settlements = Vec::with_capacity(leases.len());
    let mut endings = Vec::new();
    for lease in leases {
        let standing = standings.iter().find(|standing| standing.job_id == lease.job);
        let Finished { ending, settlement } = if revoked.iter().any(|row| row.job_id == lease.job) {
            outcome_only(*lease, Outcome::NotStarted)
        } else {
            judge(ports, *lease, standing).await?
        };
        endings.extend(ending);
        settlements.push(settlement);
    }
    if !endings.is_empty() {
        let now = ports.now();
        patiently(ports, async || ports.batch(vec![store::finish(&endings, now)]).await).await?;
    }
    Ok(settlements)
}

/// Takes back leases whose messages may not have been sent. What was claimed
/// runs: it is left alone, and answers for itself.
///
/// # Errors
///
/// The database did not answer; the leases end by themselves.
pub async fn withdraw<P>(ports: &P, leases: &[Lease]) -> PortResult<Vec<Settlement>>
where
    P: Database + Ambient,
{
    let statements = || vec![store::revoke(leases), store::standings_of(leases)];
    let rows = patiently(ports, async || ports.batch(statements()).await).await?;
    let standings = store::first::<Standing>(rows.get(1..).unwrap_or_default())?;
    let untouched = |lease: &&Lease| {
        standings.iter().any(|standing| {
            standing.job_id == lease.job
                && standing.lease == lease.lease
                && standing.status == JobStatus::Pending
                && standing.attempts < lease.attempt
        })
    };
    let free = leases.iter().filter(untouched);
    Ok(free.map(|lease| outcome_only(*lease, Outcome::NotStarted).settlement).collect())
}

/// A lease that was claimed: has its attempt ended, or is it lost?
async fn judge<P: Objects>(
    ports: &P,
    lease: Lease,
    standing: Option<&Standing>,
) -> PortResult<Finished> {
    let running = standing.filter(|standing| !standing.status.ended());
    let Some(standing) = running else {
        return Ok(outcome_only(lease, Outcome::AlreadyEnded));
    };
    let handover = Handover {
        v: 1,
        job_id: lease.job,
        lease: standing.lease,
        attempt: 0,
        until: Timestamp::default(),
    };
    if let Some(stored) = result::find(ports, lease.job).await? {
        return Ok(settled(lease, completed(handover, stored, None)));
    }
    if standing.status == JobStatus::Pending {
        let used = standing.attempts >= lease.attempt;
        let outcome = if used { Outcome::Lost } else { Outcome::NotStarted };
        return Ok(outcome_only(lease, outcome));
    }
    let error = JobError::new("attempt_lost", "the attempt stopped without telling how it ended");
    let Finished { ending, .. } = lost(handover, error);
    Ok(Finished { ending, ..outcome_only(lease, Outcome::Lost) })
}

fn settled(lease: Lease, mut finished: Finished) -> Finished {
    finished.settlement.lease = lease.lease;
    finished
}

fn outcome_only(lease: Lease, outcome: Outcome) -> Finished {
    let settlement = Settlement { job: lease.job, lease: lease.lease, outcome, limits: None };
    Finished { ending: None, settlement }
}
