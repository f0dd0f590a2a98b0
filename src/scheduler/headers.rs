//! What the upstream says of its own limits, believed as far as it can be
//! true.
use super::budget::Budget;
use crate::domain::{RateLimits, Span, Timestamp, Tokens};

/// Under which circumstances the upstream told its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    /// How long ago, at most.
    pub(super) age: Span,
    /// What the call has used of the output since then, if no other call can
    /// have changed the levels; `None` if one can.
    pub(super) alone: Option<Tokens>,
}

impl Budget {
    /// Follows the upstream's word: limits at once, levels downwards, and
    /// upwards where the sighting allows it. A limit of 0 is not believed.
    pub(super) fn observe(&mut self, seen: &RateLimits, sighting: Sighting, now: Timestamp) {
        let levels = [seen.requests, seen.input, seen.output];
        let used = sighting.alone.unwrap_or_default();
        let margins = [Tokens::ZERO, ROUNDING, ROUNDING.saturating_add(used)];
        for ((bucket, level), margin) in self.buckets_mut().into_iter().zip(levels).zip(margins) {
            let Some(level) = level.filter(|level| level.limit > 0) else {
                continue;
            };
            let left = Tokens::new(level.remaining);
            bucket.believe(level.limit, now);
            bucket.lower(left, sighting.age, now);
            if sighting.alone.is_some() {
                bucket.raise(left.saturating_sub(margin), now);
            }
        }
    }

    /// After a refusal: what the upstream says is left, is left; if it says
    /// nothing, nothing is.
    pub(super) fn refused(&mut self, seen: &RateLimits, now: Timestamp) {
        if *seen == RateLimits::default() {
            for bucket in self.buckets_mut() {
                bucket.lower(Tokens::ZERO, Span::ZERO, now);
            }
        }
        let sighting = Sighting { age: Span::ZERO, alone: None };
        self.observe(seen, sighting, now);
    }
}

/// The upstream rounds what is left to thousands: half of it may be missing.
const ROUNDING: Tokens = Tokens::new(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{BucketLevel, Limits, Usage},
        scheduler::{
            Config,
            budget::{Charge, Margin},
        },
    };

    #[test]
    fn the_limits_heal_both_ways() {
        let mut budget = budget();
        budget.observe(&seen(120, 12, 12_000), sighting(None), at(0));
        assert_eq!(budget.limits().requests, 120);
        assert_eq!(budget.limits().output, 12_000);
        budget.observe(&seen(6, 6, 600), sighting(None), at(0));
        assert_eq!(budget.limits().requests, 6);
    }

    #[test]
    fn a_limit_of_nothing_is_not_believed() {
        let mut budget = budget();
        budget.observe(&seen(0, 0, 0), sighting(None), at(0));
        assert_eq!(budget.limits(), self::budget().limits());
    }

    #[test]
    fn the_level_rises_only_when_nobody_else_can_have_changed_it() {
        let mut budget = budget();
        let held = budget.reserve(usage(60_000, 6_000), at(0));
        budget.settle(held, Charge::AllReserved, at(0));
        let told = seen(60, 60, 6_000);
        budget.observe(&told, sighting(None), at(0));
        assert_eq!(budget.fits_at(usage(0, 1_500), Margin::default()), at(15_000));
        budget.observe(&told, sighting(Some(4_000)), at(0));
        assert_eq!(budget.fits_at(usage(0, 1_500), Margin::default()), at(0));
        assert_eq!(budget.fits_at(usage(0, 1_501), Margin::default()), at(10));
    }

    #[test]
    fn a_refusal_without_a_word_empties_the_mirror() {
        let mut budget = budget();
        budget.refused(&RateLimits::default(), at(0));
        assert_eq!(budget.fits_at(usage(1, 1), Margin::default()), at(1_000));
    }

    fn budget() -> Budget {
        let limits = Limits { requests: 60, input: 60_000, output: 6_000 };
        let slack = Span::ZERO;
        Budget::full(&Config { limits, slack, ..Config::default() }, at(0))
    }

    fn seen(requests: u64, left: u64, output: u64) -> RateLimits {
        let level = |limit, remaining| Some(BucketLevel { limit, remaining, reset: None });
        RateLimits { requests: level(requests, left), input: None, output: level(output, output) }
    }

    fn sighting(alone: Option<u64>) -> Sighting {
        Sighting { age: Span::ZERO, alone: alone.map(Tokens::new) }
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input: Tokens::new(input), output: Tokens::new(output) }
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }
}
