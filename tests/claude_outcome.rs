//! The table of `claude::outcome`, row by row.
#![allow(clippy::panic, reason = "test code")]

use claude_pipeline::{
    claude::{ApiError, CallFailure, MAX_RETRY_AFTER},
    domain::{AccountFault, JobError, Outcome, Timestamp},
};
use serde_json::json;

#[test]
fn every_status_has_its_outcome() {
    for row in TABLE.trim().lines() {
        let columns: Vec<_> = row.split('|').map(str::trim).collect();
        let [status, header, error, expected] = columns[..] else {
            panic!("four columns: {row}");
        };
        let (words, message) = error.split_once(": ").unwrap_or((error, "words"));
        let (kind, code) = words.split_once(' ').unwrap_or((words, ""));
        let failure = answered(status.parse().unwrap(), header, &claude(kind, code, message));
        let outcome = failure.outcome();
        assert_eq!(short(&outcome), expected, "{row}");
        assert_eq!(job_error(outcome), JobError::new(kind, message), "{row}");
    }
}

#[test]
fn a_status_without_an_error_of_claude_gets_a_kind_of_ours() {
    for (status, body, kind, expected) in [
        (304, "", "http_304", "transient"),
        (307, "", "http_307", "transient"),
        (400, "no", "invalid_request_error", "permanent"),
        (408, "", "http_408", "transient"),
        (418, "{}", "http_418", "transient"),
        (422, "", "http_422", "permanent"),
        (425, "", "http_425", "transient"),
        (429, "", "rate_limit_error", "throttled"),
        (502, "<html>502</html>", "api_error", "transient"),
        (529, "", "overloaded_error", "transient"),
        (599, "", "api_error", "transient"),
    ] {
        let outcome = answered(status, "", body).outcome();
        assert_eq!(short(&outcome), expected, "{status}");
        assert_eq!(job_error(outcome).kind, kind, "{status}");
    }
}

#[test]
fn a_call_without_a_status_is_tried_again_unless_its_answer_is_too_large() {
    for (failure, kind, expected) in [
        (CallFailure::Timeout, "timeout", "transient"),
        (CallFailure::Connection("reset".into()), "connection_error", "transient"),
        (CallFailure::CutShort, "incomplete_answer", "transient"),
        (CallFailure::Unexpected("<p>".into()), "unexpected_answer", "transient"),
        (CallFailure::TooLarge, "answer_too_large", "permanent"),
    ] {
        let outcome = failure.outcome();
        assert_eq!(short(&outcome), expected);
        assert_eq!(job_error(outcome).kind, kind);
    }
}

#[test]
fn an_error_inside_an_answer_counts_as_its_status() {
    for (kind, expected) in [
        ("invalid_request_error", "permanent"),
        ("authentication_error", "credentials"),
        ("billing_error", "spend limit"),
        ("permission_error", "credentials"),
        ("not_found_error", "permanent"),
        ("conflict_error", "transient"),
        ("request_too_large", "permanent"),
        ("rate_limit_error", "throttled"),
        ("api_error", "transient"),
        ("timeout_error", "transient"),
        ("overloaded_error", "transient"),
        ("of_next_year_error", "transient"),
    ] {
        let error = ApiError::read(claude(kind, "", "words").as_bytes());
        let outcome = CallFailure::InAnswer(error).outcome();
        assert_eq!(short(&outcome), expected, "{kind}");
        assert_eq!(job_error(outcome).kind, kind);
    }
}

/// C27: a day, a year, more than 64 bits.
#[test]
fn an_absurd_wait_is_capped() {
    for wait in ["86401", "31536000", "99999999999999999999"] {
        let header = format!("retry-after: {wait}");
        let outcome = answered(429, &header, "").outcome();
        let longest = MAX_RETRY_AFTER.as_millis();
        assert_eq!(short(&outcome), format!("throttled after {longest} ms"));
    }
}

