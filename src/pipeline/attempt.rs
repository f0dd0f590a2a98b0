//! One attempt at one job: input, call, answer, result.
use super::claiming::SHORTEST_CALL;
use super::input::{Input, Source};
use super::messages::Handover;
use super::ports::{Ambient, Call, CallBody, Claude, Objects, PortError};
use super::result::{self, Stored};
use super::retry::patiently;
use super::settings::Settings;
use super::store::{Claimed, Ending};
use crate::claude::{
    Answer, AnswerReader, CallFailure, Instructions, MAX_ERROR_BODY, read_rate_limits,
};
use crate::domain::{AccountFault, JobError, JobStatus, Outcome, RateLimits, from_json};
use crate::scheduler::Settlement;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// How an attempt ended: for the row, and for the scheduler.
pub struct Finished {
    /// The row's new state; `None` if the row has its last.
    pub ending: Option<Ending>,
    /// The scheduler's news.
    pub settlement: Settlement,
}

/// Makes the attempt. Never fails: whatever goes wrong is an outcome.
pub async fn attempt<P>(
    ports: &P,
    settings: &Settings,
    handover: Handover,
    job: Claimed,
) -> Finished
where
    P: Objects + Claude + Ambient,
{
    if handover.lease > 1
        && let Ok(Some(stored)) = result::find(ports, handover.job_id).await
    {
        return completed(handover, stored, None);
    }
    if handover.until.since(ports.now()) <= SHORTEST_CALL {
        return unfinished(handover, Outcome::NotStarted, None);
    }
    let call = match prepare(ports, settings, handover, job) {
        Ok(call) => call,
        Err(error) => return unfinished(handover, Outcome::Permanent { error }, None),
    };
    let (answered, limits) = ask(ports, call).await;
    match answered {
        Ok(answer) => keep(ports, handover, answer, limits).await,
        Err(failure) => unfinished(handover, failure.outcome(), limits),
    }
}

/// How an attempt that stopped without telling is written down: its call may
/// have begun.
#[must_use]
pub fn lost(handover: Handover, error: JobError) -> Finished {
    let outcome = Outcome::Transient { error, retry_after: None, begun: true };
    unfinished(handover, outcome, None)
}

/// A result that is stored completes its job, whoever stored it.
#[must_use]
pub fn completed(handover: Handover, stored: Stored, limits: Option<RateLimits>) -> Finished {
    let outcome = Outcome::Completed { usage: stored.usage };
    let ending = Ending {
        status: JobStatus::Completed,
        input_tokens: Some(stored.usage.input.get()),
        output_tokens: Some(stored.usage.output.get()),
        stop_reason: stored.stop_reason,
        ..blank(handover)
    };
    Finished { ending: Some(ending), settlement: settlement(handover, outcome, limits) }
}

/// The job had ended before the attempt began.
#[must_use]
pub fn already_ended(handover: Handover) -> Finished {
    Finished { ending: None, settlement: settlement(handover, Outcome::AlreadyEnded, None) }
}

fn prepare<P: Ambient>(
    ports: &P,
    settings: &Settings,
    handover: Handover,
    job: Claimed,
) -> Result<Call, JobError> {
    let input: Input = from_json(&job.input)
        .map_err(|error| JobError::new("input_unreadable", error.to_string()))?;
    let body = match input.source {
        Source::Inline { body } => CallBody::Whole(body.into_bytes()),
        Source::Object { key } => CallBody::Object { key },
        Source::Pdf { key, title, max_tokens } => {
            let prompt = &job.prompt.unwrap_or_default();
            let instructions = Instructions { model: &job.model, max_tokens, system: None, prompt };
            CallBody::Pdf { key, body: instructions.pdf_body(&title) }
        }
    };
    let left = handover.until.since(ports.now());
    let timeout = settings.timeout(job.priority).min(left);
    Ok(Call { body, version: input.version, beta: input.beta, timeout })
}

