//! Reading jobs and batches for their owner. A foreign id reads as no row.
use super::{statement, text};
use crate::domain::{BatchId, JobId, JobStatus, Origin, Priority, TenantId, Timestamp};
use crate::pipeline::ports::Statement;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A job, as its owner may see it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRow {
    /// Its id.
    pub job_id: JobId,
    /// Its batch.
    pub batch_id: Option<BatchId>,
    /// Its place in the batch, from 0.
    pub batch_index: Option<u32>,
    /// The uploaded file's name.
    pub filename: Option<String>,
    /// A label inside the tenant.
    pub user_id: Option<String>,
    /// Where it stands.
    pub status: JobStatus,
    /// Its urgency.
    pub priority: Priority,
    /// Where it comes from.
    pub origin: Origin,
    /// The model it asks for.
    pub model: String,
    /// Attempts used.
    pub attempts: u32,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Real usage.
    pub input_tokens: Option<u64>,
    /// Real usage.
    pub output_tokens: Option<u64>,
    /// Claude's stop reason.
    pub stop_reason: Option<String>,
    /// The latest error.
    pub error_type: Option<String>,
    /// The latest error.
    pub error_message: Option<String>,
    /// The caller's own notes.
    pub metadata: Option<Box<RawValue>>,
    /// When its content was removed.
    pub purged_at: Option<Timestamp>,
}

/// A batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRow {
    /// Its id.
    pub batch_id: BatchId,
    /// How many jobs it has.
    pub total: u32,
    /// The template's name and version.
    pub template: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// How many of its jobs have each status, as a JSON object; in lists only.
    pub counts: Option<Box<RawValue>>,
    /// When its last job ended, if all have; in lists only.
    pub ended_at: Option<Timestamp>,
}

/// Reads a job of a tenant: one [`JobRow`], or none.
#[must_use]
pub fn find_job(tenant: &TenantId, job: JobId) -> Statement {
    statement(FIND_JOB, [text(&tenant), text(&job)])
}

/// Reads a batch of a tenant: one [`BatchRow`], or none.
#[must_use]
pub fn find_batch(tenant: &TenantId, batch: BatchId) -> Statement {
    statement(FIND_BATCH, [text(&tenant), text(&batch)])
}

/// Reads the jobs of a tenant's batch, in upload order: [`JobRow`]s.
#[must_use]
pub fn batch_jobs(tenant: &TenantId, batch: BatchId) -> Statement {
    statement(BATCH_JOBS, [text(&tenant), text(&batch)])
}

/// Reads [`JobRow`]s. Two objects put together: D1 takes 32 arguments a function.
macro_rules! select_jobs {
    ($rest:expr) => {
        concat!(
            "
SELECT rtrim(json_object('metadata', json(metadata), 'jobId', job_id, 'batchId', batch_id,
  'batchIndex', batch_index, 'filename', filename, 'userId', user_id, 'status', status,
  'priority', priority, 'origin', origin, 'model', model), '}') || ',' ||
  ltrim(json_object('attempts', attempts, 'createdAt', created_at, 'startedAt', started_at,
  'completedAt', completed_at, 'inputTokens', input_tokens, 'outputTokens', output_tokens,
  'stopReason', stop_reason, 'errorType', error_type, 'errorMessage', error_message,
  'purgedAt', purged_at), '{') AS row
FROM jobs ",
            $rest
        )
    };
}
pub(super) use select_jobs;

const FIND_JOB: &str = select_jobs!("WHERE tenant_id = ?1 AND job_id = ?2");

const BATCH_JOBS: &str =
    select_jobs!("WHERE tenant_id = ?1 AND batch_id = ?2 ORDER BY batch_index");

const FIND_BATCH: &str = "
SELECT json_object('batchId', batch_id, 'total', total, 'template', template,
  'createdAt', created_at) AS row
FROM batches WHERE tenant_id = ?1 AND batch_id = ?2";
