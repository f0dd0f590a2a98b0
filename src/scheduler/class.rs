//! One model class: its budget, its gate, and what it is waiting for.
use super::{
    Config, Wake,
    budget::{Budget, Charge, Reservation},
    gate::Gate,
    headers::Sighting,
    job::{Job, Lease},
    mean::Mean,
};
use crate::domain::{JobId, Outcome, Priority, RateLimits, Timestamp, Tokens, Usage};
use serde::{Deserialize, Serialize};

/// What is known of a model class.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Class {
    pub(super) budget: Budget,
    pub(super) gate: Gate,
    /// Output of the calls that completed.
    pub(super) mean_output: Mean,
    #[serde(skip)]
    pub(super) standing: Standing,
}

/// When a job of a class may go next. Derived from all else, and derived anew
/// whenever anything of the class has changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Standing {
    /// Only an answer or a submission can tell.
    #[default]
    Quiet,
    /// Now.
    Ready(Turn),
    /// At a known moment.
    Blocked { until: Timestamp, wake: Wake, turn: Turn },
    /// Never seen again, for all we know: to be forgotten once it is full,
    /// since a new one would be the same.
    Idle { full: Timestamp },
}

/// The place of a class's next job among those of other classes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Turn {
    priority: Priority,
    order: u64,
    job: JobId,
}

impl Class {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, gate: Gate::Open, mean_output: Mean::default(), standing: Standing::Quiet }
    }

    /// What a call is expected to use: its estimated input, and the output
    /// that such calls have on average, unless it may not have as much.
    pub(super) fn need(&self, config: &Config, estimate: Usage) -> Usage {
        let expected = self.mean_output.get().unwrap_or(config.output_guess);
        Usage { output: estimate.output.min(expected), ..estimate }
    }

    /// Settles an attempt's tokens, and learns from its answer.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        outcome: &Outcome,
        limits: Option<RateLimits>,
        now: Timestamp,
    ) {
        let last = self.budget.settle(lease.held, charge(outcome), now);
        let used = match outcome {
            Outcome::Completed { usage } => Some(usage.output),
            Outcome::Throttled { .. } => {
                self.budget.refused(&limits.unwrap_or_default(), now);
                return;
            }
            Outcome::Permanent { .. }
            | Outcome::Transient { .. }
            | Outcome::Account { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => None,
        };
        if let Some(output) = used {
            self.mean_output.learn(output);
        }
        if let Some(limits) = limits {
            let sighting = Sighting { age: now.since(lease.since), alone: used.filter(|_| last) };
            self.budget.observe(&limits, sighting, now);
        }
    }

    /// Reserves tokens for a job that goes now.
    pub(super) fn release(&mut self, job: JobId, need: Usage, now: Timestamp) -> Reservation {
        self.gate.release(job);
        self.budget.reserve(need, now)
    }

    /// Where the class stands, with `head` as its next job.
    pub(super) fn stand(&self, head: Option<&Job>, config: &Config, now: Timestamp) -> Standing {
        let Some(head) = head else {
            return self.without_work(config);
        };
        let Some(opens) = self.gate.opens_at() else {
            return Standing::Quiet;
        };
        let turn = Turn::of(head);
        let need = self.need(config, head.submission.estimate);
        let (until, wake) = (opens, Wake::GateOpens).max((self.budget.fits_at(need), Wake::Tokens));
        if until <= now { Standing::Ready(turn) } else { Standing::Blocked { until, wake, turn } }
    }

    fn without_work(&self, config: &Config) -> Standing {
        let nothing_held = self.budget.held() == (Tokens::ZERO, Usage::default());
        let nothing_learned = self.mean_output.get().is_none()
            && self.gate == Gate::Open
            && self.budget.limits() == config.limits;
        if nothing_held && nothing_learned {
            let full = self.budget.full_at();
            Standing::Idle { full }
        } else {
            Standing::Quiet
        }
    }
}

impl Standing {
    /// Whether a job of the class goes as soon as it may.
    pub(super) const fn has_work(self) -> bool {
        match self {
            Self::Ready(_) | Self::Blocked { .. } => true,
            Self::Quiet | Self::Idle { .. } => false,
        }
    }
}

impl Turn {
    pub(super) fn of(job: &Job) -> Self {
        Self { priority: job.submission.priority, order: job.order, job: job.submission.job }
    }
}

/// What an attempt has used. An error answer instead of a stream has used a
/// request; a refused or unsent call nothing. A failure may have happened in
/// the middle of the stream, so it is taken to have used all it held.
fn charge(outcome: &Outcome) -> Charge {
    match outcome {
        Outcome::Completed { usage } => Charge::Real(*usage),
        Outcome::Permanent { .. } | Outcome::Account { .. } => Charge::Request,
        Outcome::Transient { .. } | Outcome::Lost => Charge::AllReserved,
        Outcome::Throttled { .. } | Outcome::NotStarted | Outcome::AlreadyEnded => Charge::Nothing,
    }
}
