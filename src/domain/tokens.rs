//! The unit a budget is counted in.
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// An amount of tokens, never negative.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Tokens(u64);

impl Tokens {
    /// None.
    pub const ZERO: Self = Self(0);

    /// `amount` tokens.
    #[must_use]
    pub const fn new(amount: u64) -> Self {
        Self(amount)
    }

    /// The amount.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, saturating.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::saturating_add)
    }
}

/// What a call used, or is expected to use, as the rate limits count it:
/// cache reads are not input.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// Input and cache-creation tokens.
    pub input: Tokens,
    /// Output tokens.
    pub output: Tokens,
}
