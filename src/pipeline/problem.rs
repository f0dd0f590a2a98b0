//! What a caller is told when the answer is no: `application/problem+json`
//! (RFC 9457). The one place where refusals and errors become HTTP.
use super::limit::LimitMet;
use super::ports::PortError;
use crate::domain::{Entropy, JobStatus, Span};
use crate::scheduler::Quota;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A refusal or an error (RFC 9457).
#[derive(Clone, Debug, Eq, PartialEq, Serialize, ToSchema)]
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
    /// The limit that was met, where that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<LimitMet>>,
    /// When to come back; sent as `Retry-After` too, in whole seconds.
    #[serde(
        rename = "retryAfterSeconds",
        serialize_with = "in_seconds",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u64>)]
    pub retry_after: Option<Span>,
    /// What is left of the tenant's rate; sent as `RateLimit`.
    #[serde(skip)]
    pub quota: Option<Quota>,
    /// The methods a path answers to; sent as `Allow`.
    #[serde(skip)]
    pub allowed: Option<String>,
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

    /// 401 for whoever is no operator.
    #[must_use]
    pub fn no_operator() -> Self {
        let detail = "send the operator's ADMIN_TOKEN as `Authorization: Bearer TOKEN`";
        Self::new("unauthorized", 401, "The operator's token is needed", detail)
    }

    /// 404: unknown and foreign ids answer alike.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new("not-found", 404, "Not found", "there is nothing here for this key")
    }

    /// 405: the path exists, the method does not.
    #[must_use]
    pub fn method_not_allowed(allowed: String) -> Self {
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

    /// 403: the tenant's keys are refused for now.
    #[must_use]
    pub fn suspended() -> Self {
        let detail = "the operator has suspended this tenant; what was accepted before still runs";
        Self::new("suspended", 403, "The tenant is suspended", detail)
    }

    /// 409: it has ended, or not ended yet, or is there already.
    #[must_use]
    pub fn conflict(
        kind: &'static str,
        title: &'static str,
        status: Option<JobStatus>,
        detail: impl Into<String>,
    ) -> Self {
        Self { job_status: status, ..Self::new(kind, 409, title, detail) }
    }

    /// 410: the content was removed.
    #[must_use]
    pub fn purged() -> Self {
        let detail = "its owner had the job's input and result removed";
        Self::new("purged", 410, "The content was removed", detail)
    }

    /// 422: an `Idempotency-Key` that stands for another request.
    #[must_use]
    pub fn key_reused() -> Self {
        let detail = "this Idempotency-Key came with another request within the last 24 hours; \
                      a new request needs a new key";
        let title = "The idempotency key is taken";
        let field = Some("idempotency-key".to_owned());
        Self { field, ..Self::new("idempotency-key-reused", 422, title, detail) }
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

    /// With its wait drawn out, so that callers who were turned away together
    /// by a store do not come back together. Limits have seen to that already.
    #[must_use]
    pub fn spread(self, chance: Entropy) -> Self {
        let drawn = |wait: Span| chance.between(wait, wait.scaled(2, 1));
        let retry_after = match self.retry_after {
            Some(wait) if self.status == 503 => Some(drawn(wait)),
            other => other,
        };
        Self { retry_after, ..self }
    }

    /// The body.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"status":500}"#.to_owned())
    }

    pub(super) fn new(
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
            limit: None,
            retry_after: None,
            quota: None,
            allowed: None,
        }
    }
}

#[allow(clippy::ref_option, reason = "the shape serde asks for")]
fn in_seconds<S: Serializer>(span: &Option<Span>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_u64(span.map_or(0, Span::as_secs_rounded_up))
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
