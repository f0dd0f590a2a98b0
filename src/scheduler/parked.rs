//! Jobs too large for what is there now.
//!
//! A job's lane pays for it when it is parked, so that a tenant parks no more
//! than its share. Others flow around such a job for a while. If it has not
//! found its tokens by then, tokens are saved up for it, one such job after the
//! other, at its tenant's share of its rank's share of what flows in: all others
//! leave them alone.
use super::{
    budget::{Budget, Share},
    few::Few,
    keys::TenantKey,
};
use crate::domain::{JobId, Priority, Span, Timestamp, Usage};

/// The parked jobs of a model class, the most urgent and oldest first.
#[derive(Debug, Default)]
pub(super) struct Parking(Few<(Priority, Timestamp, JobId), Parked>);

/// A parked job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parked {
    pub(super) rank: Priority,
    pub(super) since: Timestamp,
    pub(super) job: JobId,
    pub(super) order: u64,
    pub(super) tenant: TenantKey,
    pub(super) weight: u64,
    pub(super) estimate: Usage,
    /// What its lane was charged.
    pub(super) paid: i64,
}

/// What is saved up for a parked job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Savings {
    pub(super) job: JobId,
    /// What it needs.
    pub(super) need: Usage,
    /// How much of that is saved.
    pub(super) saved: Share,
    /// When all of it is, as things are.
    pub(super) full_at: Timestamp,
}

impl Parking {
    pub(super) fn insert(&mut self, parked: Parked) {
        self.0.insert((parked.rank, parked.since, parked.job), parked);
    }

    pub(super) fn remove(&mut self, rank: Priority, since: Timestamp, job: JobId) {
        self.0.remove(&(rank, since, job));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self, rank: Priority) -> usize {
        self.of(rank).count()
    }

    /// Whether there is no room for another: it then waits in line.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Those of a rank, the oldest first.
    pub(super) fn of(&self, rank: Priority) -> impl Iterator<Item = &Parked> {
        self.0.values().filter(move |parked| parked.rank == rank)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Parked> {
        self.0.values()
    }

    /// When others have flowed around the next job for long enough.
    pub(super) fn next_patience(&self, (patience, now): (Span, Timestamp)) -> Option<Timestamp> {
        let ends = self.all().map(|parked| parked.since + patience);
        ends.filter(|end| *end > now).min()
    }

    /// The job that is saved up for: the one that is parked longest. Saving
    /// began when others had flowed around it for long enough, and the one
    /// before it had gone.
    pub(super) fn savings(
        &self,
        need: impl Fn(Usage) -> Usage,
        budget: &Budget,
        share: impl Fn(&Parked) -> (u64, u64),
        (patience, before, now): (Span, Timestamp, Timestamp),
    ) -> Option<Savings> {
        let oldest = self.next(None)?;
        let begun = before.max(oldest.since + patience);
        if begun > now {
            return None;
        }
        Some(oldest.savings((begun, now), need(oldest.estimate), budget, share(oldest)))
    }

    /// Who is saved up for after that one; at first, the oldest.
    pub(super) fn next(&self, after: Option<&Parked>) -> Option<&Parked> {
        let turn = |parked: &Parked| (parked.since, parked.job);
        let later = self.all().filter(|parked| after.is_none_or(|last| turn(last) < turn(parked)));
        later.min_by_key(|parked| turn(parked))
    }
}

impl Parked {
    /// What is saved for it now if that began then, at such a share of what
    /// flows in.
    pub(super) fn savings(
        &self,
        (begun, now): (Timestamp, Timestamp),
        need: Usage,
        budget: &Budget,
        (part, of): (u64, u64),
    ) -> Savings {
        let earn = budget.earned_in(need).as_millis();
        let saved = Share {
            part: u128::from(now.since(begun).as_millis()) * u128::from(part.max(1)),
            of: u128::from(earn) * u128::from(of.max(part).max(1)),
        };
        let takes = u64::try_from(saved.of.div_ceil(part.max(1).into())).unwrap_or(u64::MAX);
        let full_at = begun + Span::from_millis(takes);
        Savings { job: self.job, need, saved, full_at }
    }
}

/// So few are looked at in each election, and written in one turn.
const MOST: usize = 16;
