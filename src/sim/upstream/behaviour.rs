//! What the API does with a call, by script.
use crate::domain::Span;
use crate::sim::chance::Chance;
use std::collections::{BTreeMap, VecDeque};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Behaviour {
    /// It is answered.
    Answer,
    /// It is answered after this long.
    Slow(Span),
    /// 429, with `Retry-After` in seconds.
    Throttled(Option<u64>),
    /// 529, with `Retry-After` in seconds.
    Overloaded(Option<u64>),
    /// 400.
    Refused,
    /// 401.
    Unauthorized,
    /// 402.
    OutOfCredit,
    /// The connection breaks before an answer.
    Reset,
    /// Status 200, then silence until the caller's time is up.
    Hang,
    /// No status at all until the caller's time is up.
    Silent,
    /// Status 200, and a stream that ends too early.
    CutShort,
    /// Status 200, and a connection that breaks in the middle.
    Broken,
    /// Status 200, and an `error` event in the stream.
    ErrorInStream,
    /// The caller panics: a poisonous job.
    Panic,
}

impl Behaviour {
    /// Whether the API begins to work on it, so that it counts and costs.
    pub(super) const fn is_taken_on(self) -> bool {
        match self {
            Self::Answer
            | Self::Slow(_)
            | Self::Hang
            | Self::CutShort
            | Self::Broken
            | Self::ErrorInStream => true,
            Self::Throttled(_)
            | Self::Overloaded(_)
            | Self::Refused
            | Self::Unauthorized
            | Self::OutOfCredit
            | Self::Reset
            | Self::Silent
            | Self::Panic => false,
        }
    }
}

/// What is to come.
#[derive(Debug, Default)]
pub(in crate::sim) struct Script {
    next: VecDeque<Behaviour>,
    always: BTreeMap<String, Behaviour>,
    /// In thousandths of the calls.
    odds: BTreeMap<Behaviour, u32>,
}

impl Script {
    /// For the next call that has no rule of its own.
    pub(in crate::sim) fn then(&mut self, behaviour: Behaviour) {
        self.next.push_back(behaviour);
    }

    /// For every call with this prompt.
    pub(in crate::sim) fn always(&mut self, prompt: &str, behaviour: Behaviour) {
        self.always.insert(prompt.to_owned(), behaviour);
    }

    pub(in crate::sim) fn odds(&mut self, behaviour: Behaviour, permille: u32) {
        self.odds.insert(behaviour, permille);
    }

    /// From now on every call is answered.
    pub(in crate::sim) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn next(&mut self, prompt: &str, chance: &Chance) -> Behaviour {
        if let Some(behaviour) = self.always.get(prompt) {
            return *behaviour;
        }
        if let Some(behaviour) = self.next.pop_front() {
            return behaviour;
        }
        let happens = |(_, permille): &(&Behaviour, &u32)| chance.happens(**permille);
        self.odds.iter().find(happens).map_or(Behaviour::Answer, |(behaviour, _)| *behaviour)
    }
}
