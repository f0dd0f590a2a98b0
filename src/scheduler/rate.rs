//! How often a tenant may knock: the generic cell rate algorithm (GCRA).
//!
//! All that is kept is one moment, the theoretical arrival time: when the
//! tenant would have to come if it came evenly. It may come earlier by its
//! burst. In any time t no more than `burst + t ÷ interval` get through, so
//! that no boundary between two minutes lets twice the rate in.
use super::Quota;
use crate::domain::{Entropy, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// A rate, and how many may come at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    per_minute: u64,
    burst: u64,
}

/// The theoretical arrival time, in nanoseconds since the epoch: a thousand a
/// second are not rounded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Arrival(u64);

impl Rate {
    /// `percent` of a minute's rate may come at once; one always may.
    pub(super) fn new(per_minute: u64, percent: u32) -> Self {
        let burst = per_minute.saturating_mul(percent.into()) / 100;
        Self { per_minute: per_minute.clamp(1, MOST), burst: burst.clamp(1, MOST) }
    }

    /// From one to the next.
    pub(super) const fn interval(self) -> Span {
        Span::from_millis(MINUTE / MILLI / self.per_minute)
    }

    /// How many may come at once.
    pub(super) const fn at_once(self) -> u64 {
        self.burst
    }

    const fn step(self) -> u64 {
        MINUTE / self.per_minute
    }

    const fn tolerance(self) -> u64 {
        self.burst.saturating_mul(self.step())
    }
}

impl Arrival {
    /// How long until one more may come; zero if it may now.
    pub(super) fn wait(self, rate: Rate, now: Timestamp) -> Span {
        let next = self.from(now).saturating_add(rate.step());
        let early = next.saturating_sub(nanos(now).saturating_add(rate.tolerance()));
        Span::from_millis(early.div_ceil(MILLI))
    }

    /// One comes.
    pub(super) fn count(&mut self, rate: Rate, now: Timestamp) {
        self.0 = self.from(now).saturating_add(rate.step());
    }

    /// What is left of the rate.
    pub(super) fn quota(self, rate: Rate, now: Timestamp) -> Quota {
        let ahead = self.from(now).saturating_sub(nanos(now));
        Quota {
            limit: rate.per_minute,
            remaining: rate.tolerance().saturating_sub(ahead) / rate.step().max(1),
            reset: Span::from_millis(ahead.div_ceil(MILLI)),
        }
    }

    /// Whether it is as if nobody had ever come.
    pub(super) fn is_past(self, now: Timestamp) -> bool {
        self.0 <= nanos(now)
    }

    fn from(self, now: Timestamp) -> u64 {
        self.0.max(nanos(now))
    }
}

/// When those who were refused have been told to come back: one after another,
/// as fast as they can be let in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promised(Timestamp);

impl Promised {
    /// When the next may come: at the earliest after `earliest`, and `step`
    /// later than the one before. Beyond a minute of promises, chance decides.
    pub(super) fn next(
        &mut self,
        earliest: Span,
        step: Span,
        now: Timestamp,
        chance: Entropy,
    ) -> Span {
        let first = now + earliest;
        let mut slot = first.max(self.0 + step);
        if slot > first + LONGEST_LINE {
            slot = first + chance.between(Span::ZERO, LONGEST_LINE);
        } else {
            self.0 = slot;
        }
        let wait = slot.since(now);
        let jitter = Entropy(chance.0.rotate_left(32));
        let spread = jitter.between(Span::ZERO, wait.scaled(1, 5).max(LEAST_SPREAD));
        wait.saturating_add(spread).min(LONGEST_WAIT)
    }
}

fn nanos(moment: Timestamp) -> u64 {
    moment.as_millis().saturating_mul(MILLI)
}

const MILLI: u64 = 1_000_000;
const MINUTE: u64 = 60_000 * MILLI;
/// A rate a minute, sixty thousand a second.
const MOST: u64 = 1_000_000_000;
const LONGEST_LINE: Span = Span::from_secs(60);
const LEAST_SPREAD: Span = Span::from_millis(500);
/// Nobody is sent away for longer.
const LONGEST_WAIT: Span = Span::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_sees_more_than_the_rate_and_its_burst() {
        let rate = Rate::new(60, 25);
        let mut arrival = Arrival::default();
        let mut let_in = Vec::new();
        for millis in (0..180_000).step_by(50) {
            if arrival.wait(rate, at(millis)) == Span::ZERO {
                arrival.count(rate, at(millis));
                let_in.push(millis);
            }
        }
        assert_eq!(let_in.iter().filter(|millis| **millis == 0).count(), 1);
        for begin in &let_in {
            let within = let_in.iter().filter(|it| (*begin..begin + 60_000).contains(*it));
            assert!(within.count() <= 75);
        }
        assert!(let_in.len() >= 15 + 179);
    }

    #[test]
    fn who_waits_as_told_is_let_in() {
        let rate = Rate::new(60, 25);
        let mut arrival = Arrival::default();
        for _ in 0..15 {
            assert_eq!(arrival.wait(rate, at(0)), Span::ZERO);
            arrival.count(rate, at(0));
        }
        let wait = arrival.wait(rate, at(0));
        assert_eq!(wait, Span::from_secs(1));
        assert_eq!(arrival.wait(rate, at(0) + wait), Span::ZERO);
        assert_eq!(arrival.quota(rate, at(0)).remaining, 0);
        assert_eq!(arrival.quota(rate, at(2_000)).remaining, 2);
        assert_eq!(arrival.quota(rate, at(60_000)).remaining, 15);
    }

    #[test]
    fn promises_stand_in_line_and_scatter_beyond_a_minute() {
        let mut promised = Promised::default();
        let mut next = |chance| {
            let second = Span::from_secs(1);
            promised.next(second, second, at(0), Entropy(chance)).as_millis()
        };
        let line: Vec<_> = (0..61).map(|_| next(0)).collect();
        assert_eq!(line, (1..=61).map(|second| 1_000 * second).collect::<Vec<_>>());
        assert_eq!(next(0), 1_000);
        assert!(next(u64::MAX / 2) > 30_000);
    }

    #[test]
    fn the_fastest_and_the_slowest_rate_are_counted() {
        for (per_minute, percent) in [(1, 0), (u64::MAX, 100), (1, 100)] {
            let rate = Rate::new(per_minute, percent);
            let mut arrival = Arrival::default();
            assert_eq!(arrival.wait(rate, at(5)), Span::ZERO);
            arrival.count(rate, at(5));
            assert!(arrival.wait(rate, at(5)) <= Span::from_secs(60));
        }
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_796_000_000_000 + millis)
    }
}
