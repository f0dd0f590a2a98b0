//! Makes the jobs of a workload.
use super::{Coming, Load};
use claude_pipeline::{domain::*, scheduler::*};
use std::collections::BTreeSet;

/// Draws numbers, the same ones for the same seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        low + (z ^ (z >> 31)) % (high - low + 1)
    }
}

/// One kind of job.
#[derive(Clone)]
pub(super) struct Kind {
    pub(super) tenant: String,
    pub(super) plan: Plan,
    pub(super) priority: Priority,
    pub(super) class: &'static str,
    pub(super) input: (u64, u64),
    pub(super) output: (u64, u64),
    pub(super) takes: (u64, u64),
}

impl Kind {
    pub(super) fn of(tenant: &str, priority: Priority) -> Self {
        Self {
            tenant: tenant.to_owned(),
            plan: Plan::Free,
            priority,
            class: "claude-sonnet-4-6",
            input: (500, 1_500),
            output: (50, 250),
            takes: (1_000, 3_000),
        }
    }
}

/// Makes jobs, of which the first few are there to learn from.
pub(super) struct Maker {
    dice: Dice,
    jobs: Vec<Coming>,
    learned: BTreeSet<&'static str>,
}

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), jobs: Vec::new(), learned: BTreeSet::new() }
    }

    /// A job that counts, so long after the beginning.
    pub(super) fn add(&mut self, at: u64, kind: &Kind) {
        if self.learned.insert(kind.class) {
            let usual = Kind { tenant: "before".to_owned(), input: (500, 1_500), ..kind.clone() };
            (0..10).for_each(|number| self.put(number * 6_000, &usual));
        }
        self.put(WARM + at, kind);
    }

    /// Any job, at any time.
    pub(super) fn put(&mut self, at: u64, kind: &Kind) {
        let mut draw = |(low, high)| self.dice.between(low, high);
        let (input, output, takes) = (draw(kind.input), draw(kind.output), draw(kind.takes));
        let number = 1 + self.jobs.len() as u64;
        let submission = Submission {
            job: JobId::new(Timestamp::from_millis(number), [Entropy(0), Entropy(0)]),
            tenant: TenantId::try_from(kind.tenant.clone()).unwrap(),
            plan: kind.plan,
            weight: None,
            daily_input: None,
            priority: kind.priority,
            class: ModelClass::of(kind.class),
            estimate: usage(input, 1_024),
            attempts: 0,
            lease: 0,
        };
        let used = usage(input, output);
        self.jobs.push(Coming { at, submission, takes, used });
    }

    pub(super) fn backlog(&mut self, jobs: u64, kind: &Kind) {
        (0..jobs).for_each(|_| self.add(0, kind));
    }

    /// One about every so many milliseconds, for so many seconds.
    pub(super) fn stream(&mut self, (from, until): (u64, u64), every: u64, kind: &Kind) {
        let mut at = 1_000 * from;
        while at < 1_000 * until {
            self.add(at, kind);
            at += self.dice.between(every / 2, every * 3 / 2);
        }
    }

    /// A number to make a workload of.
    pub(super) fn draw(&mut self, low: u64, high: u64) -> u64 {
        self.dice.between(low, high)
    }

    /// The jobs of this class are there to learn from themselves.
    pub(super) fn has_learned(&mut self, kind: &Kind) {
        self.learned.insert(kind.class);
    }

    /// Thirty tenants that have one job now and then, also before.
    pub(super) fn crowd(&mut self, priority: Priority, every: u64) {
        let mut at = 0;
        for number in 0_u64.. {
            let kind = Kind::of(&format!("light{}", number % 30), priority);
            self.put(at, &kind);
            at += self.dice.between(every / 2, every * 3 / 2);
            if at > WARM + 600_000 {
                return;
            }
        }
    }

    pub(super) fn load(self, config: &Config) -> Load {
        Load { config: *config, jobs: self.jobs, refusing: 0..0, begins: WARM }
    }
}

/// When the jobs come that are looked at.
pub(super) const WARM: u64 = 120_000;

fn usage(input: u64, output: u64) -> Usage {
    Usage { input: Tokens::new(input), output: Tokens::new(output) }
}
