//! What a model class may use: requests, input tokens, output tokens.
use super::{
    Config,
    bucket::{Bucket, Hold},
};
use crate::domain::{Limits, Span, Timestamp, Tokens, Usage};
use serde::{Deserialize, Serialize};

/// Three buckets, a mirror of the upstream's. A call takes from all of them
/// before it is released, and is settled once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Budget {
    requests: Bucket,
    input: Bucket,
    output: Bucket,
}

/// What one call holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Reservation {
    requests: Hold,
    input: Hold,
    output: Hold,
}

/// What a call has to leave in the buckets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Margin {
    /// So many hundredths of each, for others who may come.
    pub(super) keep: u32,
    /// And a share of a call of this size, for one who waits.
    pub(super) hold: Option<(Usage, Share)>,
}

/// A part of a whole, at most all of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Share {
    pub(super) part: u128,
    pub(super) of: u128,
}

/// What a call has used in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Charge {
    /// The upstream never took it on.
    Nothing,
    /// It was answered before it ran.
    Request,
    /// It may have run: all that was reserved.
    AllReserved,
    /// It ran, and said what it used.
    Real(Usage),
}

impl Budget {
    pub(super) fn full(config: &Config, now: Timestamp) -> Self {
        let Limits { requests, input, output } = config.limits;
        let bucket = |limit| Bucket::full(limit, config.depth(), now);
        Self { requests: bucket(requests), input: bucket(input), output: bucket(output) }
    }

    /// For when nobody knows what was used before `now`.
    pub(super) fn empty(config: &Config, now: Timestamp) -> Self {
        let mut budget = Self::full(config, now);
        for bucket in budget.buckets_mut() {
            bucket.lower(Tokens::ZERO, Span::ZERO, now);
        }
        budget
    }

    /// Takes up today's settings after a restart. A limit that the upstream
    /// corrected stays.
    pub(super) fn reconfigure(&mut self, former: Limits, config: &Config) {
        let limit = |bucket: &Bucket, former, today| {
            let learned = bucket.limit() != former;
            if learned { bucket.limit() } else { today }
        };
        let (depth, today) = (config.depth(), config.limits);
        let [requests, input, output] = self.buckets_mut();
        requests.reset(limit(requests, former.requests, today.requests), depth);
        input.reset(limit(input, former.input, today.input), depth);
        output.reset(limit(output, former.output, today.output), depth);
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            requests: self.requests.limit(),
            input: self.input.limit(),
            output: self.output.limit(),
        }
    }

    /// The first moment at which a call of this size may be released, if it
    /// leaves a margin.
    pub(super) fn fits_at(&self, need: Usage, margin: Margin) -> Timestamp {
        let Margin { keep, hold } = margin;
        let (held, saved) = hold.unwrap_or((Usage::default(), Share::NONE));
        let fits = |bucket: &Bucket, need, held| {
            bucket.fits_at(need, keep, saved.of(bucket.reachable(held)))
        };
        fits(&self.requests, ONE, ONE).max(fits(&self.input, need.input, held.input)).max(fits(
            &self.output,
            need.output,
            held.output,
        ))
    }

    /// The same for a call that all others make way for.
    pub(super) fn nearly_fits_at(&self, need: Usage) -> Timestamp {
        let requests = self.requests.nearly_fits_at(ONE);
        let input = self.input.nearly_fits_at(need.input);
        requests.max(input).max(self.output.nearly_fits_at(need.output))
    }

    /// How long it takes to earn a call of this size; at least a moment.
    pub(super) fn earned_in(&self, need: Usage) -> Span {
        let requests = self.requests.earned_in(ONE);
        let input = self.input.earned_in(need.input);
        let spans = requests.max(input).max(self.output.earned_in(need.output));
        spans.max(Span::from_millis(1))
    }

    /// What the bucket of input tokens can hold.
    pub(super) fn room(&self) -> Tokens {
        self.input.room()
    }

    /// The moment by which `requests` calls, with this in all, will have been
    /// earned, and so many hundredths of each bucket.
    pub(super) fn earned_at(&self, requests: Tokens, need: Usage, keep: u32) -> Timestamp {
        let requests = self.requests.earned_at(requests, keep);
        let input = self.input.earned_at(need.input, keep);
        requests.max(input).max(self.output.earned_at(need.output, keep))
    }

    pub(super) fn full_at(&self) -> Timestamp {
        let [requests, input, output] = self.buckets().map(Bucket::full_at);
        requests.max(input).max(output)
    }

    pub(super) fn reserve(&mut self, need: Usage, now: Timestamp) -> Reservation {
        Reservation {
            requests: self.requests.take(ONE, now),
            input: self.input.take(need.input, now),
            output: self.output.take(need.output, now),
        }
    }

    /// Replaces a reservation by what was used. Says whether it was the last
    /// one, so that from now on only time changes the levels.
    pub(super) fn settle(&mut self, held: Reservation, charge: Charge, now: Timestamp) -> bool {
        let (requests, used) = match charge {
            Charge::Nothing => (Tokens::ZERO, Usage::default()),
            Charge::Request => (ONE, Usage::default()),
            Charge::AllReserved => (held.requests.amount(), held.usage()),
            Charge::Real(usage) => (ONE, usage),
        };
        self.requests.settle(held.requests, requests, now);
        self.input.settle(held.input, used.input, now);
        self.output.settle(held.output, used.output, now);
        self.requests.was_last(held.requests)
    }

    /// Counts a reservation found in storage.
    pub(super) fn find(&mut self, held: &mut Reservation) {
        self.requests.find(&mut held.requests);
        self.input.find(&mut held.input);
        self.output.find(&mut held.output);
    }

    /// What the calls under way hold: their number, their tokens.
    pub(super) fn held(&self) -> (Tokens, Usage) {
        let usage = Usage { input: self.input.held(), output: self.output.held() };
        (self.requests.held(), usage)
    }

    pub(super) fn assert_sound(&self) {
        for bucket in self.buckets() {
            bucket.assert_sound();
        }
    }

    fn buckets(&self) -> [&Bucket; 3] {
        [&self.requests, &self.input, &self.output]
    }

    pub(super) fn buckets_mut(&mut self) -> [&mut Bucket; 3] {
        [&mut self.requests, &mut self.input, &mut self.output]
    }
}

