//! A batch of released jobs: claimed together, called side by side, and
//! written down as they end.
//!
//! Endings that fall together share one statement and one settlement, and none
//! waits for a slow neighbour: while one commit is under way, the endings that
//! arrive are collected for the next.
use super::attempt::{Finished, attempt, lost};
use super::claiming::{Fate, sort};
use super::messages::Handover;
use super::notice::Notice;
use super::ports::{Ambient, Claude, Database, Notifier, Objects, PortResult, SchedulerPort};
use super::retry::patiently;
use super::settings::Settings;
use super::store::{self, Claimed, Ended, Ending};
use super::watch::{discard_unwanted, watched};
use crate::domain::{JobError, JobStatus, Span};
use crate::scheduler::Settlement;
use futures_util::future::{Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::panic::AssertUnwindSafe;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Receipt {
    /// It is dealt with.
    Ack,
    /// Deliver it again after this long.
    Retry(Span),
}

/// Everything a consumer needs.
pub trait Consumer: Database + Objects + SchedulerPort + Claude + Notifier + Ambient {}
impl<P: Database + Objects + SchedulerPort + Claude + Notifier + Ambient> Consumer for P {}

/// Deals with a batch. `receipt` is called once for every message, by its
/// place in `batch`, as soon as its fate is known.
pub async fn consume<P: Consumer>(
    ports: &P,
    settings: &Settings,
    batch: &[Handover],
    receipt: impl Fn(usize, Receipt),
) {
    let Ok(fates) = sort(ports, batch).await else {
        return (0..batch.len()).for_each(|place| receipt(place, again(ports)));
    };
    let running = FuturesUnordered::new();
    let mut ended = Vec::new();
    for (place, fate) in fates.into_iter().enumerate() {
        match fate {
            Fate::Run(handover, job) => {
                running.push(guarded(ports, settings, place, handover, job));
            }
            Fate::WriteDown(finished) => ended.push((place, finished)),
            Fate::Drop => receipt(place, Receipt::Ack),
        }
    }
    write_down(ports, running, ended, receipt).await;
}

type Placed = (usize, Finished);

/// Commits endings as they come, until no attempt runs.
async fn write_down<P: Consumer, R: Future<Output = Placed>>(
    ports: &P,
    mut running: FuturesUnordered<R>,
    mut ended: Vec<Placed>,
    receipt: impl Fn(usize, Receipt),
) {
    loop {
        if ended.is_empty() {
            match running.next().await {
                Some(next) => ended.push(next),
                None => return,
            }
        }
        let (places, finished): (Vec<_>, Vec<_>) = ended.drain(..).unzip();
        let written = meanwhile(commit(ports, finished), &mut running, &mut ended).await;
        for place in places {
            receipt(place, written.as_ref().map_or_else(|_| again(ports), |()| Receipt::Ack));
        }
    }
}

/// Waits for a commit; endings that arrive meanwhile are collected.
async fn meanwhile<R: Future<Output = Placed>>(
    commit: impl Future<Output = PortResult<()>>,
    running: &mut FuturesUnordered<R>,
    ended: &mut Vec<Placed>,
) -> PortResult<()> {
    let mut commit = std::pin::pin!(commit);
    while !running.is_empty() {
        match select(commit.as_mut(), running.next()).await {
            Either::Left((written, _)) => return written,
            Either::Right((next, _)) => ended.extend(next),
        }
    }
    commit.await
}

/// Writes endings down, then tells the scheduler, then the webhook.
async fn commit<P: Consumer>(ports: &P, finished: Vec<Finished>) -> PortResult<()> {
    let mut endings: Vec<Ending> = Vec::new();
    let mut settlements: Vec<Settlement> = Vec::new();
    for Finished { ending, settlement } in finished {
        endings.extend(ending);
        settlements.push(settlement);
    }
    let now = ports.now();
    let rows = if endings.is_empty() {
        Vec::new()
    } else {
        patiently(ports, async || ports.batch(vec![store::finish(&endings, now)]).await).await?
    };
    // The truth is in D1 by now: a scheduler that cannot be told learns it when
    // the lease ends.
    let _ = patiently(ports, async || ports.settle(settlements.clone()).await).await;
    let ended = store::first::<Ended>(&rows)?;
    for job in ended.iter().filter(|job| job.status == JobStatus::Failed) {
        ports.notify(Notice::of(job, now).to_json());
    }
    discard_unwanted(ports, &endings, &ended).await;
    Ok(())
}

/// An attempt that panics is an outcome too, and hurts no neighbour.
async fn guarded<P: Consumer>(
    ports: &P,
    settings: &Settings,
    place: usize,
    handover: Handover,
    job: Claimed,
) -> Placed {
    let attempt = watched(ports, handover, attempt(ports, settings, handover, job));
    let tried = AssertUnwindSafe(attempt).catch_unwind().await;
    let finished = tried.unwrap_or_else(|_| {
        lost(handover, JobError::new("internal_error", "the attempt stopped unexpectedly"))
    });
    (place, finished)
}

fn again(ports: &impl Ambient) -> Receipt {
    Receipt::Retry(ports.chance().between(Span::from_secs(2), Span::from_secs(8)))
}
