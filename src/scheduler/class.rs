//! One model class: its budget, its gate, the order of its jobs, and what it
//! is waiting for.
use super::{
    Config, PerPriority, Wake,
    ballot::Candidate,
    budget::{Budget, Charge, Reservation},
    gate::Gate,
    headers::Sighting,
    job::Lease,
    mean::{Mean, MeanSpan},
    order::{Memory, Order},
    tariff::Tariff,
};
use crate::domain::{JobId, ModelClass, Outcome, Priority, RateLimits, Timestamp, Tokens, Usage};
use serde::{Deserialize, Serialize};

/// What is known of a model class.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: ModelClass,
    pub(super) known: Known,
    pub(super) order: Order,
    /// Its jobs, wherever they are.
    pub(super) jobs: usize,
    pub(super) standing: Standing,
    /// When `standing` was found out.
    pub(super) stood: Timestamp,
    /// Something has changed since.
    pub(super) stale: bool,
}

/// The part of it that is stored, beside lanes and jobs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Known {
    pub(super) budget: Budget,
    pub(super) gate: Gate,
    /// Output of the calls that completed.
    mean_output: Mean<16>,
    /// How long a slot was held for a call that really ran.
    #[serde(default, skip_serializing_if = "MeanSpan::is_blank")]
    pub(super) mean_duration: MeanSpan,
    /// The number of its last release among those of all classes.
    pub(super) served: u64,
    pub(super) memory: Memory,
}

/// When a job of a class may go next. Derived from all else.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Standing {
    /// Only an answer or a submission can tell.
    #[default]
    Quiet,
    /// Now, this one.
    Ready(Candidate),
    /// At a known moment.
    Blocked { until: Timestamp, wake: Wake },
}

impl Class {
    pub(super) fn new(name: ModelClass, known: &Known, now: Timestamp) -> Self {
        let mut order = Order { memory: known.memory, ..Order::default() };
        for rank in Priority::ALL {
            let tier = order.tiers.get_mut(rank);
            tier.round = *known.memory.rounds.get(rank);
            tier.earned = *known.memory.earned.get(rank);
        }
        let standing = Standing::Quiet;
        Self { name, known: *known, order, jobs: 0, standing, stood: now, stale: false }
    }

    /// What is to be stored.
    pub(super) fn known(&self) -> Known {
        let mut known = self.known;
        known.memory = self.order.memory;
        known.memory.rounds = PerPriority::by(|rank| self.order.tiers.get(rank).round);
        known.memory.earned = PerPriority::by(|rank| self.order.tiers.get(rank).earned);
        known
    }

    /// What jobs cost here now.
    pub(super) fn tariff(&self, config: &Config) -> Tariff {
        let output = self.known.mean_output.get().unwrap_or(config.output_guess);
        let mean = self.order.memory.mean_cost.get();
        let budget = &self.known.budget;
        Tariff::new(budget.limits(), output, mean, budget.room(), &config.order)
    }

    /// The same for a job that comes. The first one says what to expect of
    /// others.
    pub(super) fn tariff_for(&mut self, estimate: Usage, config: &Config) -> Tariff {
        let tariff = self.tariff(config);
        let mean = &mut self.order.memory.mean_cost;
        if mean.get().is_some() {
            return tariff;
        }
        mean.learn(Tokens::new(tariff.price(estimate).unsigned_abs()));
        self.tariff(config)
    }

    /// When its gate lets a job through.
    pub(super) fn opens_at(&self) -> Option<Timestamp> {
        let (calls, _) = self.known.budget.held();
        self.known.gate.opens_at(calls.get())
    }

    /// Settles an attempt's tokens, and learns from its answer. Says what the
    /// attempt cost.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        outcome: &Outcome,
        limits: Option<RateLimits>,
        (config, now): (&Config, Timestamp),
    ) -> i64 {
        let charge = charge(outcome);
        if has_run(outcome) {
            self.known.mean_duration.learn(now.since(lease.since));
        }
        let tariff = self.tariff(config);
        let last = self.known.budget.settle(lease.held, charge, now);
        if let Outcome::Throttled { .. } = outcome {
            self.known.budget.refused(&limits.unwrap_or_default(), now);
            return 0;
        }
        let used = match outcome {
            Outcome::Completed { usage } => Some(usage.output),
            Outcome::Permanent { .. }
            | Outcome::Transient { .. }
            | Outcome::Throttled { .. }
            | Outcome::Account { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => None,
        };
        if let Some(output) = used {
            self.known.mean_output.learn(output);
        }
        if let Some(limits) = limits {
            let sighting = Sighting { age: now.since(lease.since), alone: used.filter(|_| last) };
            self.known.budget.observe(&limits, sighting, now);
        }
        match charge {
            Charge::Nothing => 0,
            Charge::Request => tariff.cheapest,
            Charge::AllReserved => lease.price,
            Charge::Real(usage) => tariff.cost(usage),
        }
    }

    /// Reserves tokens for a job that goes now.
    pub(super) fn release(&mut self, job: JobId, need: Usage, now: Timestamp) -> Reservation {
        self.known.gate.release(job);
        self.known.budget.reserve(need, now)
    }

    /// Nothing is known of it that a new one would not have, except what its
    /// last lane took along.
    pub(super) fn is_blank(&self, config: &Config, now: Timestamp) -> bool {
        let budget = &self.known.budget;
        self.jobs == 0
            && self.order.is_blank()
            && self.known.mean_output.get().is_none()
            && self.known.gate == Gate::OPEN
            && budget.limits() == config.limits
            && budget.held() == (Tokens::ZERO, Usage::default())
            && budget.full_at() <= now
    }
}

impl Known {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget,
            gate: Gate::OPEN,
            mean_output: Mean::default(),
            mean_duration: MeanSpan::default(),
            served: 0,
            memory: Memory::default(),
        }
    }
}

/// What an attempt has used. An error answer instead of a stream has used a
/// request; a refused or unsent call nothing. A failure that may have happened
/// in the middle of the stream is taken to have used all it held.
fn charge(outcome: &Outcome) -> Charge {
    match outcome {
        Outcome::Completed { usage } => Charge::Real(*usage),
        Outcome::Permanent { .. }
        | Outcome::Account { .. }
        | Outcome::Transient { begun: false, .. } => Charge::Request,
        Outcome::Transient { .. } | Outcome::Lost => Charge::AllReserved,
        Outcome::Throttled { .. } | Outcome::NotStarted | Outcome::AlreadyEnded => Charge::Nothing,
    }
}

/// Whether an attempt took as long as calls do: not one that was refused,
/// never begun or never heard of again.
const fn has_run(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed { .. }
        | Outcome::Permanent { .. }
        | Outcome::Transient { begun: true, .. } => true,
        Outcome::Transient { .. }
        | Outcome::Throttled { .. }
        | Outcome::Account { .. }
        | Outcome::NotStarted
        | Outcome::Lost
        | Outcome::AlreadyEnded => false,
    }
}
