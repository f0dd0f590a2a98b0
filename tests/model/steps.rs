//! What may happen to a scheduler, drawn from a seed.
use crate::world::{on, usage};
use claude_pipeline::{domain::*, scheduler::*};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Submit(Box<Submission>),
    Settle {
        pick: usize,
        outcome: Outcome,
        limits: Option<RateLimits>,
        chance: u64,
    },
    /// Under a lease that is not the present one.
    SettleStale {
        pick: usize,
        outcome: Outcome,
    },
    SettleUnknown {
        number: u64,
    },
    Cancel {
        number: u64,
    },
    Pass {
        millis: u64,
    },
    /// To the next deadline, once just before it.
    Sleep,
    Rewind {
        millis: u64,
    },
    Restart,
}

impl Step {
    /// The step that this seed stands for.
    pub(crate) fn of(seed: u64) -> Self {
        let mut draw = Draw(seed);
        match draw.below(100) {
            0..32 => Self::Submit(Box::new(draw.submission())),
            32..60 => Self::Settle {
                pick: draw.pick(JOBS),
                outcome: draw.outcome(),
                limits: draw.limits(),
                chance: draw.next(),
            },
            60..62 => Self::SettleStale { pick: draw.pick(JOBS), outcome: draw.outcome() },
            62 => Self::SettleUnknown { number: draw.below(2 * JOBS) },
            63..68 => Self::Cancel { number: draw.below(JOBS) },
            68..78 => Self::Pass { millis: draw.span([3_000, 90_000, 900_000, 90_000_000]) },
            78..95 => Self::Sleep,
            95..97 => Self::Rewind { millis: draw.span([10_000, 20_000, 9_000_000, 90_000_000]) },
            _ => Self::Restart,
        }
    }

    /// The same, of an upstream that never speaks of its limits.
    pub(crate) fn untold(mut self) -> Self {
        if let Self::Settle { limits, .. } = &mut self {
            *limits = None;
        }
        self
    }
}

/// Chance from a seed: `SplitMix64`.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).unwrap()
    }

    fn span(&mut self, most: [u64; 4]) -> u64 {
        let most = most[[0, 0, 0, 0, 1, 1, 1, 2, 2, 3][self.pick(10)]];
        self.below(most)
    }

    fn submission(&mut self) -> Submission {
        let (tenant, plan) = TENANTS[self.pick(5)];
        let other = if plan == Plan::Pro { Plan::Free } else { Plan::Pro };
        let attempts = [0, 0, 0, 0, 0, 0, 0, 0, 3, 6][self.pick(10)];
        Submission {
            tenant: TenantId::try_from(tenant.to_owned()).unwrap(),
            plan: if self.below(10) == 0 { other } else { plan },
            weight: [None, None, None, None, None, Some(2), Some(7), Some(40)][self.pick(8)],
            daily_input: [None, None, None, Some(0), Some(9_000)][self.pick(5)].map(Tokens::new),
            priority: Priority::ALL[self.pick(3)],
            estimate: self.size(),
            attempts: u32::try_from(self.below(attempts + 1)).unwrap(),
            ..on(MODELS[self.pick(5)], self.below(JOBS))
        }
    }

    fn size(&mut self) -> Usage {
        match self.below(20) {
            0..13 => usage(self.below(1_000), self.below(1_000)),
            13..16 => usage(self.below(3_000), self.below(3_000)),
            16..18 => usage(self.below(40_000), self.below(40_000)),
            18 => usage(0, 0),
            _ => [usage(u64::MAX, 0), usage(0, u64::MAX), usage(u64::MAX, u64::MAX)][self.pick(3)],
        }
    }

    fn outcome(&mut self) -> Outcome {
        let error = |kind: &str| JobError::new(kind, "No");
        match self.below(100) {
            0..47 => Outcome::Completed { usage: usage(self.below(2_000), self.below(1_500)) },
            47..49 => Outcome::Completed { usage: self.size() },
            49..53 => Outcome::Permanent { error: error("invalid_request_error") },
            53..73 => Outcome::Transient {
                error: error(KINDS[self.pick(8)]),
                retry_after: self.wish(),
                begun: self.below(2) == 0,
            },
            73..88 => {
                Outcome::Throttled { error: error("rate_limit_error"), retry_after: self.wish() }
            }
            88..90 => Outcome::Account {
                fault: [AccountFault::Credentials, AccountFault::SpendLimit][self.pick(2)],
                error: error("authentication_error"),
            },
            _ => [Outcome::NotStarted, Outcome::Lost, Outcome::AlreadyEnded][self.pick(3)].clone(),
        }
    }

    fn wish(&mut self) -> Option<Span> {
        match self.below(10) {
            0..6 => None,
            6..9 => Some(Span::from_secs(self.below(62))),
            _ => Some(Span::from_secs(self.below(100_000))),
        }
    }

    /// The upstream says something of its limits now and then.
    fn limits(&mut self) -> Option<RateLimits> {
        (self.below(6) == 0).then(|| RateLimits {
            requests: self.level(60),
            input: self.level(30_000),
            output: self.level(15_000),
        })
    }

    fn level(&mut self, most: u64) -> Option<BucketLevel> {
        let limit = if self.below(10) == 0 { 0 } else { most / 4 + self.below(most) };
        let remaining = self.below(most);
        (self.below(3) > 0).then_some(BucketLevel { limit, remaining, reset: None })
    }
}

const JOBS: u64 = 60;
const TENANTS: [(&str, Plan); 5] = [
    ("acme", Plan::Pro),
    ("acme", Plan::Pro),
    ("bolt", Plan::Free),
    ("core", Plan::Free),
    ("dune", Plan::Pro),
];
const MODELS: [&str; 5] = [
    "claude-sonnet-4-6",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-5",
    "claude-haiku-4-5",
];
const KINDS: [&str; 8] = [
    "overloaded_error",
    "overloaded_error",
    "overloaded_error",
    "api_error",
    "timeout_error",
    "timeout",
    "connection_error",
    "stream_error",
];
