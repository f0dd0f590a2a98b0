//! The dead-letter handler: the job's last state, then the webhook.
use super::messages::DeadLetter;
use super::notice::Notice;
use super::ports::{Ambient, Database, Notifier, PortResult};
use super::retry::patiently;
use super::store::{self, Ended};
use crate::domain::{JobId, from_json};

/// Buries the jobs of a batch of messages. Repeating it changes nothing and
/// notifies nobody twice. A message that is no [`DeadLetter`] of ours (a
/// hand-over that Cloudflare gave up delivering) is left to the job's lease.
///
/// # Errors
///
/// The database could not be told: deliver the batch again.
pub async fn bury<P>(ports: &P, bodies: &[String]) -> PortResult<()>
where
    P: Database + Notifier + Ambient,
{
    let jobs: Vec<JobId> = bodies
        .iter()
        .filter_map(|body| from_json::<DeadLetter>(body).ok())
        .map(|letter| letter.job_id)
        .collect();
    if jobs.is_empty() {
        return Ok(());
    }
    let now = ports.now();
    let rows =
        patiently(ports, async || ports.batch(vec![store::dead_letter(&jobs, now)]).await).await?;
    for job in store::first::<Ended>(&rows)? {
        ports.notify(Notice::of(&job, now).to_json());
    }
    Ok(())
}
