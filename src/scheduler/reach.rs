//! Calls that no waiting can help.
use super::job::Lease;
use crate::domain::{BucketLevel, Outcome, RateLimits, Tokens};

/// Whether a call needs more than the upstream lets through in a minute: then
/// waiting cannot help it.
pub(super) fn out_of_reach(lease: &Lease, limits: Option<RateLimits>) -> bool {
    let need = lease.held.usage();
    let beyond = |need: Tokens, level: Option<BucketLevel>| {
        level.is_some_and(|level| level.limit > 0 && need.get() > level.limit)
    };
    limits.is_some_and(|it| beyond(need.input, it.input) || beyond(need.output, it.output))
}

/// A refusal that is the job's own trouble: it uses up attempts, and holds up
/// nobody else.
pub(super) fn own_trouble(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Throttled { error, .. } => {
            Outcome::Transient { error, retry_after: None, begun: false }
        }
        other @ (Outcome::Completed { .. }
        | Outcome::Permanent { .. }
        | Outcome::Transient { .. }
        | Outcome::Account { .. }
        | Outcome::NotStarted
        | Outcome::Lost
        | Outcome::AlreadyEnded) => other,
    }
}
