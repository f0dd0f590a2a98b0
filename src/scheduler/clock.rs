//! Time that never runs backwards, made from a clock that may.
use crate::domain::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// The scheduler's own time. It advances by what the wall clock advances; a
/// step back costs no time at all, a small one is waited out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Clock {
    now: Timestamp,
    /// What the wall clock showed then.
    wall: Timestamp,
}

impl Clock {
    pub(super) const fn new(wall: Timestamp) -> Self {
        Self { now: wall, wall }
    }

    /// Looks at the wall clock.
    pub(super) fn see(&mut self, wall: Timestamp) -> Timestamp {
        let step = wall.since(self.wall).min(LONGEST_STEP);
        let back = self.wall.since(wall);
        if step > Span::ZERO || back > JITTER {
            self.now = self.now + step;
            self.wall = wall;
        }
        self.now
    }

    /// The latest time seen.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// What the wall clock will show, or showed, at `moment`.
    pub(super) fn on_the_wall(&self, moment: Timestamp) -> Timestamp {
        let ago = self.now.since(moment).as_millis();
        let then = self.wall.as_millis().saturating_sub(ago);
        Timestamp::from_millis(then) + moment.since(self.now)
    }
}

/// Two machines' clocks differ by this much. Steps back are waited out up to
/// here, so that a clock that trembles does not run fast.
const JITTER: Span = Span::from_secs(10);
/// A year. Nothing waits as long.
const LONGEST_STEP: Span = Span::from_secs(365 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trembling_clock_does_not_run_fast() {
        let mut clock = Clock::new(at(100_000));
        for _ in 0..50 {
            clock.see(at(99_000));
            clock.see(at(100_000));
        }
        assert_eq!(clock.now(), at(100_000));
    }

    #[test]
    fn an_hour_back_costs_no_time() {
        let mut clock = Clock::new(at(10_000_000));
        clock.see(at(6_400_000));
        assert_eq!(clock.see(at(6_401_000)), at(10_001_000));
        assert_eq!(clock.on_the_wall(at(10_002_000)), at(6_402_000));
        assert_eq!(clock.on_the_wall(at(10_000_000)), at(6_400_000));
    }

    #[test]
    fn a_clock_gone_mad_can_be_set_right() {
        let mut clock = Clock::new(at(5));
        clock.see(at(u64::MAX));
        clock.see(at(1_000));
        let mad = clock.now();
        assert_eq!(clock.see(at(2_000)), mad + Span::from_secs(1));
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }
}
