//! Which messages of a batch may run, and what becomes of the others.
use super::attempt::{Finished, already_ended, completed};
use super::messages::Handover;
use super::ports::{Ambient, Database, Objects, PortResult};
use super::result;
use super::retry::patiently;
use super::store::{self, Claim, Claimed, Standing};
use crate::domain::{JobStatus, Span};

/// What is to be done with a message.
pub(super) enum Fate {
    /// Its attempt may begin.
    Run(Handover, Claimed),
    /// Its attempt has ended already, which remains to be written down.
    WriteDown(Finished),
    /// Nothing: it came late, or again while its attempt runs elsewhere.
    Drop,
}

/// Decides on every message, in order: one statement claims all that may run.
pub(super) async fn sort<P>(ports: &P, batch: &[Handover]) -> PortResult<Vec<Fate>>
where
    P: Database + Objects + Ambient,
{
    let now = ports.now();
    let timely = |handover: &Handover| handover.until.since(now) > SHORTEST_CALL;
    let claims: Vec<Claim> = batch.iter().filter(|handover| timely(handover)).map(claim).collect();
    let mut claimed = claim_all(ports, &claims).await?;
    let mut fates = Vec::with_capacity(batch.len());
    for handover in batch {
        let ours = claimed.iter().position(|job| job.job_id == handover.job_id);
        fates.push(match ours.map(|place| claimed.swap_remove(place)) {
            Some(job) => Fate::Run(*handover, job),
            None if timely(handover) => revisit(ports, *handover).await?,
            None => Fate::Drop,
        });
    }
    Ok(fates)
}

async fn claim_all<P: Database + Ambient>(ports: &P, claims: &[Claim]) -> PortResult<Vec<Claimed>> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let (claimant, now) = (ports.chance(), ports.now());
    let ask = async || ports.batch(vec![store::claim(claims, claimant, now)]).await;
    let rows = patiently(ports, ask).await?;
    store::first::<Claimed>(&rows)
}

/// A message that could not be claimed: delivered again, or overtaken.
async fn revisit<P>(ports: &P, handover: Handover) -> PortResult<Fate>
where
    P: Database + Objects + Ambient,
{
    let ids = [handover.job_id];
    let rows = patiently(ports, async || ports.batch(vec![store::standings(&ids)]).await).await?;
    let Some(standing) = store::first::<Standing>(&rows)?.pop() else {
        return Ok(Fate::WriteDown(already_ended(handover)));
    };
    if standing.status.ended() {
        return Ok(Fate::WriteDown(already_ended(handover)));
    }
    let ours = standing.status == JobStatus::Running && standing.lease == handover.lease;
    if ours && let Some(stored) = result::find(ports, handover.job_id).await? {
        return Ok(Fate::WriteDown(completed(handover, stored, None)));
    }
    Ok(Fate::Drop)
}

fn claim(handover: &Handover) -> Claim {
    Claim { job_id: handover.job_id, lease: handover.lease, attempt: handover.attempt }
}

/// A lease with less left than this is not worth a paid call.
pub(super) const SHORTEST_CALL: Span = Span::from_secs(1);
