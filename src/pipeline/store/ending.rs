//! Beginning and ending attempts. Every change is fenced by the lease's
//! number: a late or repeated message changes nothing.
use super::{list, statement};
use crate::domain::{BatchId, Entropy, JobId, JobStatus, Priority, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::{Deserialize, Serialize};

/// The wish to begin an attempt.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Which job.
    pub job_id: JobId,
    /// The lease's number.
    pub lease: u32,
    /// The attempt's number, from 1.
    pub attempt: u32,
}

/// A job whose attempt may begin.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claimed {
    /// Which job.
    pub job_id: JobId,
    /// Its urgency.
    pub priority: Priority,
    /// The model it asks for.
    pub model: String,
    /// How to make the request.
    pub input: String,
    /// The prompt its batch shares.
    pub prompt: Option<String>,
}

/// How an attempt ended, for the row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// Which job.
    pub job_id: JobId,
    /// The lease's number.
    pub lease: u32,
    /// `completed`, `failed`, or `pending` if there is to be another attempt.
    pub status: JobStatus,
    /// Attempts used; `None` leaves the row's number.
    pub attempts: Option<u32>,
    /// Real usage, all input included.
    pub input_tokens: Option<u64>,
    /// Real usage.
    pub output_tokens: Option<u64>,
    /// Claude's stop reason, known or not.
    pub stop_reason: Option<String>,
    /// Why it failed.
    pub error_type: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
}

/// A job that has just changed, with what its owner's webhook tells.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Which job.
    pub job_id: JobId,
    /// Its batch.
    pub batch_id: Option<BatchId>,
    /// Whose job it is.
    pub tenant_id: TenantId,
    /// A label inside the tenant.
    pub user_id: Option<String>,
    /// Its status now.
    pub status: JobStatus,
    /// Attempts used.
    pub attempts: u32,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Why it failed.
    pub error_type: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
}

/// Begins attempts; returns [`Claimed`] rows for those that may begin. The
/// `claimant`, a number drawn for these claims, makes it safe to repeat: who
/// claims again after a lost answer is told from who claims second.
#[must_use]
pub fn claim(claims: &[Claim], claimant: Entropy, now: Timestamp) -> Statement {
    let claimant = Value::Integer(claimant.0 >> 11);
    statement(CLAIM, [list(claims), Value::Integer(now.as_millis()), claimant])
}

/// Ends attempts; returns [`Ended`] rows for the jobs that changed. An answer
/// that comes late still completes a job that has no result yet (law 2).
#[must_use]
pub fn finish(endings: &[Ending], now: Timestamp) -> Statement {
    statement(FINISH, [list(endings), Value::Integer(now.as_millis())])
}

/// Marks jobs as dead-lettered; returns [`Ended`] rows for those that changed.
#[must_use]
pub fn dead_letter(jobs: &[JobId], now: Timestamp) -> Statement {
    statement(DEAD_LETTER, [list(jobs), Value::Integer(now.as_millis())])
}

const CLAIM: &str = "
UPDATE jobs
SET status = 'running', lease = c.lease, attempts = c.attempt, claimant = ?3,
    started_at = COALESCE(started_at, ?2)
FROM (SELECT value->>'jobId' AS id, value->>'lease' AS lease, value->>'attempt' AS attempt
      FROM json_each(?1)) AS c
WHERE job_id = c.id AND status IN ('pending', 'running')
  AND (jobs.lease < c.lease OR (jobs.lease = c.lease AND claimant = ?3))
RETURNING json_object('jobId', job_id, 'priority', priority, 'model', model, 'input', input,
  'prompt', (SELECT prompt FROM batches AS b WHERE b.batch_id = jobs.batch_id)) AS row";

const FINISH: &str = "
UPDATE jobs
SET status = e.status,
    completed_at = CASE e.status WHEN 'pending' THEN NULL ELSE ?2 END,
    attempts = COALESCE(e.attempts, jobs.attempts),
    input_tokens = e.input_tokens, output_tokens = e.output_tokens,
    stop_reason = e.stop_reason, error_type = e.error_type, error_message = e.error_message
FROM (SELECT value->>'jobId' AS id, value->>'lease' AS lease, value->>'status' AS status,
             value->>'attempts' AS attempts, value->>'inputTokens' AS input_tokens,
             value->>'outputTokens' AS output_tokens, value->>'stopReason' AS stop_reason,
             value->>'errorType' AS error_type, value->>'errorMessage' AS error_message
      FROM json_each(?1)) AS e
WHERE job_id = e.id AND jobs.status IN ('pending', 'running')
  AND (jobs.lease = e.lease OR e.status = 'completed')
RETURNING json_object('jobId', job_id, 'batchId', batch_id, 'tenantId', tenant_id,
  'userId', user_id, 'status', status, 'attempts', attempts, 'createdAt', created_at,
  'errorType', error_type, 'errorMessage', error_message) AS row";

const DEAD_LETTER: &str = "
UPDATE jobs
SET status = 'dead-lettered', completed_at = ?2,
    error_type = COALESCE(error_type, 'attempt_lost'),
    error_message = COALESCE(error_message,
      'every attempt stopped without telling how it ended')
WHERE job_id IN (SELECT value FROM json_each(?1)) AND status IN ('pending', 'running')
RETURNING json_object('jobId', job_id, 'batchId', batch_id, 'tenantId', tenant_id,
  'userId', user_id, 'status', status, 'attempts', attempts, 'createdAt', created_at,
  'errorType', error_type, 'errorMessage', error_message) AS row";
