//! How much came lately, to expect as much again.
use crate::domain::{Span, Timestamp};

/// What the jobs of a rank that came within a minute cost, by tens of seconds.
/// A burst is no stream: the fullest part does not count. Not stored: after a
/// restart it is found out again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    parts: [i64; PARTS],
    /// The number of the part of now, counted from 1970.
    part: u64,
}

impl Arrivals {
    pub(super) fn add(&mut self, cost: i64, now: Timestamp) {
        self.turn(now);
        if let Some(part) = self.parts.first_mut() {
            *part = part.saturating_add(cost);
        }
    }

    /// What comes in a minute.
    pub(super) fn a_minute(mut self, now: Timestamp) -> u64 {
        self.turn(now);
        let all = self.parts.iter().fold(0_i64, |all, part| all.saturating_add(*part));
        let fullest = self.parts.iter().fold(0, |most, part| most.max(*part));
        (all.saturating_sub(fullest) / WHOLE).saturating_mul(WHOLE + 1).max(0).unsigned_abs()
    }

    /// The latest part comes first.
    fn turn(&mut self, now: Timestamp) {
        let part = now.as_millis() / PART.as_millis();
        for _ in self.part..part.min(self.part.saturating_add(PARTS as u64)) {
            self.parts.rotate_right(1);
            if let Some(part) = self.parts.first_mut() {
                *part = 0;
            }
        }
        self.part = self.part.max(part);
    }
}

const PART: Span = Span::from_secs(10);
/// A minute, and the part of now, which is not over.
const PARTS: usize = 7;
/// Those of a minute that count.
const WHOLE: i64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_expected_to_go_on() {
        let mut arrivals = Arrivals::default();
        for second in 0..120 {
            arrivals.add(100, at(second));
        }
        let a_minute = arrivals.a_minute(at(120));
        assert!((5_000..=7_000).contains(&a_minute), "{a_minute}");
        assert_eq!(arrivals.a_minute(at(240)), 0);
    }

    #[test]
    fn a_burst_is_not() {
        let mut arrivals = Arrivals::default();
        (0..100).for_each(|_| arrivals.add(100, at(1_000)));
        assert!([1_000, 1_030, 1_059].iter().all(|then| arrivals.a_minute(at(*then)) == 0));
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_000 * seconds)
    }
}
