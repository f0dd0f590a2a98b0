//! The gate of a class: shut after a 429, and after failures in a row.
use claude_pipeline::domain::*;

#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Gate {
    Open { failures: u32, jobs: [Option<JobId>; 4] },
    Closed { until: u64, refusals: u32 },
    Probing { job: JobId, refusals: u32 },
    Ramp { allowed: usize, failures: u32, jobs: [Option<JobId>; 4] },
}

impl Gate {
    pub(super) const fn is_open(&self, now: u64, running: usize) -> bool {
        match self {
            Self::Open { .. } => true,
            Self::Closed { until, .. } => *until <= now,
            Self::Probing { .. } => false,
            Self::Ramp { allowed, .. } => running < *allowed,
        }
    }

    pub(super) fn probed_by(&self, id: JobId) -> bool {
        matches!(self, Self::Probing { job, .. } if *job == id)
    }

    pub(super) const fn release(&mut self, job: JobId) {
        if let Self::Closed { refusals, .. } = *self {
            *self = Self::Probing { job, refusals };
        }
    }

    pub(super) fn passed(&mut self, id: JobId, slots: u32, running: usize) {
        match *self {
            Self::Open { .. } => *self = OPEN,
            Self::Probing { job, .. } if job == id => *self = Self::ramp(4 + running, slots),
            Self::Ramp { allowed, .. } => *self = Self::ramp(allowed + 1, slots),
            Self::Probing { .. } | Self::Closed { .. } => {}
        }
    }

    const fn ramp(allowed: usize, slots: u32) -> Self {
        if allowed >= slots as usize {
            OPEN
        } else {
            Self::Ramp { allowed, failures: 0, jobs: [None; 4] }
        }
    }

    pub(super) fn unclear(&mut self, id: JobId, now: u64) {
        if let Self::Probing { job, refusals } = *self
            && job == id
        {
            *self = Self::Closed { until: now, refusals };
        }
    }

    /// The upstream failed. Says whether that closed the gate.
    pub(super) fn fault(&mut self, id: JobId, after: u32, wait: impl Fn(u32) -> u64) -> bool {
        let refusals = match self {
            Self::Open { failures, jobs } | Self::Ramp { failures, jobs, .. } => {
                if !jobs.contains(&Some(id)) {
                    *failures += 1;
                    jobs.rotate_right(1);
                    jobs[0] = Some(id);
                }
                if *failures < after {
                    return false;
                }
                0
            }
            Self::Probing { job, refusals } if *job == id => *refusals,
            Self::Probing { .. } | Self::Closed { .. } => return false,
        };
        *self = Self::Closed { until: wait(refusals), refusals: refusals + 1 };
        true
    }

    /// The upstream refused.
    pub(super) fn refuse(&mut self, id: JobId, later: u64) {
        *self = match *self {
            Self::Open { .. } | Self::Ramp { .. } => Self::Closed { until: later, refusals: 1 },
            Self::Probing { job, .. } if job != id => return,
            Self::Probing { refusals, .. } => Self::Closed { until: later, refusals: refusals + 1 },
            Self::Closed { until, refusals } => Self::Closed { until: until.max(later), refusals },
        };
    }

    /// The refusals in a row before one that comes now.
    pub(super) const fn refusals(&self) -> u32 {
        match self {
            Self::Open { .. } | Self::Ramp { .. } => 0,
            Self::Closed { refusals, .. } => refusals.saturating_sub(1),
            Self::Probing { refusals, .. } => *refusals,
        }
    }
}

/// How long a gate stays closed after a 429.
pub(super) fn refusal_wait(refusals: u32, wish: u64, chance: Entropy) -> u64 {
    let least = match wish {
        1..=60_000 => wish,
        0 | 60_001.. => (1_000 << refusals.min(6)).min(60_000),
    };
    let span = |parts| Span::from_millis(least * parts / 100);
    chance.between(span(96), span(144)).as_millis().max(least)
}

/// How long a gate stays closed after failures.
pub(super) fn outage_wait(refusals: u32, wish: u64, chance: Entropy) -> u64 {
    let base = match refusals {
        0 => 1_000,
        1..=30 => 2_000,
        31.. => (2_000 << (refusals - 30).min(10)).min(30_000),
    };
    let wish = if wish <= 60_000 { wish } else { 0 };
    let base = base.max(wish);
    let span = |parts| Span::from_millis(base * parts / 100);
    chance.between(span(100), span(130)).as_millis()
}

pub(super) const OPEN: Gate = Gate::Open { failures: 0, jobs: [None; 4] };
