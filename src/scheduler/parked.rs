//! Jobs too large for what is there now.
//!
//! Others flow around such a job for a while. If it has not found its tokens
//! by then, tokens are saved up for it, at its tenant's share of what flows
//! in: others of its rank and below leave them alone.
use super::{
    budget::{Budget, Share},
    keys::TenantKey,
};
use crate::domain::{JobId, Priority, Span, Timestamp, Usage};
use std::collections::BTreeMap;

/// The parked jobs of a model class, the most urgent and oldest first.
#[derive(Debug, Default)]
pub(super) struct Parking(BTreeMap<(Priority, Timestamp, JobId), Parked>);

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
}

/// What is saved up for a parked job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Savings {
    pub(super) job: JobId,
    pub(super) rank: Priority,
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

    /// The job that is saved up for; `busy` is the weight of all that wait.
    pub(super) fn savings(
        &self,
        need: impl Fn(Usage) -> Usage,
        budget: &Budget,
        busy: u64,
        (patience, now): (Span, Timestamp),
    ) -> Option<Savings> {
        let parked = self.0.values().find(|parked| parked.since + patience <= now)?;
        let need = need(parked.estimate);
        let (weight, busy) = (parked.weight.max(1), busy.max(parked.weight).max(1));
        let earn = budget.earned_in(need);
        let begun = parked.since + patience;
        let elapsed = now.since(begun).as_millis();
        let saved = Share {
            part: u128::from(elapsed) * u128::from(weight),
            of: u128::from(earn.as_millis()) * u128::from(busy),
        };
        let takes = u64::try_from(saved.of.div_ceil(weight.into())).unwrap_or(u64::MAX);
        let full_at = begun + Span::from_millis(takes);
        Some(Savings { job: parked.job, rank: parked.rank, need, saved, full_at })
    }
}
