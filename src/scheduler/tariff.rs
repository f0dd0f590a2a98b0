//! What a job costs: its share of the limit that binds it, in input tokens.
//!
//! A call uses one of the requests, some of the input and some of the output
//! of a minute. What counts is the one it uses most of; the cheapest call
//! costs a request's share.
use super::{
    Ordering,
    ratio::{part, part_up},
};
use crate::domain::{Limits, Span, Tokens, Usage};

/// The prices of a model class, by its limits and means of now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tariff {
    limits: Limits,
    /// What a call is expected to write.
    pub(super) output: Tokens,
    /// What a request costs that has hardly any tokens.
    pub(super) cheapest: i64,
    /// What a lane may use at each of its turns.
    pub(super) quantum: i64,
    /// A job that costs more is oversized.
    oversize: i64,
}

impl Tariff {
    /// `mean` is what jobs cost on average, `room` the capacity of the bucket
    /// of input tokens.
    pub(super) fn new(
        limits: Limits,
        output: Tokens,
        mean: Option<Tokens>,
        room: Tokens,
        order: &Ordering,
    ) -> Self {
        let mut tariff = Self { limits, output, cheapest: 1, quantum: 1, oversize: 0 };
        tariff.cheapest = tariff.cost(Usage::default());
        let mean = mean.map_or(0, amount).max(tariff.cheapest);
        let quantum = order.quantum.map_or(mean, amount);
        tariff.quantum = quantum.clamp(1, tariff.most());
        tariff.oversize = (amount(room) / OVERSIZE_PART).max(mean.saturating_mul(OVERSIZE_MEANS));
        tariff
    }

    /// What a call may use: its estimated input, and the output that such
    /// calls have on average, unless it may not have as much.
    pub(super) fn need(&self, estimate: Usage) -> Usage {
        Usage { output: estimate.output.min(self.output), ..estimate }
    }

    /// What a call of this usage costs.
    pub(super) fn cost(&self, usage: Usage) -> i64 {
        let Limits { requests, input, output } = self.limits;
        let request = input.div_ceil(requests.max(1));
        let written = part_up(usage.output.get(), input, output);
        let cost = request.max(usage.input.get()).max(written);
        i64::try_from(cost).unwrap_or(i64::MAX).clamp(1, self.most())
    }

    /// What a job with this estimate costs.
    pub(super) fn price(&self, estimate: Usage) -> i64 {
        self.cost(self.need(estimate))
    }

    /// Whether a job is too large to wait for in line with the others.
    pub(super) const fn is_oversized(&self, price: i64) -> bool {
        price > self.oversize
    }

    /// The credit a job needs to go. An oversized one pays the rest later.
    pub(super) fn fare(&self, price: i64) -> i64 {
        if self.is_oversized(price) { price.min(self.quantum) } else { price }
    }

    /// The most credit an idle lane can have, so many quanta.
    pub(super) fn burst(&self, quanta: u32) -> i64 {
        self.quantum.saturating_mul(quanta.into())
    }

    /// From one turn of a lane of this weight to its next, in rounds.
    pub(super) fn stride(weight: u64) -> u64 {
        (ROUNDS / weight.max(1)).max(1)
    }

    /// The input tokens that flow in within a time.
    pub(super) fn inflow(&self, time: Span) -> i64 {
        whole(part(self.limits.input, time.as_millis(), 60_000))
    }

    fn most(&self) -> i64 {
        whole(self.limits.input.saturating_mul(10)).max(1)
    }
}

/// As a signed number.
pub(super) const fn whole(number: u64) -> i64 {
    if number > i64::MAX.unsigned_abs() { i64::MAX } else { number.cast_signed() }
}

fn amount(tokens: Tokens) -> i64 {
    whole(tokens.get())
}

/// From turn to turn of a lane of weight 1. The weights up to 16 divide it.
const ROUNDS: u64 = 720_720;
/// A job that takes a tenth of a bucket cannot wait in line …
const OVERSIZE_PART: i64 = 10;
/// … unless all jobs are of that kind.
const OVERSIZE_MEANS: i64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_costs_what_it_takes_of_the_limit_that_binds_it() {
        let tariff = tariff(None);
        let cost = |input, output| tariff.cost(usage(input, output));
        assert_eq!(cost(0, 0), 800, "a request");
        assert_eq!(cost(900, 0), 900, "its input");
        assert_eq!(cost(900, 200), 1_000, "its output: a token is worth five");
    }

    #[test]
    fn no_figure_is_too_large_to_be_counted() {
        let tariff = tariff(None);
        assert_eq!(tariff.cost(usage(u64::MAX, u64::MAX)), 400_000);
        assert_eq!(tariff.price(usage(0, u64::MAX)), 800, "the mean is expected");
    }

    #[test]
    fn an_oversized_job_needs_no_more_than_its_turn() {
        let usual = tariff(Some(1_000));
        assert_eq!(usual.fare(4_000), 4_000);
        assert_eq!(usual.fare(4_001), 1_000);
        let large = tariff(Some(8_000));
        assert!(!large.is_oversized(8_000), "where all are large, none is");
    }

    fn tariff(mean: Option<u64>) -> Tariff {
        let limits = Limits { requests: 50, input: 40_000, output: 8_000 };
        let mean = mean.map(Tokens::new);
        Tariff::new(limits, Tokens::new(100), mean, Tokens::new(40_000), &Ordering::default())
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input: Tokens::new(input), output: Tokens::new(output) }
    }
}
