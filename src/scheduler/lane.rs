//! One tenant's waiting jobs of one rank in one model class.
//!
//! ```text
//!          ┌──────── first job, credit there ───────▶ fresh ──credit used──┐
//!  idle ───┤                                            │                  ▼
//!    ▲     └──────── first job, none ────────────────────────────────▶ in a round
//!    └───────────────────────── last job gone ──────────┴──────────────────┘
//! ```
//! The "deficit" of deficit round robin is credit: what the lane may still
//! use before it waits for its next round.
use super::{
    keys::{ClassKey, TenantKey},
    tariff::{Tariff, whole},
};
use crate::domain::{JobId, Priority, Timestamp, Tokens, Usage};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) tenant: TenantKey,
    pub(super) class: ClassKey,
    /// The priority it is served with.
    pub(super) rank: Priority,
    pub(super) account: Account,
    /// By order.
    jobs: VecDeque<Waiting>,
    /// What all of them are estimated to use.
    sum: Sum,
}

/// So wide that no estimates overflow it, and each can be taken off again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Sum {
    input: u128,
    output: u128,
}

/// What a lane has used and may use: all of it that is stored.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Account {
    /// Its tenant's part of what is shared.
    pub(super) weight: u64,
    /// In input tokens, as the tariff counts them.
    pub(super) credit: i64,
    pub(super) seat: Seat,
    pub(super) spent: Spent,
}

/// Where a lane waits for its turn. Seats of a class are ordered by `seq`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Seat {
    /// It has no jobs. `mark` is what its tier had earned by then
    /// for each unit of weight.
    Idle { since: Timestamp, mark: u64 },
    /// It has used less than its share: it goes before those in rounds.
    Fresh { seq: u64 },
    /// Its turn is in this round, which brings `due` credit.
    Round { round: u64, seq: u64, due: i64 },
}

/// A waiting job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Waiting {
    /// Its place among the jobs of the lane.
    pub(super) order: u64,
    pub(super) job: JobId,
    pub(super) estimate: Usage,
    /// The priority it was submitted with.
    pub(super) priority: Priority,
}

/// What was used in this minute and in the one before.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Spent {
    minute: u64,
    now: i64,
    before: i64,
}

impl Lane {
    pub(super) fn new(
        tenant: TenantKey,
        class: ClassKey,
        rank: Priority,
        account: Account,
    ) -> Self {
        Self { tenant, class, rank, account, jobs: VecDeque::new(), sum: Sum::default() }
    }

    /// Its first job.
    pub(super) fn head(&self) -> Option<Waiting> {
        self.jobs.front().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &Waiting> {
        self.jobs.iter()
    }

    /// How many of its jobs go before this one.
    pub(super) fn place(&self, order: u64, job: JobId) -> Result<usize, usize> {
        self.jobs.binary_search_by_key(&(order, job), |it| (it.order, it.job))
    }

    /// Says whether the job was not there yet.
    pub(super) fn insert(&mut self, waiting: Waiting) -> bool {
        let gap = self.place(waiting.order, waiting.job);
        if let Err(gap) = gap {
            self.sum.add(waiting.estimate);
            self.jobs.insert(gap, waiting);
        }
        gap.is_err()
    }

    /// Says whether the job was there.
    pub(super) fn remove(&mut self, order: u64, job: JobId) -> bool {
        let Ok(place) = self.place(order, job) else {
            return false;
        };
        if let Some(gone) = self.jobs.remove(place) {
            self.sum.take_off(gone.estimate);
        }
        true
    }

    /// What its jobs are estimated to use on average; nothing without jobs.
    pub(super) fn mean(&self) -> Usage {
        let jobs = self.jobs.len().max(1) as u128;
        let mean = |sum: u128| Tokens::new(u64::try_from(sum / jobs).unwrap_or(u64::MAX));
        Usage { input: mean(self.sum.input), output: mean(self.sum.output) }
    }

    pub(super) fn assert_sound(&self) {
        let mut sum = Sum::default();
        self.jobs.iter().for_each(|job| sum.add(job.estimate));
        assert_eq!(self.sum, sum, "a lane does not know what waits in it");
    }

    /// The credit its first job needs; `None` without a job.
    pub(super) fn fare(&self, tariff: &Tariff) -> Option<i64> {
        Some(tariff.fare(tariff.price(self.head()?.estimate)))
    }
}

impl Sum {
    fn add(&mut self, Usage { input, output }: Usage) {
        self.input += u128::from(input.get());
        self.output += u128::from(output.get());
    }

    fn take_off(&mut self, Usage { input, output }: Usage) {
        self.input = self.input.saturating_sub(input.get().into());
        self.output = self.output.saturating_sub(output.get().into());
    }
}

impl Account {
    /// What a lane has to begin with: one quantum of credit, if so much can be
    /// kept.
    pub(super) fn new(weight: u64, tariff: &Tariff, burst: u32, idle: Seat) -> Self {
        let mut account = Self { weight, credit: 0, seat: idle, spent: Spent::default() };
        account.credit = tariff.burst(burst).min(tariff.quantum);
        account
    }

    /// Earns its share of what was served while it was idle.
    pub(super) fn earn(&mut self, share: i64, most: i64) {
        let earned = share.saturating_mul(whole(self.weight));
        self.credit = self.credit.max(self.credit.saturating_add(earned).min(most));
    }

    /// Replaces what was charged by what was used.
    pub(super) fn correct(&mut self, charged: i64, used: i64, most: i64) {
        let back = charged.saturating_sub(used);
        let credit = self.credit.saturating_add(back);
        self.credit = if back > 0 { credit.min(most).max(self.credit) } else { credit };
    }

    /// What is left of its credit when it leaves its seat: in a round nothing.
    pub(super) fn leave(&mut self) {
        if let Seat::Round { .. } = self.seat {
            self.credit = self.credit.min(0);
        }
    }

    /// How many turns it takes to afford `fare`; at least one.
    pub(super) fn turns_to(&self, fare: i64, tariff: &Tariff) -> u64 {
        let missing = fare.saturating_sub(self.credit).max(1);
        missing.unsigned_abs().div_ceil(tariff.quantum.max(1).unsigned_abs())
    }
}

impl Seat {
    /// Its place among the seats, if it is one to wait in.
    pub(super) const fn seq(&self) -> Option<u64> {
        match self {
            Self::Idle { .. } => None,
            Self::Fresh { seq } | Self::Round { seq, .. } => Some(*seq),
        }
    }
}

impl Spent {
    pub(super) fn add(&mut self, cost: i64, now: Timestamp) {
        self.turn(now);
        self.now = self.now.saturating_add(cost);
    }

    /// What was used in about the last minute.
    pub(super) fn recent(mut self, now: Timestamp) -> i64 {
        self.turn(now);
        let left = whole(MINUTE - now.as_millis() % MINUTE);
        let before = i128::from(self.before) * i128::from(left) / i128::from(MINUTE);
        self.now.saturating_add(i64::try_from(before).unwrap_or(i64::MAX))
    }

    fn turn(&mut self, now: Timestamp) {
        let minute = now.as_millis() / MINUTE;
        if minute > self.minute {
            self.before = if minute == self.minute + 1 { self.now } else { 0 };
            self.now = 0;
            self.minute = minute;
        }
    }
}

const MINUTE: u64 = 60_000;
