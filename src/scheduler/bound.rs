//! How many jobs there may be, of all tenants and of one.
//!
//! The house lets nobody in from nine tenths on. A tenant may have at most a
//! fixed part of the places that are free (a dynamic threshold): alone, half of
//! the house; the more others have, the less.

/// What can be set (mission C1, C5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AdmissionRules {
    /// The most jobs there may be that have not ended. At nine tenths of it
    /// nobody else is let in. Default 1,000.
    pub capacity: u32,
    /// How much of it one tenant can have, in hundredths, while no other has
    /// any. The more others have, the less: a tenant's jobs are at most
    /// `share ÷ (100 − share)` of the places that are free. Default 50.
    pub share_percent: u32,
    /// How much of a minute's rate may come at once, in hundredths. Default 25.
    pub burst_percent: u32,
}

/// What a wish is measured by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    /// Jobs that are there, or have a place.
    pub(super) depth: u64,
    /// Places kept for tenants who stand in line before this one.
    pub(super) kept: u64,
    /// What those want whose places are not kept any more: too many stand
    /// there. It takes time all the same.
    pub(super) behind: u64,
    /// The tenant's own jobs and places.
    pub(super) held: u64,
    /// Those that come on top.
    pub(super) more: u64,
    /// The places the request has already, if it does.
    pub(super) own: Option<u64>,
    /// The tenant has nothing, was refused, and is the first in line: it may
    /// have at once what it might have alone, or else one that has much to ask
    /// would never find as much free.
    pub(super) first: bool,
}

/// A bound that a wish does not keep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Excess {
    /// So many must end first; of the share, in hundredths of a place.
    pub(super) jobs: u64,
    /// The bound.
    pub(super) most: u64,
}

impl Measure {
    /// Places that are taken, as this tenant has to see it.
    pub(super) fn taken(&self) -> u64 {
        self.depth + self.kept
    }

    fn last(&self) -> u64 {
        self.more.saturating_sub(1)
    }
}

impl AdmissionRules {
    /// The most jobs one request can ever have.
    pub(super) fn most_at_once(&self) -> u64 {
        (self.capacity() * self.share()).div_ceil(100)
    }

    /// Whether there is room.
    pub(super) fn fits(&self, measure: &Measure) -> bool {
        self.excess(measure).or_else(|| self.excess_of_share(measure)).is_none()
    }

    /// What the house as a whole has no room for. A request that is in already
    /// may go on to the last place.
    pub(super) fn excess(&self, measure: &Measure) -> Option<Excess> {
        let (capacity, saturated) = (self.capacity(), self.saturated());
        let over = (measure.taken() + 1).saturating_sub(saturated);
        let full = (measure.taken() + measure.more).saturating_sub(capacity);
        if measure.own.is_none() && over > 0 && over >= full {
            return Some(Excess { jobs: over + measure.behind, most: saturated });
        }
        (full > 0).then_some(Excess { jobs: full + measure.behind, most: capacity })
    }

    /// What the tenant's share has no room for: its last job may see no fewer
    /// free places than its part of them asks for.
    pub(super) fn excess_of_share(&self, measure: &Measure) -> Option<Excess> {
        let free = self.capacity().saturating_sub(measure.taken() + measure.last());
        let theirs = (measure.held + measure.last()) * (100 - self.share());
        let allowed = free * self.share();
        if measure.more == 0 || measure.first || theirs < allowed {
            return None;
        }
        let jobs = theirs - allowed + 1 + measure.behind * self.share();
        Some(Excess { jobs, most: self.share_now(measure) })
    }

    /// How many hundredths of a place a job that ends is worth to a tenant: one
    /// of its own, and one of another's.
    pub(super) fn worth(&self) -> [u64; 2] {
        [100, self.share()]
    }

    /// How far below saturation the others have to stay until a wish fits;
    /// `None` if the tenant's own jobs are in its way.
    pub(super) fn room(&self, measure: &Measure) -> Option<u64> {
        let by_capacity = self.capacity().checked_sub(measure.more)?;
        let asked = (measure.held + measure.last()) * (100 - self.share()) / self.share();
        let by_share = self.capacity().checked_sub(measure.last() + asked + 1);
        let by_share = if measure.first { by_capacity } else { by_share? };
        let deepest = by_share.min(by_capacity).min(self.saturated() - 1);
        (deepest >= measure.held).then_some(self.saturated() - deepest)
    }

    /// The most places that are kept for those in line.
    pub(super) fn most_kept(&self) -> u64 {
        self.capacity() / 2
    }

    /// How many jobs the tenant may have, as things are.
    fn share_now(&self, measure: &Measure) -> u64 {
        let others = measure.taken().saturating_sub(measure.held);
        let free = self.capacity().saturating_sub(others);
        (free * self.share()).div_ceil(100)
    }

    fn saturated(&self) -> u64 {
        (self.capacity() * SATURATED / 100).max(1)
    }

    fn capacity(&self) -> u64 {
        self.capacity.into()
    }

    fn share(&self) -> u64 {
        self.share_percent.clamp(1, 100).into()
    }
}

impl Default for AdmissionRules {
    fn default() -> Self {
        Self { capacity: 1_000, share_percent: 50, burst_percent: 25 }
    }
}

/// The backlog is saturated at so many hundredths (mission C1). What is left
/// is room for those who are in already.
const SATURATED: u64 = 90;
