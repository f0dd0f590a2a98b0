//! How one attempt ended, and what becomes of the job.
use super::{JobError, Span, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The outcome of one attempt. Only [`Outcome::Transient`] and
/// [`Outcome::Lost`] use the attempt up and leave the job unfinished.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Claude answered and the result is stored.
    Completed {
        /// What the call really used.
        usage: Usage,
    },
    /// Trying again cannot help.
    Permanent {
        /// Claude's reason.
        error: JobError,
    },
    /// Trying again may help.
    Transient {
        /// What went wrong.
        error: JobError,
        /// The upstream's wish, if it named one (a 529 or 503 may).
        retry_after: Option<Span>,
        /// Whether the upstream may have begun to work, and so to count
        /// tokens. An error in place of an answer says that it has not.
        begun: bool,
    },
    /// The upstream's rate limit. Waiting it out uses up no attempt.
    Throttled {
        /// Claude's words.
        error: JobError,
        /// `Retry-After`, if sent.
        retry_after: Option<Span>,
    },
    /// The account, not the job, is at fault: dispatch pauses.
    Account {
        /// Which fault.
        fault: AccountFault,
        /// Claude's words.
        error: JobError,
    },
    /// The lease ended before Claude was called: no attempt was made.
    NotStarted,
    /// The lease ended while the attempt ran, and nobody knows how.
    Lost,
    /// The job had already ended when the attempt was about to begin.
    AlreadyEnded,
}

/// What is wrong with the account that pays.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountFault {
    /// 401 or 403: the key is not accepted. The job that met it fails
    /// (mission A6).
    Credentials,
    /// 402 or a spend limit: the job waits, and is tried again after the pause.
    SpendLimit,
}

/// What becomes of the job after an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing more to do.
    Ended,
    /// Try again after this long; `attempt_used` says whether it counted.
    Retry {
        /// How long to wait at least.
        after: Span,
        /// Whether the attempt is used up.
        attempt_used: bool,
    },
    /// The attempts are used up.
    DeadLetter,
}
