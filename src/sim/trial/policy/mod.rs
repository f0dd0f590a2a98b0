//! The policies under trial: ours, and what it is compared with.
//!
//! | file | says |
//! |---|---|
//! | `core` | ours: the real scheduler |
//! | `held` | workers that keep their job while they back off |
//! | `fifo`, `strict` | one queue; one for each priority |
//! | `intended`, `literal` | a published design as it was meant, and as it was printed |
//! | `deficit`, `demotion` | what these two share |
mod core;
mod deficit;
mod demotion;
mod fifo;
mod held;
mod intended;
mod literal;
mod strict;

pub use core::{Tune, config_for};

use super::{
    scenario::Scenario,
    upstream::{Level, Told},
    workload::{Job, Workload},
};

/// Decides which job calls the upstream, and when.
pub trait Policy {
    /// A job has arrived.
    fn arrive(&mut self, job: &Job, now: f64);

    /// A call was answered.
    fn answer(&mut self, job: &Job, answer: Answer, now: f64);

    /// What to do next. Asked until there is nothing.
    fn step(&mut self, now: f64) -> Option<Step>;

    /// When to ask again, if nothing happens before.
    fn wakes_at(&self) -> Option<f64>;

    /// Elementary operations so far, if they are counted.
    fn operations(&self) -> Option<u64> {
        None
    }
}

/// What a policy wants done. Jobs are named by their index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Send the job to the upstream.
    Call(usize),
    /// Give the job up.
    Lose(usize),
}

/// What the client sees of a call's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Completed(Told),
    /// 429.
    Refused {
        /// Seconds, as `Retry-After` has them.
        retry_after: f64,
        /// What the headers say.
        told: Told,
    },
    /// 529.
    Failed,
}

/// A policy by name.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One queue, exponential backoff.
    Fifo,
    /// Strict priority, hasty backoff.
    Strict,
    /// The published design as printed.
    Literal,
    /// The published design as meant.
    Intended,
    /// The real scheduler, with these settings.
    Ours(Tune),
}

impl Kind {
    /// What a policy of this kind needs to start with.
    #[must_use]
    pub fn start(&self, scenario: &Scenario, workload: &Workload) -> Box<dyn Policy> {
        match self {
            Self::Fifo => fifo::start(scenario),
            Self::Strict => strict::start(scenario),
            Self::Literal => literal::start(scenario, workload),
            Self::Intended => intended::start(scenario, workload),
            Self::Ours(tune) => Box::new(core::Core::new(scenario, workload, tune)),
        }
    }
}
