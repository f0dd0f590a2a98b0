//! What is known of a request before its jobs exist: its places, and how fast
//! places become free.
use super::{
    keys::TenantKey,
    lane::Spent,
    line::Line,
    rate::{Arrival, Promised},
};
use crate::domain::{JobId, Span, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// All tenants together.
#[derive(Debug, Default)]
pub(super) struct House {
    /// Holds, by their end.
    pub(super) ends: BTreeSet<(Timestamp, JobId, TenantKey)>,
    /// Places held.
    pub(super) held: u64,
    pub(super) drain: Drain,
    pub(super) line: Line,
}

/// One tenant.
#[derive(Clone, Debug, Default)]
pub(super) struct Knocks {
    pub(super) kept: Kept,
    pub(super) drain: Drain,
    /// Turns at the rate.
    pub(super) turns: Promised,
    pub(super) places: Promised,
    /// It stands in line.
    pub(super) stands: bool,
    /// When it was told to be back, and how long that was; until it is let in.
    pub(super) told: Option<(Timestamp, Span)>,
}

/// What is stored of one tenant.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Kept {
    pub(super) arrival: Arrival,
    pub(super) holds: Vec<Hold>,
}

/// Places for the jobs of a request that is under way.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Hold {
    pub(super) id: JobId,
    pub(super) jobs: u32,
    pub(super) until: Timestamp,
}

/// How fast jobs end while there are any: what nobody wanted done tells nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// Since when there have been some, or the last one ended.
    from: Option<Timestamp>,
    /// Milliseconds in which there were some.
    busy: Spent,
    ended: Spent,
}

impl House {
    pub(super) fn hold(&mut self, hold: Hold, tenant: TenantKey) {
        self.held += u64::from(hold.jobs);
        self.ends.insert((hold.until, hold.id, tenant));
    }

    pub(super) fn let_go(&mut self, hold: Hold, tenant: TenantKey) {
        if self.ends.remove(&(hold.until, hold.id, tenant)) {
            self.held = self.held.saturating_sub(hold.jobs.into());
        }
    }
}

impl Knocks {
    /// Who came back when told, and in vain, is told to wait twice as long: its
    /// own jobs do not end, or others went before it.
    pub(super) fn at_least(&self, now: Timestamp) -> Span {
        let in_vain = self.told.filter(|(at, _)| *at <= now);
        in_vain.map_or(Span::ZERO, |(_, wait)| wait.scaled(2, 1).min(MINUTE))
    }
}

impl Kept {
    /// The hold of a request.
    pub(super) fn find(&self, id: JobId) -> Option<Hold> {
        self.holds.iter().find(|hold| hold.id == id).copied()
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Hold> {
        let at = self.holds.iter().position(|hold| hold.id == id)?;
        Some(self.holds.swap_remove(at))
    }

    /// How many places it has.
    pub(super) fn held(&self) -> u64 {
        self.holds.iter().map(|hold| u64::from(hold.jobs)).sum()
    }

    /// Nothing is known that of a tenant who never came would not be.
    pub(super) fn is_blank(&self, now: Timestamp) -> bool {
        self.holds.is_empty() && self.arrival.is_past(now)
    }
}

impl Drain {
    /// A job comes to so many that are there, or has left so many behind.
    pub(super) fn see(&mut self, others: usize, left: bool, now: Timestamp) {
        if !left {
            self.from = self.from.filter(|_| others > 0).or(Some(now));
            return;
        }
        self.busy.add(millis(self.busy_since(now)), now);
        self.ended.add(1, now);
        self.from = (others > 0).then_some(now);
    }

    /// How many end in a minute; `None` if none did lately.
    pub(super) fn rate(&self, now: Timestamp) -> Option<u64> {
        let [ended, busy] = [self.ended, self.busy].map(|it| it.recent(now).max(0).unsigned_abs());
        let busy = Span::from_millis(busy).saturating_add(self.busy_since(now));
        let rate = ended * MINUTE.as_millis() / busy.max(LEAST).as_millis();
        Some(rate).filter(|rate| *rate > 0)
    }

    fn busy_since(&self, now: Timestamp) -> Span {
        self.from.map_or(Span::ZERO, |from| now.since(from)).min(MINUTE)
    }
}

/// How long it takes until so many jobs have ended, at a rate a minute.
pub(super) fn time_of(jobs: u64, rate: u64) -> Span {
    MINUTE.scaled(jobs, rate)
}

fn millis(span: Span) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

const MINUTE: Span = Span::from_secs(60);
/// A shorter time tells no rate.
const LEAST: Span = Span::from_secs(1);
