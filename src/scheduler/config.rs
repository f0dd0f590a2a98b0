//! What can be set, and what it is by default.
use super::{AdmissionRules, DemotionRules, Ordering, Submission};
use crate::domain::{Backoff, Limits, Plan, Priority, Queue, Span, Tokens};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The scheduler's settings. They may differ from one restart to the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// How many attempts may run at once. Default 32.
    pub slots: u32,
    /// What a model class may use in a minute, until the upstream's headers
    /// say otherwise. Default 1,000 requests, 400,000 input tokens (mission
    /// A8), 80,000 output tokens.
    pub limits: Limits,
    /// How long an empty bucket takes to fill up. Default 60 s.
    pub burst: Span,
    /// The part of `burst` that stays unused: a call released later may
    /// arrive earlier, and the first calls of a burst may be late. Default 1 s.
    pub slack: Span,
    /// How long one call may take. Default 25, 120, 600 s.
    pub timeout: PerPriority<Span>,
    /// What a lease lasts longer than the call: the way through the queue,
    /// and the writes at both ends. Default 60 s.
    pub handover: Span,
    /// How often to ask what became of a lease that ended. Default 30 s.
    pub ask_again: Span,
    /// Attempts of a job in the high queue. Default 5.
    pub attempts_high: u32,
    /// Attempts of a job in the bulk queue. Default 3.
    pub attempts_bulk: u32,
    /// The first delay after a failed attempt. Default 1, 5, 60 s.
    pub backoff: PerPriority<Span>,
    /// How many 429s in a row are free for one job. After that, each uses up
    /// an attempt, so that every job ends. Default 50.
    pub free_throttles: u32,
    /// The output a call is expected to have, while nobody knows. Default 500.
    pub output_guess: Tokens,
    /// A fingerprint of the upstream's key. Another one ends a pause at once.
    pub credentials: u64,
    /// Who goes before whom.
    pub order: Ordering,
    /// How many faults of the upstream in a row close a model class's gate.
    /// Default 3.
    pub outage_after: u32,
    /// When a tenant loses its priorities for a while.
    pub demotion: DemotionRules,
    /// Who may come in.
    pub admission: AdmissionRules,
}

/// One value for each priority.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
pub struct PerPriority<T> {
    /// For critical jobs.
    pub critical: T,
    /// For standard jobs.
    pub standard: T,
    /// For batch jobs.
    pub batch: T,
}

impl Config {
    /// How often a job may be tried.
    #[must_use]
    pub const fn attempts(&self, priority: Priority) -> u32 {
        match priority.queue() {
            Queue::High => self.attempts_high,
            Queue::Bulk | Queue::Dlq => self.attempts_bulk,
        }
    }

    /// How long one call may take.
    #[must_use]
    pub const fn timeout(&self, priority: Priority) -> Span {
        *self.timeout.get(priority)
    }

    /// How long a lease lasts.
    #[must_use]
    pub const fn lease(&self, priority: Priority) -> Span {
        self.timeout(priority).saturating_add(self.handover)
    }

    /// The part of what is shared that a job's tenant has: its own, or else
    /// what its plan gives.
    #[must_use]
    pub fn weight(&self, submission: &Submission) -> u64 {
        let plan = match submission.plan {
            Plan::Free => 1,
            Plan::Pro => self.order.pro_weight,
        };
        submission.weight.map_or(plan, u64::from).clamp(1, MOST_WEIGHT)
    }

    /// The delays between a job's attempts.
    #[must_use]
    pub fn backoff(&self, priority: Priority) -> Backoff {
        Backoff::of(priority).with_base(*self.backoff.get(priority))
    }

    /// How long a bucket takes to fill up as far as it is used.
    #[must_use]
    pub const fn depth(&self) -> Span {
        let (burst, slack) = (self.burst.as_millis(), self.slack.as_millis());
        Span::from_millis(burst.saturating_sub(slack))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            slots: 32,
            limits: Limits { requests: 1_000, input: 400_000, output: 80_000 },
            burst: Span::from_secs(60),
            slack: Span::from_secs(1),
            timeout: PerPriority {
                critical: Span::from_secs(25),
                standard: Span::from_secs(120),
                batch: Span::from_secs(600),
            },
            handover: Span::from_secs(60),
            ask_again: Span::from_secs(30),
            attempts_high: 5,
            attempts_bulk: 3,
            backoff: PerPriority {
                critical: Span::from_secs(1),
                standard: Span::from_secs(5),
                batch: Span::from_secs(60),
            },
            free_throttles: 50,
            output_guess: Tokens::new(500),
            credentials: 0,
            order: Ordering::default(),
            outage_after: 3,
            demotion: DemotionRules::default(),
            admission: AdmissionRules::default(),
        }
    }
}

impl<T> PerPriority<T> {
    /// One value for each, made from it.
    pub fn by(mut value: impl FnMut(Priority) -> T) -> Self {
        Self {
            critical: value(Priority::Critical),
            standard: value(Priority::Standard),
            batch: value(Priority::Batch),
        }
    }

    /// The value for `priority`.
    #[must_use]
    pub const fn get(&self, priority: Priority) -> &T {
        match priority {
            Priority::Critical => &self.critical,
            Priority::Standard => &self.standard,
            Priority::Batch => &self.batch,
        }
    }

    /// The value for `priority`, to be changed.
    pub const fn get_mut(&mut self, priority: Priority) -> &mut T {
        match priority {
            Priority::Critical => &mut self.critical,
            Priority::Standard => &mut self.standard,
            Priority::Batch => &mut self.batch,
        }
    }

    /// All values, the most urgent first, to be changed.
    pub const fn all_mut(&mut self) -> [&mut T; 3] {
        [&mut self.critical, &mut self.standard, &mut self.batch]
    }

    /// All values, the most urgent first.
    pub const fn all(&self) -> [&T; 3] {
        [&self.critical, &self.standard, &self.batch]
    }
}

/// More would make the shares of others too small to be told apart.
const MOST_WEIGHT: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_outlasts_the_call() {
        let config = Config::default();
        assert_eq!(config.lease(Priority::Critical), Span::from_secs(85));
        assert_eq!(config.lease(Priority::Batch), Span::from_secs(660));
    }

    #[test]
    fn the_queue_decides_how_often_a_job_is_tried() {
        let attempts = Priority::ALL.map(|priority| Config::default().attempts(priority));
        assert_eq!(attempts, [5, 5, 3]);
    }
}
