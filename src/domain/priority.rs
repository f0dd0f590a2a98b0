//! How urgent a job is, and which of Cloudflare's queues carries it.
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// Decided by the service, never by the caller. The most urgent comes first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A person is waiting.
    Critical,
    /// Due within a day.
    Standard,
    /// No hurry.
    Batch,
}

impl Priority {
    /// All priorities, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Standard, Self::Batch];

    /// The word used in SQL, JSON and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Standard => "standard",
            Self::Batch => "batch",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.as_str() == word)
    }

    /// The queue that hands such a job to a consumer.
    #[must_use]
    pub const fn queue(self) -> Queue {
        match self {
            Self::Critical | Self::Standard => Queue::High,
            Self::Batch => Queue::Bulk,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One of Cloudflare's queues. It carries only what may run now.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Queue {
    /// `claude-jobs-high`: critical and standard.
    High,
    /// `claude-jobs-bulk`: batch.
    Bulk,
    /// `claude-jobs-dlq`: jobs whose attempts are used up.
    Dlq,
}

impl Queue {
    /// The queue's name on Cloudflare.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "claude-jobs-high",
            Self::Bulk => "claude-jobs-bulk",
            Self::Dlq => "claude-jobs-dlq",
        }
    }
}

/// What a tenant pays for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// Weight 1.
    #[default]
    Free,
    /// Weight 3 (mission B5).
    Pro,
}

impl Plan {
    /// The word used in SQL and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Free, Self::Pro].into_iter().find(|plan| plan.as_str() == word)
    }
}
