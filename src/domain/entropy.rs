//! Chance, as an argument.
use super::Span;

/// One draw, uniform over all 64-bit numbers, made by whoever owns a source
/// of randomness.
#[derive(Clone, Copy, Debug)]
pub struct Entropy(pub u64);

impl Entropy {
    /// A span uniform in `low..=high`; `low` if the bounds are reversed.
    #[must_use]
    pub fn between(self, low: Span, high: Span) -> Span {
        let width = u128::from(high.as_millis().saturating_sub(low.as_millis())) + 1;
        let drawn = (width * u128::from(self.0)) >> 64;
        low.saturating_add(Span::from_millis(u64::try_from(drawn).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_stays_within_its_bounds_and_reaches_both() {
        let (low, high) = (Span::from_millis(10), Span::from_millis(20));
        assert_eq!(Entropy(0).between(low, high), low);
        assert_eq!(Entropy(u64::MAX).between(low, high), high);
        assert_eq!(Entropy(u64::MAX).between(high, low), high);
    }
}
