//! The gate of a model class: shut after a 429 or when the upstream is down,
//! for all its jobs at once.
//!
//! ```text
//! open ──refused, or faults in a row──▶ closed ──the wait is over──▶ probing
//!   ▲ ▲                                  ▲ ▲ ▲                        │ │ │
//!   │ │                                  │ │ └─refused, fault, unclear┘ │ │
//!   │ └──all slots───── ramp ──the same──────┘                         │ │
//!   │                    ▲ └ each answer lets one more go                 │
//!   │                    └────────────────── passed ──────────────────────┘
//! ```
use super::Evidence;
use crate::domain::{Entropy, JobId, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Whether jobs of a class may be released.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Gate {
    /// All may.
    Open(Faults),
    /// None may, until then.
    Closed {
        until: Timestamp,
        /// Refusals and faults in a row, of jobs released one after the other.
        refusals: u32,
    },
    /// One was: nothing more until its answer.
    Probing { job: JobId, refusals: u32 },
    /// So many may be under way.
    Ramp { allowed: u64, faults: Faults },
}

/// Faults in a row, each of another job than the few before.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Faults {
    count: u32,
    /// The latest first.
    jobs: [Option<JobId>; 4],
}

impl Gate {
    /// All may go, and nothing went wrong lately.
    pub(super) const OPEN: Self = Self::Open(Faults { count: 0, jobs: [None; 4] });

    /// When a job may be released; `None` until an answer comes.
    pub(super) fn opens_at(&self, under_way: u64) -> Option<Timestamp> {
        match self {
            Self::Open(_) => Some(Timestamp::from_millis(0)),
            Self::Closed { until, .. } => Some(*until),
            Self::Probing { .. } => None,
            Self::Ramp { allowed, .. } => {
                Some(Timestamp::from_millis(0)).filter(|_| under_way < *allowed)
            }
        }
    }

    /// Whether the next job is the probe.
    pub(super) const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Whether the class waits for the answer of this job alone.
    pub(super) fn is_probe(&self, job: JobId) -> bool {
        matches!(self, Self::Probing { job: probe, .. } if *probe == job)
    }

    /// The job whose answer alone it waits for.
    pub(super) const fn probe(&self) -> Option<JobId> {
        match self {
            Self::Probing { job, .. } => Some(*job),
            Self::Open(_) | Self::Closed { .. } | Self::Ramp { .. } => None,
        }
    }

    /// How many may go at once, or will after the probe; `None`: as many as
    /// there are slots.
    pub(super) const fn width(&self) -> Option<u64> {
        match self {
            Self::Open(_) => None,
            Self::Closed { .. } | Self::Probing { .. } => Some(RAMP_BEGINS),
            Self::Ramp { allowed, .. } => Some(*allowed),
        }
    }

    /// A job is released. After a closed gate it is the probe.
    pub(super) fn release(&mut self, job: JobId) {
        if let Self::Closed { refusals, .. } = *self {
            *self = Self::Probing { job, refusals };
        }
    }

    /// A job was answered without a refusal or fault. At a closed gate only
    /// the probe's answer counts.
    pub(super) fn answer(
        &mut self,
        job: JobId,
        evidence: Evidence,
        (under_way, slots): (u64, u32),
        now: Timestamp,
    ) {
        let passed = evidence == Evidence::Passed;
        *self = match *self {
            Self::Open(_) if passed => Self::OPEN,
            Self::Ramp { allowed, .. } if passed => Self::ramp(allowed.saturating_add(1), slots),
            Self::Probing { job: probe, refusals } if probe == job => {
                if passed {
                    Self::ramp(RAMP_BEGINS.saturating_add(under_way), slots)
                } else {
                    Self::Closed { until: now, refusals }
                }
            }
            Self::Open(_) | Self::Closed { .. } | Self::Probing { .. } | Self::Ramp { .. } => *self,
        };
    }

    /// A job was refused. Jobs released before the gate closed may still come
    /// back: they prolong the wait, but prove nothing about a probe.
    pub(super) fn refuse(&mut self, job: JobId, wait: Span, now: Timestamp) {
        let later = now + wait;
        *self = match *self {
            Self::Probing { job: probe, .. } if probe != job => *self,
            Self::Open(_) | Self::Ramp { .. } => Self::Closed { until: later, refusals: 1 },
            Self::Closed { until, refusals } => Self::Closed { until: until.max(later), refusals },
            Self::Probing { refusals, .. } => {
                Self::Closed { until: later, refusals: refusals.saturating_add(1) }
            }
        };
    }

