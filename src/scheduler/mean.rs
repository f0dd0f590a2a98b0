//! What to expect of the next call, from the last ones.
use crate::domain::{Span, Tokens};
use serde::{Deserialize, Serialize};

/// A running mean, each new figure counting one part in `PARTS`. Kept in such
/// parts of a token, so that it is exact.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Mean<const PARTS: u64>(Option<u64>);

impl<const PARTS: u64> Mean<PARTS> {
    pub(super) fn learn(&mut self, amount: Tokens) {
        let amount = amount.get().min(MOST);
        self.0 = Some(match self.0 {
            None => amount * PARTS,
            Some(mean) => mean.min(MOST * PARTS) * (PARTS - 1) / PARTS + amount,
        });
    }

    /// The mean, rounded up; `None` if nothing was learned.
    pub(super) fn get(self) -> Option<Tokens> {
        self.0.map(|mean| Tokens::new(mean.div_ceil(PARTS)))
    }
}

/// The same of lengths of time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct MeanSpan(Mean<16>);

impl MeanSpan {
    pub(super) fn learn(&mut self, span: Span) {
        self.0.learn(Tokens::new(span.as_millis()));
    }

    pub(super) fn get(self) -> Option<Span> {
        self.0.get().map(|mean| Span::from_millis(mean.get()))
    }

    /// Nothing was learned.
    pub(super) const fn is_blank(&self) -> bool {
        self.0.0.is_none()
    }
}

/// No model writes more, and no call takes more milliseconds. A wild figure
/// must not spoil the mean for long.
const MOST: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_the_first_call_and_follows_the_later_ones() {
        let mut mean = Mean::<16>::default();
        assert_eq!(mean.get(), None);
        mean.learn(Tokens::new(1_600));
        assert_eq!(mean.get(), Some(Tokens::new(1_600)));
        mean.learn(Tokens::ZERO);
        assert_eq!(mean.get(), Some(Tokens::new(1_500)));
        (0..200).for_each(|_| mean.learn(Tokens::new(70)));
        assert_eq!(mean.get(), Some(Tokens::new(70)));
    }

    #[test]
    fn a_wild_figure_counts_no_more_than_a_large_one() {
        let mut mean = Mean::<64>::default();
        mean.learn(Tokens::new(u64::MAX));
        mean.learn(Tokens::new(u64::MAX));
        assert_eq!(mean.get(), Some(Tokens::new(MOST)));
    }
}