async fn ask<P: Claude + Ambient>(
    ports: &P,
    call: Call,
) -> (Result<Answer, CallFailure>, Option<RateLimits>) {
    let reply = match ports.call(call).await {
        Ok(reply) => reply,
        Err(failure) => return (Err(failure), None),
    };
    let header = |name: &str| reply.header(name);
    let limits = Some(read_rate_limits(header));
    if reply.status == 200 {
        return (read_answer(reply.body).await, limits);
    }
    let body = read_error(reply.body).await;
    let headers = reply.headers;
    let header = |name: &str| super::ports::header(&headers, name);
    (Err(CallFailure::of_status(reply.status, header, &body, ports.now())), limits)
}

async fn read_answer<B>(mut body: B) -> Result<Answer, CallFailure>
where
    B: Stream<Item = Result<Bytes, CallFailure>> + Unpin,
{
    let mut reader = AnswerReader::default();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(chunk) => reader.push(&chunk)?,
            // The answer is whole: a connection that breaks after it is no loss.
            Err(_) if reader.is_complete() => break,
            Err(failure) => return Err(failure),
        }
    }
    reader.finish()
}

/// The beginning of an error's body: enough to tell which error it is.
async fn read_error<B>(mut body: B) -> Vec<u8>
where
    B: Stream<Item = Result<Bytes, CallFailure>> + Unpin,
{
    let mut read = Vec::new();
    while let Some(Ok(chunk)) = body.next().await {
        read.extend_from_slice(&chunk);
        if read.len() >= MAX_ERROR_BODY {
            break;
        }
    }
    read
}

/// Stores the answer. It is paid for: the put is tried again before the
/// attempt is given up.
async fn keep<P: Objects + Ambient>(
    ports: &P,
    handover: Handover,
    answer: Answer,
    limits: Option<RateLimits>,
) -> Finished {
    match patiently(ports, async || result::keep(ports, handover.job_id, &answer).await).await {
        Ok(stored) => completed(handover, stored, limits),
        Err(PortError::Unavailable(detail) | PortError::Refused(detail)) => {
            let error = JobError::new("result_store_unavailable", detail);
            let outcome = Outcome::Transient { error, retry_after: None, begun: true };
            unfinished(handover, outcome, limits)
        }
    }
}

fn unfinished(handover: Handover, outcome: Outcome, limits: Option<RateLimits>) -> Finished {
    let (status, attempt_used) = standing(&outcome);
    let error = error_of(&outcome);
    let ending = Ending {
        status,
        attempts: (!attempt_used).then(|| handover.attempt.saturating_sub(1)),
        error_type: error.map(|error| error.kind.clone()),
        error_message: error.map(|error| error.message.clone()),
        ..blank(handover)
    };
    Finished { ending: Some(ending), settlement: settlement(handover, outcome, limits) }
}

/// The row's status after an outcome, and whether the attempt was used up.
fn standing(outcome: &Outcome) -> (JobStatus, bool) {
    match outcome {
        Outcome::Completed { .. } | Outcome::AlreadyEnded => (JobStatus::Completed, true),
        Outcome::Permanent { .. } | Outcome::Account { fault: AccountFault::Credentials, .. } => {
            (JobStatus::Failed, true)
        }
        Outcome::Transient { .. } | Outcome::Lost => (JobStatus::Pending, true),
        Outcome::Throttled { .. }
        | Outcome::Account { fault: AccountFault::SpendLimit, .. }
        | Outcome::NotStarted => (JobStatus::Pending, false),
    }
}

fn error_of(outcome: &Outcome) -> Option<&JobError> {
    match outcome {
        Outcome::Permanent { error }
        | Outcome::Transient { error, .. }
        | Outcome::Throttled { error, .. }
        | Outcome::Account { error, .. } => Some(error),
        Outcome::Completed { .. } | Outcome::NotStarted | Outcome::Lost | Outcome::AlreadyEnded => {
            None
        }
    }
}

fn blank(handover: Handover) -> Ending {
    Ending {
        job_id: handover.job_id,
        lease: handover.lease,
        status: JobStatus::Pending,
        attempts: None,
        input_tokens: None,
        output_tokens: None,
        stop_reason: None,
        error_type: None,
        error_message: None,
    }
}

fn settlement(handover: Handover, outcome: Outcome, limits: Option<RateLimits>) -> Settlement {
    Settlement { job: handover.job_id, lease: handover.lease, outcome, limits }
}
