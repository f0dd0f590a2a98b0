//! A call that brought no answer.
use super::{api_error::ApiError, retry_after::Advice, sse::EventTooLarge};
use crate::domain::Timestamp;

/// Every way a call can end without an answer. [`outcome`](Self::outcome)
/// says what it means for the job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallFailure {
    /// A status other than success.
    Status {
        /// The HTTP status.
        status: u16,
        /// What the body said.
        error: ApiError,
        /// What the headers advised.
        advice: Advice,
    },
    /// An error inside an answer of status 200: an `error` event, or a body
    /// that is an error object.
    InAnswer(ApiError),
    /// Our own time limit passed.
    Timeout,
    /// The connection could not be made, or broke.
    Connection(String),
    /// The answer ended before its end: no `message_stop`, or half a JSON text.
    CutShort,
    /// Status 200, but nothing the Messages API would say.
    Unexpected(String),
    /// More than any answer, or any event of one, can be.
    TooLarge,
}

impl CallFailure {
    /// Reads an answer whose status is not success.
    pub fn of_status(
        status: u16,
        header: impl Fn(&str) -> Option<String>,
        body: &[u8],
        now: Timestamp,
    ) -> Self {
        Self::Status { status, error: ApiError::read(body), advice: Advice::read(header, now) }
    }
}

impl From<EventTooLarge> for CallFailure {
    fn from(_: EventTooLarge) -> Self {
        Self::TooLarge
    }
}
