//! Where a job comes from. The caller says this; the service concludes the
//! priority (mission B2).
use super::{Priority, Span};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why the job was submitted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person acted and waits.
    UserAction,
    /// A timer acted.
    Scheduled,
    /// Part of a mass of work.
    BatchJob,
}

impl Origin {
    /// All origins.
    pub const ALL: [Self; 3] = [Self::UserAction, Self::Scheduled, Self::BatchJob];

    /// The word used in SQL and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserAction => "user_action",
            Self::Scheduled => "scheduled",
            Self::BatchJob => "batch_job",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }

    /// The priority of a job that may take until `deadline`: a user's action
    /// is critical; without a deadline, or with a day or more, it is batch;
    /// otherwise standard. `lowered` (a caller's `priority: "bulk"`) only ever
    /// lowers.
    #[must_use]
    pub fn priority(self, deadline: Option<Span>, lowered: bool) -> Priority {
        let patient = deadline.is_none_or(|deadline| deadline >= DAY);
        match self {
            _ if lowered => Priority::Batch,
            Self::UserAction => Priority::Critical,
            Self::Scheduled | Self::BatchJob if patient => Priority::Batch,
            Self::Scheduled | Self::BatchJob => Priority::Standard,
        }
    }
}

const DAY: Span = Span::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_concludes_the_priority() {
        let hour = Some(Span::from_secs(3_600));
        assert_eq!(Origin::UserAction.priority(None, false), Priority::Critical);
        assert_eq!(Origin::Scheduled.priority(hour, false), Priority::Standard);
        assert_eq!(Origin::BatchJob.priority(hour, false), Priority::Standard);
        assert_eq!(Origin::Scheduled.priority(None, false), Priority::Batch);
        assert_eq!(Origin::Scheduled.priority(Some(DAY), false), Priority::Batch);
    }

    #[test]
    fn a_caller_can_only_lower_it() {
        for origin in Origin::ALL {
            assert_eq!(origin.priority(Some(Span::ZERO), true), Priority::Batch);
        }
    }
}
