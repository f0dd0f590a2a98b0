//! Answers to callers: every one has a request id, JSON never looks like a page.
use crate::domain::Entropy;
use crate::pipeline::answer::{Answer, Answered, rate_limit};
use crate::pipeline::problem::Problem;
use serde::Serialize;
use worker::{Headers, Response, ResponseBuilder, Result};

/// JSON with a status.
pub(super) fn json<B: Serialize>(status: u16, body: &B) -> Result<Response> {
    text(status, "application/json", serde_json::to_string(body)?)
}

/// An answer of the pipeline, or its refusal.
pub(super) fn answered(answered: Answered, chance: Entropy) -> Result<Response> {
    match answered {
        Ok(Answer { status, body, headers }) => {
            let response = text(status, "application/json", body)?;
            for (name, value) in headers {
                response.headers().set(name, &value)?;
            }
            Ok(response)
        }
        Err(refused) => problem(&refused.spread(chance)),
    }
}

/// A refusal.
pub(super) fn problem(problem: &Problem) -> Result<Response> {
    let response = text(problem.status, "application/problem+json", problem.to_json())?;
    if let Some(after) = problem.retry_after {
        response.headers().set("retry-after", &after.as_secs_rounded_up().max(1).to_string())?;
    }
    if problem.status == 401 {
        response.headers().set("www-authenticate", "Bearer")?;
    }
    if let Some(allowed) = &problem.allowed {
        response.headers().set("allow", allowed)?;
    }
    if let Some(quota) = problem.quota {
        let [policy, left] = rate_limit(quota);
        response.headers().set("ratelimit-policy", &policy)?;
        response.headers().set("ratelimit", &left)?;
    }
    Ok(response)
}

/// Marks an answer with its request's id.
pub(super) fn sign(response: Response, request_id: &str) -> Response {
    let _ = response.headers().set("request-id", request_id);
    let _ = response.headers().set("x-content-type-options", "nosniff");
    let _ = response.headers().set("cache-control", "no-store");
    response
}

fn text(status: u16, content_type: &str, body: String) -> Result<Response> {
    let headers = Headers::new();
    headers.set("content-type", content_type)?;
    let builder = ResponseBuilder::new().with_status(status).with_headers(headers);
    Ok(builder.fixed(body.into_bytes()))
}