#[test]
fn an_error_keeps_the_words_of_claude_and_nothing_secret() {
    let message = |status, body: &str| job_error(answered(status, "", body).outcome()).message;
    let locked = claude("invalid_request_error", "", "mock: the document is locked");
    assert_eq!(message(400, &locked), "mock: the document is locked");
    let html = message(502, "<html>\n<h1>Bad gateway</h1>\u{1}");
    assert_eq!(html, "<html> <h1>Bad gateway</h1> ");
    assert_eq!(message(503, ""), "status 503, without a message");
    assert!(message(500, &"x".repeat(1 << 20)).len() <= JobError::MAX_MESSAGE);
    let leak = CallFailure::Connection("key sk-ant-api03-a_B9 refused, sk-ant-x".into());
    assert_eq!(job_error(leak.outcome()).message, "key [key] refused, [key]");
}

/// `status | header | error, as type [code] [: message] | outcome`
const TABLE: &str = "
400 | | invalid_request_error                                                  | permanent
400 | | invalid_request_error: You have reached your specified API usage limits. | spend limit
400 | | invalid_request_error: Could not process PDF                           | transient
400 | | invalid_request_error organization_on_hold                             | spend limit
400 | x-should-retry: true  | invalid_request_error                            | transient
400 | x-should-retry: false | invalid_request_error                            | permanent
401 | | authentication_error                                                   | credentials
401 | x-should-retry: true  | authentication_error                             | credentials
402 | | billing_error                                                          | spend limit
402 | | billing_error linked_organization_suspended                            | spend limit
403 | | permission_error                                                       | credentials
404 | | not_found_error                                                        | permanent
409 | | conflict_error                                                         | transient
413 | | request_too_large                                                      | permanent
429 | | rate_limit_error                                                       | throttled
429 | retry-after: 12       | rate_limit_error                                 | throttled after 12000 ms
429 | retry-after: 3        | rate_limit_error ramp_limit_exceeded             | throttled after 3000 ms
429 | x-should-retry: true  | rate_limit_error                                 | throttled
429 | x-should-retry: false | rate_limit_error                                 | transient
429 | | rate_limit_error enforced_spend_limit_reached                          | spend limit
429 | retry-after: 9        | rate_limit_error contract_spend_limit_reached    | spend limit
500 | | api_error                                                              | transient
500 | x-should-retry: false | api_error                                        | transient
503 | | api_error cmek_key_unreachable                                         | transient
504 | | timeout_error                                                          | transient
529 | | overloaded_error                                                       | transient
529 | retry-after: 2        | overloaded_error                                 | transient after 2000 ms
";

fn answered(status: u16, header: &str, body: &str) -> CallFailure {
    let (name, value) = header.split_once(": ").unwrap_or_default();
    let lookup = |wanted: &str| (wanted == name).then(|| value.to_owned());
    CallFailure::of_status(status, lookup, body.as_bytes(), Timestamp::default())
}

fn claude(kind: &str, code: &str, message: &str) -> String {
    json!({
        "type": "error",
        "error": {"type": kind, "message": message, "details": {"error_code": code}},
        "request_id": "r",
    })
    .to_string()
}

fn short(outcome: &Outcome) -> String {
    let (word, wait) = match outcome {
        Outcome::Permanent { .. } => ("permanent", &None),
        Outcome::Transient { retry_after, .. } => ("transient", retry_after),
        Outcome::Throttled { retry_after, .. } => ("throttled", retry_after),
        Outcome::Account { fault: AccountFault::Credentials, .. } => ("credentials", &None),
        Outcome::Account { fault: AccountFault::SpendLimit, .. } => ("spend limit", &None),
        Outcome::Completed { .. } | Outcome::NotStarted | Outcome::Lost | Outcome::AlreadyEnded => {
            panic!("not an outcome of a failed call: {outcome:?}")
        }
    };
    match wait {
        Some(wait) => format!("{word} after {} ms", wait.as_millis()),
        None => word.to_owned(),
    }
}

fn job_error(outcome: Outcome) -> JobError {
    match outcome {
        Outcome::Permanent { error }
        | Outcome::Transient { error, .. }
        | Outcome::Throttled { error, .. }
        | Outcome::Account { error, .. } => error,
        Outcome::Completed { .. } | Outcome::NotStarted | Outcome::Lost | Outcome::AlreadyEnded => {
            panic!("not an outcome of a failed call: {outcome:?}")
        }
    }
}