impl Reservation {
    /// The tokens of the reservation.
    pub(super) fn usage(self) -> Usage {
        Usage { input: self.input.amount(), output: self.output.amount() }
    }
}

impl Share {
    /// Nothing of anything.
    const NONE: Self = Self { part: 0, of: 1 };

    /// The whole.
    pub(super) const fn is_full(self) -> bool {
        self.part >= self.of
    }

    /// That part of an amount, rounded down.
    pub(super) fn of(self, amount: Tokens) -> Tokens {
        if self.is_full() {
            return amount;
        }
        let share = u128::from(amount.get()).saturating_mul(self.part) / self.of.max(1);
        Tokens::new(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

const ONE: Tokens = Tokens::new(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_for_the_scarcest_of_the_three() {
        let mut budget = budget();
        budget.reserve(usage(400, 4_000), at(0));
        assert_eq!(budget.fits_at(usage(60_000, 0), Margin::default()), at(400));
        assert_eq!(budget.fits_at(usage(60_000, 6_000), Margin::default()), at(40_000));
    }

    #[test]
    fn what_an_attempt_is_charged() {
        let full = [60, 60_000, 6_000];
        for (charge, used) in [
            (Charge::Nothing, [0, 0, 0]),
            (Charge::Request, [1, 0, 0]),
            (Charge::AllReserved, [1, 30_000, 3_000]),
            (Charge::Real(usage(20_000, 9_000)), [1, 20_000, 9_000]),
        ] {
            let mut budget = budget();
            let held = budget.reserve(usage(30_000, 3_000), at(0));
            assert!(budget.settle(held, charge, at(0)));
            assert_eq!(budget.held(), (Tokens::ZERO, Usage::default()));
            let filled = budget.buckets().map(Bucket::full_at);
            let missing = std::array::from_fn(|i| at(used[i] * 60_000 / full[i]));
            assert_eq!(filled, missing, "{charge:?}");
        }
    }

    fn budget() -> Budget {
        let limits = Limits { requests: 60, input: 60_000, output: 6_000 };
        let slack = Span::ZERO;
        Budget::full(&Config { limits, slack, ..Config::default() }, at(0))
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input: Tokens::new(input), output: Tokens::new(output) }
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }
}
