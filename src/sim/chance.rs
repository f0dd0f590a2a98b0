//! Chance from a seed (`SplitMix64`): the same seed, the same world.
use crate::domain::{Entropy, Span};
use std::cell::Cell;

/// A source of draws.
#[derive(Debug)]
pub(super) struct Chance(Cell<u64>);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(super) fn draw(&self) -> Entropy {
        self.0.set(self.0.get().wrapping_add(GOLDEN));
        Entropy(mix(self.0.get()))
    }

    /// A whole number below `end`; 0 if there is none.
    pub(super) fn below(&self, end: u64) -> u64 {
        let drawn = self.draw().between(Span::ZERO, Span::from_millis(end.saturating_sub(1)));
        drawn.as_millis()
    }

    pub(super) fn between(&self, low: Span, high: Span) -> Span {
        self.draw().between(low, high)
    }

    /// True with a probability, in thousandths.
    pub(super) fn happens(&self, permille: u32) -> bool {
        permille > 0 && self.below(1_000) < permille.into()
    }
}

/// A number that looks random, and is the same for the same text.
pub(super) fn number_of(text: &str) -> u64 {
    text.bytes().fold(GOLDEN, |number, byte| mix(number ^ u64::from(byte)))
}

/// What `SplitMix64` makes of a state.
pub(super) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// From one state of `SplitMix64` to the next.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let draws = |seed| {
            let chance = Chance::new(seed);
            [0; 8].map(|_| chance.draw().0)
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
        // The published first number of SplitMix64 from 0.
        assert_eq!(draws(0)[0], 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_probability_is_kept_roughly() {
        let chance = Chance::new(1);
        let hits = (0..10_000).filter(|_| chance.happens(100)).count();
        assert!((900..1_100).contains(&hits), "{hits}");
        assert!(!(0..1_000).any(|_| chance.happens(0)));
    }
}
