//! The gate of a model class: shut after a 429, for all its jobs at once.
//!
//! ```text
//! open ──refused──▶ closed ──the wait is over: one probe──▶ probing
//!   ▲                 ▲ ▲                                     │ │
//!   │                 │ └───────── refused, or unclear ───────┘ │
//!   └─────────────────┴──────────────── passed ─────────────────┘
//! ```
use super::Evidence;
use crate::domain::{Entropy, JobId, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Whether jobs of a class may be released.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Gate {
    /// All may.
    #[default]
    Open,
    /// None may, until then.
    Closed {
        until: Timestamp,
        /// Refusals in a row, of jobs released one after the other.
        refusals: u32,
    },
    /// One was: nothing more until its answer.
    Probing { job: JobId, refusals: u32 },
}

impl Gate {
    /// When a job may be released; `None` while a probe is under way.
    pub(super) const fn opens_at(&self) -> Option<Timestamp> {
        match self {
            Self::Open => Some(Timestamp::from_millis(0)),
            Self::Closed { until, .. } => Some(*until),
            Self::Probing { .. } => None,
        }
    }

    /// A job is released. After a closed gate it is the probe.
    pub(super) fn release(&mut self, job: JobId) {
        *self = match *self {
            Self::Open => Self::Open,
            Self::Closed { refusals, .. } | Self::Probing { refusals, .. } => {
                Self::Probing { job, refusals }
            }
        };
    }

    /// A job was answered without a refusal. Only the probe's answer counts.
    pub(super) fn answer(&mut self, job: JobId, evidence: Evidence, now: Timestamp) {
        *self = match (*self, evidence) {
            (Self::Probing { job: probe, .. }, Evidence::Passed) if probe == job => Self::Open,
            (Self::Probing { job: probe, refusals }, Evidence::Unclear) if probe == job => {
                Self::Closed { until: now, refusals }
            }
            (unmoved, _) => unmoved,
        };
    }

    /// A job was refused. Jobs released before the gate closed may still come
    /// back: they prolong the wait, but prove nothing about a probe.
    pub(super) fn refuse(&mut self, job: JobId, wait: Span, now: Timestamp) {
        let later = now + wait;
        *self = match *self {
            Self::Probing { job: probe, .. } if probe != job => *self,
            Self::Open => Self::Closed { until: later, refusals: 1 },
            Self::Closed { until, refusals } => Self::Closed { until: until.max(later), refusals },
            Self::Probing { refusals, .. } => {
                Self::Closed { until: later, refusals: refusals.saturating_add(1) }
            }
        };
    }

    /// How long to wait after a refusal: `Retry-After` × 1.2 ± 20 %, never
    /// less than asked for. A bucket that refills in a minute cannot ask for
    /// more than one: then, and if nothing was asked for, 1 s, doubling up to
    /// a minute.
    pub(super) fn wait(&self, retry_after: Option<Span>, chance: Entropy) -> Span {
        let refusals = match self {
            Self::Open => 0,
            Self::Closed { refusals, .. } => refusals.saturating_sub(1),
            Self::Probing { refusals, .. } => *refusals,
        };
        let doubling = Span::from_secs(1 << refusals.min(6)).min(PLAUSIBLE);
        let asked = retry_after.filter(|asked| plausible(*asked) && *asked > Span::ZERO);
        let least = asked.unwrap_or(doubling);
        chance.between(least.scaled(96, 100), least.scaled(144, 100)).max(least)
    }

    /// Forgets a probe that nobody will answer for.
    pub(super) fn abandon(&mut self, now: Timestamp, runs: impl Fn(JobId) -> bool) {
        if let Self::Probing { job, refusals } = *self
            && !runs(job)
        {
            *self = Self::Closed { until: now, refusals };
        }
    }
}

/// Whether a bucket that refills in a minute can ask for this wait.
pub(super) fn plausible(retry_after: Span) -> bool {
    retry_after <= PLAUSIBLE
}

const PLAUSIBLE: Span = Span::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: Entropy = Entropy(0);
    const HIGH: Entropy = Entropy(u64::MAX);

    #[test]
    fn the_wait_is_never_shorter_than_asked_for() {
        let asked = Some(Span::from_secs(10));
        assert_eq!(Gate::Open.wait(asked, LOW), Span::from_secs(10));
        assert_eq!(Gate::Open.wait(asked, HIGH), Span::from_millis(14_400));
    }

    #[test]
    fn without_a_plausible_wish_it_doubles_from_a_second_to_a_minute() {
        let waits = |retry_after| {
            let mut gate = Gate::Open;
            let mut waits = Vec::new();
            for _ in 0..8 {
                gate.release(job(1));
                let wait = gate.wait(retry_after, LOW);
                waits.push(wait.as_secs_rounded_up());
                gate.refuse(job(1), wait, at(0));
            }
            waits
        };
        let doubling = vec![1, 2, 4, 8, 16, 32, 60, 60];
        assert_eq!(waits(None), doubling);
        assert_eq!(waits(Some(Span::ZERO)), doubling);
        assert_eq!(waits(Some(Span::from_secs(86_400))), doubling);
    }

    #[test]
    fn only_the_probe_opens_it() {
        let mut gate = Gate::Open;
        gate.refuse(job(1), Span::from_secs(1), at(0));
        gate.answer(job(2), Evidence::Passed, at(500));
        assert_eq!(gate.opens_at(), Some(at(1_000)));
        gate.release(job(3));
        gate.answer(job(2), Evidence::Passed, at(1_500));
        assert_eq!(gate.opens_at(), None);
        gate.answer(job(3), Evidence::Passed, at(1_600));
        assert_eq!(gate, Gate::Open);
    }

    #[test]
    fn an_unclear_probe_is_repeated_at_once() {
        let mut gate = Gate::Open;
        gate.refuse(job(1), Span::from_secs(1), at(0));
        gate.release(job(1));
        gate.answer(job(1), Evidence::Unclear, at(2_000));
        assert_eq!(gate.opens_at(), Some(at(2_000)));
    }

    #[test]
    fn late_refusals_prolong_the_wait_but_do_not_double_it() {
        let mut gate = Gate::Open;
        for late in 1..=5 {
            gate.refuse(job(late), Span::from_secs(late), at(0));
        }
        assert_eq!(gate.opens_at(), Some(at(5_000)));
        assert_eq!(gate.wait(None, LOW), Span::from_secs(1));
    }

    fn job(number: u64) -> JobId {
        JobId::new(at(number), [LOW, LOW])
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }
}
