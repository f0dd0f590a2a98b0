//! One turn of the scheduler object: what it decided, as things to do.
//!
//! The object first applies its input and takes a turn, both without an await
//! in between, then makes the turn's changes durable in one synchronous block
//! of SQL, and only then lets anything out.
use super::messages::{DeadLetter, Handover, to_text};
use super::store::Lease;
use crate::domain::{Queue, TenantId, Timestamp};
use crate::scheduler::{Change, Demoted, Effect, Release, Scheduler};

/// What a turn leaves to be done.
#[derive(Debug, Default)]
pub struct Turn {
    /// Rows to write or delete.
    pub changes: Vec<Change>,
    /// The rest of the state, one text.
    pub snapshot: String,
    /// Messages to send.
    pub outbox: Outbox,
    /// Tenants that have lost their priorities just now, and why.
    pub demoted: Vec<(TenantId, Demoted)>,
    /// Leases whose end is to be found out.
    pub reconcile: Vec<Lease>,
    /// When to wake at the latest.
    pub wake: Option<Timestamp>,
}

/// Messages on their way, by queue.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Jobs released into the high queue.
    pub high: Vec<Release>,
    /// Jobs released into the bulk queue.
    pub bulk: Vec<Release>,
    /// Jobs whose attempts are used up.
    pub dlq: Vec<DeadLetter>,
}

impl Outbox {
    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.high.is_empty() && self.bulk.is_empty() && self.dlq.is_empty()
    }

    /// Adds another outbox's messages.
    pub fn append(&mut self, mut other: Self) {
        self.high.append(&mut other.high);
        self.bulk.append(&mut other.bulk);
        self.dlq.append(&mut other.dlq);
    }

    /// The leases of the jobs released into a queue.
    #[must_use]
    pub fn leases(&self, queue: Queue) -> Vec<Lease> {
        let released = match queue {
            Queue::High => self.high.as_slice(),
            Queue::Bulk => self.bulk.as_slice(),
            Queue::Dlq => &[],
        };
        released
            .iter()
            .map(|release| Lease::from((release.job, release.lease, release.attempt)))
            .collect()
    }

    /// The bodies for each queue.
    #[must_use]
    pub fn bodies(&self) -> [(Queue, Vec<String>); 3] {
        let texts = |releases: &[Release]| {
            releases.iter().map(|release| to_text(&Handover::from(*release))).collect()
        };
        [
            (Queue::High, texts(&self.high)),
            (Queue::Bulk, texts(&self.bulk)),
            (Queue::Dlq, self.dlq.iter().map(to_text).collect()),
        ]
    }
}

/// Takes everything the scheduler wants done now.
#[must_use]
pub fn take_turn(scheduler: &mut Scheduler, now: Timestamp) -> Turn {
    scheduler.handle_timeout(now);
    scheduler.dispatch(now);
    let mut turn = Turn::default();
    while let Some(effect) = scheduler.poll_effect() {
        match effect {
            Effect::Release(release) => match release.queue {
                Queue::High => turn.outbox.high.push(release),
                Queue::Bulk | Queue::Dlq => turn.outbox.bulk.push(release),
            },
            Effect::DeadLetter { job, attempts } => {
                turn.outbox.dlq.push(DeadLetter { v: 1, job_id: job, attempts });
            }
            Effect::Reconcile { job, lease } => {
                let attempt = scheduler.attempt_of(job).unwrap_or_default();
                turn.reconcile.push(Lease { job, lease, attempt });
            }
        }
    }
    turn.changes = std::iter::from_fn(|| scheduler.poll_change()).collect();
    turn.demoted = std::iter::from_fn(|| scheduler.poll_demotion()).collect();
    turn.snapshot = scheduler.snapshot();
    turn.wake = scheduler.next_deadline().map(|(at, _)| at);
    turn
}
