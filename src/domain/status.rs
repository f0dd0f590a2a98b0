//! The life of a job, as its owner sees it.
//!
//! ```text
//! pending ──claim──▶ running ──complete──▶ completed
//!    ▲ │                │ │ └─────fail──▶ failed
//!    └─┼────retry───────┘ └──dead_letter──▶ dead-lettered
//!      ├──fail──▶ failed          (refused before any call)
//!      ├──dead_letter──▶ dead-lettered    (attempts lost, none left)
//!      └──cancel──▶ canceled ◀──cancel── running
//! ```
//! A running job may be claimed again: its lease expired and the next attempt
//! began. A late answer of an expired attempt may complete a pending job.
use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

/// Where a job stands.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobStatus {
    /// Accepted; waits for its turn or its next attempt.
    Pending,
    /// An attempt is under way.
    Running,
    /// The result is stored.
    Completed,
    /// Ended by an error that no retry can help.
    Failed,
    /// Ended because its attempts are used up.
    DeadLettered,
    /// Ended by its owner.
    Canceled,
}

/// What can happen to a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JobEvent {
    /// A consumer begins an attempt.
    Claim,
    /// The attempt is to be repeated later.
    Retry,
    /// The result is stored.
    Complete,
    /// A permanent error.
    Fail,
    /// No attempts left.
    DeadLetter,
    /// The owner's wish.
    Cancel,
}

impl JobStatus {
    /// All statuses, in the order of a job's life.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::DeadLettered,
        Self::Canceled,
    ];

    /// The word used in SQL, JSON and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::DeadLettered => "dead-lettered",
            Self::Canceled => "canceled",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing can happen to the job any more.
    #[must_use]
    pub const fn ended(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed | Self::DeadLettered | Self::Canceled => true,
        }
    }

    /// The status after `event`.
    ///
    /// # Errors
    ///
    /// [`IllegalTransition`] if `event` cannot happen to such a job.
    pub fn on(self, event: JobEvent) -> Result<Self, IllegalTransition> {
        Ok(match (self, event) {
            (Self::Pending | Self::Running, JobEvent::Claim) => Self::Running,
            (Self::Running, JobEvent::Retry) => Self::Pending,
            (Self::Pending | Self::Running, JobEvent::Complete) => Self::Completed,
            (Self::Pending | Self::Running, JobEvent::Fail) => Self::Failed,
            (Self::Pending | Self::Running, JobEvent::DeadLetter) => Self::DeadLettered,
            (Self::Pending | Self::Running, JobEvent::Cancel) => Self::Canceled,
            (from, event) => return Err(IllegalTransition { from, event }),
        })
    }
}

/// An event that cannot happen to a job of this status.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a job that is {from:?} cannot take {event:?}")]
pub struct IllegalTransition {
    /// The job's status.
    pub from: JobStatus,
    /// What was to happen.
    pub event: JobEvent,
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [JobEvent; 6] = [
        JobEvent::Claim,
        JobEvent::Retry,
        JobEvent::Complete,
        JobEvent::Fail,
        JobEvent::DeadLetter,
        JobEvent::Cancel,
    ];

    #[test]
    fn an_ended_job_never_changes() {
        for status in JobStatus::ALL.into_iter().filter(|status| status.ended()) {
            for event in EVENTS {
                assert!(status.on(event).is_err(), "{status:?} {event:?}");
            }
        }
    }

    #[test]
    fn only_the_drawn_arrows_are_legal() {
        let legal = JobStatus::ALL
            .iter()
            .flat_map(|status| EVENTS.iter().map(|event| status.on(*event)))
            .flatten()
            .count();
        assert_eq!(legal, 11);
    }

    #[test]
    fn words_read_back() {
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::from_word(status.as_str()), Some(status));
            assert_eq!(serde_json::to_string(&status).unwrap(), format!("{:?}", status.as_str()));
        }
    }
}
