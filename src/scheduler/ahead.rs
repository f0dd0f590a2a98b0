//! What goes before a waiting job.
use super::ratio::part;
use crate::domain::{Tokens, Usage};

/// Jobs that go before another one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Ahead {
    pub(super) jobs: u64,
    /// How many of them are not of the same tenant.
    pub(super) others: u64,
    /// How many of the same lane will be set aside when their turn comes.
    pub(super) large: u64,
    /// What all of them are expected to use, and to cost.
    pub(super) need: Usage,
    pub(super) cost: u64,
    /// What more urgent ones will cost that are only expected to come.
    pub(super) later: u64,
    /// How many hundredths of each bucket it will have to leave to others.
    pub(super) keep: u32,
}

impl Ahead {
    pub(super) fn add(&mut self, other: Self) {
        self.jobs = self.jobs.saturating_add(other.jobs);
        self.need = plus(self.need, other.need);
        self.cost = self.cost.saturating_add(other.cost);
    }

    /// As many of them as cost no more than that.
    pub(super) fn within(self, most: u64) -> Self {
        let some = |amount: u64| part(amount, most.min(self.cost), self.cost.max(1));
        let tokens = |amount: Tokens| Tokens::new(some(amount.get()));
        let Usage { input, output } = self.need;
        Self {
            jobs: some(self.jobs),
            need: Usage { input: tokens(input), output: tokens(output) },
            cost: some(self.cost),
            ..self
        }
    }
}

/// The sum, saturating.
pub(super) fn plus(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
    }
}