    /// The upstream failed a job. A few such jobs in a row mean that it is
    /// down; the trouble of one job, or of a few again and again, does not.
    pub(super) fn fault(&mut self, job: JobId, wait: Span, outage_after: u32, now: Timestamp) {
        let until = now + wait;
        *self = match *self {
            Self::Open(faults) | Self::Ramp { faults, .. }
                if faults.with(job).count >= outage_after =>
            {
                Self::Closed { until, refusals: 1 }
            }
            Self::Open(faults) => Self::Open(faults.with(job)),
            Self::Ramp { allowed, faults } => Self::Ramp { allowed, faults: faults.with(job) },
            Self::Probing { job: probe, refusals } if probe == job => {
                Self::Closed { until, refusals: refusals.saturating_add(1) }
            }
            Self::Closed { .. } | Self::Probing { .. } => *self,
        };
    }

    /// How long to wait after a refusal: `Retry-After` × 1.2 ± 20 %, never
    /// less than asked for. A bucket that refills in a minute cannot ask for
    /// more than one: then, and if nothing was asked for, 1 s, doubling up to
    /// a minute.
    pub(super) fn wait(&self, retry_after: Option<Span>, chance: Entropy) -> Span {
        let doubling = Span::from_secs(1 << self.refusals().min(6)).min(PLAUSIBLE);
        let least = asked(retry_after).unwrap_or(doubling);
        chance.between(least.scaled(96, 100), least.scaled(144, 100)).max(least)
    }

    /// How long to wait after a fault: 1 s, then 2 s for a minute of probes,
    /// then doubling up to 30 s; up to three tenths more; never less than asked for.
    pub(super) fn outage(&self, retry_after: Option<Span>, chance: Entropy) -> Span {
        let least = match self.refusals() {
            0 => Span::from_secs(1),
            few if few <= PATIENT_PROBES => Span::from_secs(2),
            many => Span::from_secs(2 << (many - PATIENT_PROBES).min(4)).min(LONGEST_OUTAGE_WAIT),
        };
        let least = least.max(asked(retry_after).unwrap_or(Span::ZERO));
        chance.between(least, least.scaled(130, 100))
    }

    /// Forgets a probe that nobody will answer for.
    pub(super) fn abandon(&mut self, now: Timestamp, runs: impl Fn(JobId) -> bool) {
        if let Self::Probing { job, refusals } = *self
            && !runs(job)
        {
            *self = Self::Closed { until: now, refusals };
        }
    }

    fn ramp(allowed: u64, slots: u32) -> Self {
        let faults = Faults::default();
        if allowed >= slots.into() { Self::OPEN } else { Self::Ramp { allowed, faults } }
    }

    /// In a row, before the answer that is looked at.
    const fn refusals(&self) -> u32 {
        match self {
            Self::Open(_) | Self::Ramp { .. } => 0,
            Self::Closed { refusals, .. } => refusals.saturating_sub(1),
            Self::Probing { refusals, .. } => *refusals,
        }
    }
}

impl Faults {
    fn with(self, job: JobId) -> Self {
        if self.jobs.contains(&Some(job)) {
            return self;
        }
        let [first, second, third, _] = self.jobs;
        Self { count: self.count.saturating_add(1), jobs: [Some(job), first, second, third] }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::OPEN
    }
}

/// Whether a bucket that refills in a minute can ask for this wait.
pub(super) fn plausible(retry_after: Span) -> bool {
    retry_after <= PLAUSIBLE
}

fn asked(retry_after: Option<Span>) -> Option<Span> {
    retry_after.filter(|asked| plausible(*asked) && *asked > Span::ZERO)
}

const PLAUSIBLE: Span = Span::from_secs(60);
const LONGEST_OUTAGE_WAIT: Span = Span::from_secs(30);
/// About a minute of them.
const PATIENT_PROBES: u32 = 30;
/// How many calls follow a probe that passed.
const RAMP_BEGINS: u64 = 4;

#[cfg(test)]
mod tests;
