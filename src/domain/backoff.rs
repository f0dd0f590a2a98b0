//! How long a job waits after a failed attempt.
use super::{Entropy, Priority, Span};

/// Doubling delays between a base and a cap, with equal jitter: a delay falls
/// in the upper half of its step, so that retries spread out and none comes
/// back at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Backoff {
    base: Span,
    cap: Span,
}

impl Backoff {
    /// The backoff of a priority: base 1 s critical, 5 s standard, 60 s batch,
    /// cap 600 s (mission A6 gives batch's figures).
    #[must_use]
    pub const fn of(priority: Priority) -> Self {
        let base = match priority {
            Priority::Critical => Span::from_secs(1),
            Priority::Standard => Span::from_secs(5),
            Priority::Batch => Span::from_secs(60),
        };
        Self { base, cap: CAP }
    }

    /// The same shape with another base, still capped.
    #[must_use]
    pub fn with_base(self, base: Span) -> Self {
        Self { base, ..self }
    }

    /// The delay after failed attempt `attempt` (from 1): half to all of
    /// `base × 2^(attempt − 1)`, at most the cap.
    #[must_use]
    pub fn delay(self, attempt: u32, entropy: Entropy) -> Span {
        let doublings = attempt.saturating_sub(1).min(32);
        let step = self.base.scaled(1 << doublings, 1).min(self.cap);
        entropy.between(step.scaled(1, 2), step)
    }
}

const CAP: Span = Span::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_doubles_the_step_until_the_cap() {
        let backoff = Backoff::of(Priority::Batch);
        let longest = |attempt| backoff.delay(attempt, Entropy(u64::MAX));
        assert_eq!(longest(1), Span::from_secs(60));
        assert_eq!(longest(2), Span::from_secs(120));
        assert_eq!(longest(5), Span::from_secs(600));
        assert_eq!(longest(u32::MAX), Span::from_secs(600));
    }

    #[test]
    fn jitter_takes_away_at_most_half() {
        let backoff = Backoff::of(Priority::Standard);
        assert_eq!(backoff.delay(1, Entropy(0)), Span::from_millis(2_500));
        assert_eq!(backoff.delay(0, Entropy(0)), Span::from_millis(2_500));
    }
}
