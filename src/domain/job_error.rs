//! Why a job failed, in the words its owner reads.
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `{type, message}`, as stored with the job and shown to its owner. The type
/// is Claude's (`overloaded_error`, `rate_limit_error` …) or one of ours.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
pub struct JobError {
    /// A stable word.
    #[serde(rename = "type")]
    pub kind: String,
    /// One sentence, at most [`JobError::MAX_MESSAGE`] bytes.
    pub message: String,
}

impl JobError {
    /// Longer messages are cut: a gateway's HTML page is no use in a row.
    pub const MAX_MESSAGE: usize = 1_000;

    /// An error of this type, its message cut at a character boundary.
    #[must_use]
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > Self::MAX_MESSAGE {
            let end = (0..=Self::MAX_MESSAGE).rev().find(|&at| message.is_char_boundary(at));
            message.truncate(end.unwrap_or(0));
        }
        Self { kind: kind.into(), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let error = JobError::new("api_error", "漢".repeat(1_000));
        assert_eq!(error.message.chars().count(), 333);
    }
}
