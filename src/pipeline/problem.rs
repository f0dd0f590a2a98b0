//! What a caller is told when the answer is no: `application/problem+json`
//! (RFC 9457). The one place where refusals and errors become HTTP.
use super::ports::PortError;
use crate::domain::{JobStatus, Span};
use serde::Serialize;

/// A refusal or an error, ready to be sent.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A stable word for the kind of problem.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The kind in words.
    pub title: &'static str,
    /// What is wrong, where, and what is allowed.
    pub detail: String,
    /// The field or file at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The state of the job, where that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_status: Option<JobStatus>,
    /// When to come back; sent as `Retry-After`.
    #[serde(skip)]
    pub retry_after: Option<Span>,
    /// The methods a path answers to; sent as `Allow`.
    #[serde(skip)]
    pub allowed: Option<&'static str>,
}

impl Problem {
    /// 400: the request itself is wrong.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new("invalid-request", 400, "The request is not valid", detail)
    }

    /// 400 that names the field (or file) at fault.
    #[must_use]
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::invalid(detail) }
    }

    /// 413: too much.
    #[must_use]
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new("too-large", 413, "The request is too large", detail)
    }

    /// 415: a body of another kind.
    #[must_use]
    pub fn unsupported_type(detail: impl Into<String>) -> Self {
        Self::new("unsupported-type", 415, "The body has an unsupported type", detail)
    }

    /// 401: no key, or not one of ours. Which of the two is not told.
    #[must_use]
    pub fn unauthorized() -> Self {
        let detail = "send a valid key as `Authorization: Bearer KEY` or `x-api-key: KEY`";
        Self::new("unauthorized", 401, "A valid API key is needed", detail)
    }

    /// 404: unknown and foreign ids answer alike.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new("not-found", 404, "Not found", "there is nothing here for this key")
    }

    /// 405: the path exists, the method does not.
    #[must_use]
    pub fn method_not_allowed(allowed: &'static str) -> Self {
        let detail = format!("this path answers to {allowed}");
        let problem = Self::new("method-not-allowed", 405, "Method not allowed", detail);
        Self { allowed: Some(allowed), ..problem }
    }

    /// 409: the job has no result (yet).
    #[must_use]
    pub fn no_result(status: JobStatus, detail: impl Into<String>) -> Self {
        Self {
            job_status: Some(status),
            ..Self::new("no-result", 409, "The job has no result", detail)
        }
    }

    /// 503: a store is away. Nothing was kept.
    #[must_use]
    pub fn unavailable() -> Self {
        let detail = "a store did not answer; nothing was accepted, try again";
        Self {
            retry_after: Some(Span::from_secs(5)),
            ..Self::new("unavailable", 503, "Temporarily unavailable", detail)
        }
    }

    /// 500: our own fault.
    #[must_use]
    pub fn internal() -> Self {
        let detail = "the fault is ours; the request id helps to find it";
        Self::new("internal", 500, "Internal error", detail)
    }

    /// 500: a variable has a value that cannot be used. Which, the operator
    /// reads in the log.
    #[must_use]
    pub fn misconfigured() -> Self {
        let detail = "a variable of the Worker cannot be used; its log names it";
        Self::new("misconfigured", 500, "The Worker is misconfigured", detail)
    }

    /// The body.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"status":500}"#.to_owned())
    }

    fn new(
        kind: &'static str,
        status: u16,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let detail = detail.into();
        Self {
            kind,
            status,
            title,
            detail,
            field: None,
            job_status: None,
            retry_after: None,
            allowed: None,
        }
    }
}

impl From<PortError> for Problem {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Unavailable(_) => Self::unavailable(),
            PortError::Refused(_) => Self::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_its_shape() {
        let problem = Problem::field("maxTokens", "must be at least 1");
        assert_eq!(
            problem.to_json(),
            r#"{"type":"invalid-request","status":400,"title":"The request is not valid","detail":"must be at least 1","field":"maxTokens"}"#
        );
    }
}
