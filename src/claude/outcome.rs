//! The one table: what every failed call means for the job.
//!
//! First the details that outrank a status, then the status. An error inside
//! an answer counts as the status its type would have had.
//!
//! | what | outcome |
//! |---|---|
//! | `enforced_spend_limit_reached`, `contract_spend_limit_reached`, `organization_on_hold`; 400 "You have reached your specified API usage limits" | account: the job waits |
//! | 400 "Could not process PDF" (the same file often works later) | transient |
//! | 400, 404, 413, 422 | permanent; transient if `x-should-retry: true` |
//! | 401, 403 | account: credentials |
//! | 402 | account: the job waits |
//! | 429 | throttled; transient if `x-should-retry: false` |
//! | any other status: 408, 409, 425, 5xx, 529, redirects … | transient |
//! | time limit, broken connection, answer cut short or unreadable | transient |
//! | an answer larger than we keep | permanent |
//!
//! `x-should-retry` moves a verdict one step only. `true` makes a permanent
//! error transient, as in the official SDKs; attempts are bounded. `false` on a
//! 429 makes the wait use up attempts, so that a limit that never lifts ends in
//! the dead-letter queue; on 5xx it is ignored (mission A6).
use super::{ApiError, CallFailure, retry_after::Advice};
use crate::domain::{AccountFault, JobError, Outcome};

impl CallFailure {
    /// What this means for the job.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Status { status, error, advice } => of_status(status, error, advice, false),
            Self::InAnswer(error) => {
                let status = error.kind.as_deref().map_or(UNKNOWN, status_of);
                of_status(status, error, Advice::default(), true)
            }
            Self::Timeout => transient("timeout", "Claude did not answer in time"),
            Self::Connection(reason) => transient("connection_error", &reason),
            Self::CutShort => transient("incomplete_answer", "the answer ended before its end"),
            Self::Unexpected(body) => transient(UNEXPECTED, &format!("not an answer: {body}")),
            Self::TooLarge => Outcome::Permanent {
                error: job_error("answer_too_large", "the answer is larger than we keep"),
            },
        }
    }
}

#[derive(Clone, Copy)]
enum Class {
    Permanent,
    Transient,
    Throttled,
    Account(AccountFault),
}

fn of_status(status: u16, error: ApiError, advice: Advice, begun: bool) -> Outcome {
    let class = class(status, &error, advice.should_retry);
    let error = described(status, error);
    let retry_after = advice.retry_after;
    match class {
        Class::Permanent => Outcome::Permanent { error },
        Class::Transient => Outcome::Transient { error, retry_after, begun },
        Class::Throttled => Outcome::Throttled { error, retry_after },
        Class::Account(fault) => Outcome::Account { fault, error },
    }
}

fn class(status: u16, error: &ApiError, should_retry: Option<bool>) -> Class {
    let code = error.code.as_deref();
    if code.is_some_and(|code| WAITING_ACCOUNT_CODES.contains(&code)) {
        return Class::Account(AccountFault::SpendLimit);
    }
    let special =
        |(of, text, _): &&(u16, &str, Class)| *of == status && error.message.contains(text);
    if let Some((_, _, class)) = BY_TEXT.iter().find(special) {
        return *class;
    }
    match (status, should_retry) {
        (400 | 404 | 413 | 422, Some(false) | None) => Class::Permanent,
        (401 | 403, _) => Class::Account(AccountFault::Credentials),
        (402, _) => Class::Account(AccountFault::SpendLimit),
        (429, Some(true) | None) => Class::Throttled,
        (_, _) => Class::Transient,
    }
}

/// The account may not spend for now, whatever the status says.
const WAITING_ACCOUNT_CODES: [&str; 3] =
    ["enforced_spend_limit_reached", "contract_spend_limit_reached", "organization_on_hold"];

/// Statuses whose text tells more than their type.
const BY_TEXT: [(u16, &str, Class); 2] = [
    (
        400,
        "You have reached your specified API usage limits",
        Class::Account(AccountFault::SpendLimit),
    ),
    (400, "Could not process PDF", Class::Transient),
];

/// Claude's error types and their statuses.
const TYPES: [(&str, u16); 11] = [
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("conflict_error", 409),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

/// The status of an error type that is not in the table, or not given.
const UNKNOWN: u16 = 200;

fn status_of(kind: &str) -> u16 {
    let found = TYPES.iter().find(|(name, _)| *name == kind);
    found.map_or(UNKNOWN, |(_, status)| *status)
}

/// The error in Claude's words; in ours, where a gateway found none.
fn described(status: u16, error: ApiError) -> JobError {
    let typed = TYPES.iter().find(|(_, of)| *of == status);
    let kind = match (error.kind, typed, status) {
        (Some(kind), _, _) => kind,
        (None, Some((kind, _)), _) => (*kind).to_owned(),
        (None, None, UNKNOWN) => UNEXPECTED.to_owned(),
        (None, None, 500..) => "api_error".to_owned(),
        (None, None, _) => format!("http_{status}"),
    };
    let message = match error.message {
        empty if empty.is_empty() => format!("status {status}, without a message"),
        message => message,
    };
    job_error(&kind, &message)
}

const UNEXPECTED: &str = "unexpected_answer";

fn transient(kind: &str, message: &str) -> Outcome {
    Outcome::Transient { error: job_error(kind, message), retry_after: None, begun: true }
}

/// Errors are shown to tenants: no control characters, and nothing that looks
/// like an API key, should a gateway ever echo one.
fn job_error(kind: &str, message: &str) -> JobError {
    let mut parts = message.split(KEY_BEGINS);
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        safe += "[key]";
        safe +=
            part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    }
    JobError::new(kind, safe.replace(char::is_control, " "))
}

const KEY_BEGINS: &str = "sk-ant-";
