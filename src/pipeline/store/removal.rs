//! Removing what jobs hold, and jobs.
use super::{list, statement, text};
use crate::domain::{BatchId, JobId, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};

/// Removes the content of a tenant's jobs that have ended; times, tokens and
/// status stay.
#[must_use]
pub fn purge_jobs(tenant: &TenantId, jobs: &[JobId], now: Timestamp) -> Statement {
    statement(PURGE_JOBS, [text(tenant), list(jobs), Value::Integer(now.as_millis())])
}

/// Removes the content of a tenant's batch.
#[must_use]
pub fn purge_batch(tenant: &TenantId, batch: BatchId) -> Statement {
    statement(PURGE_BATCH, [text(tenant), text(&batch)])
}

/// Reads jobs that ended before then, so many at most: [`super::Ended`].
#[must_use]
pub fn ended_before(then: Timestamp, most: u32) -> Statement {
    let values = [Value::Integer(then.as_millis()), Value::Integer(most.into())];
    statement(ENDED_BEFORE, values)
}

/// Removes jobs that have ended, and those of their batches that have no other.
#[must_use]
pub fn retire(jobs: &[JobId], batches: &[BatchId]) -> Vec<Statement> {
    vec![statement(RETIRE_JOBS, [list(jobs)]), statement(RETIRE_BATCHES, [list(batches)])]
}

/// Of these jobs, reads those whose result nobody may read any more: canceled,
/// purged or removed. [`super::Revoked`].
#[must_use]
pub fn unwanted(jobs: &[JobId]) -> Statement {
    statement(UNWANTED, [list(jobs)])
}

const PURGE_JOBS: &str = "
UPDATE jobs SET purged_at = ?3, input = '', filename = NULL, user_id = NULL, metadata = NULL,
  error_message = NULL
WHERE job_id IN (SELECT value FROM json_each(?2)) AND tenant_id = ?1
  AND status NOT IN ('pending', 'running') AND purged_at IS NULL";

const PURGE_BATCH: &str = "
UPDATE batches SET prompt = '', user_id = NULL WHERE batch_id = ?2 AND tenant_id = ?1";

/// No job ends before it is made: the index knows where to stop.
const ENDED_BEFORE: &str = "
SELECT json_object('jobId', job_id, 'batchId', batch_id, 'tenantId', tenant_id,
  'status', status, 'attempts', attempts, 'createdAt', created_at) AS row
FROM jobs
WHERE status IN ('completed', 'failed', 'dead-lettered', 'canceled')
  AND created_at < ?1 AND completed_at < ?1
LIMIT ?2";

const RETIRE_JOBS: &str = "
DELETE FROM jobs
WHERE job_id IN (SELECT value FROM json_each(?1)) AND status NOT IN ('pending', 'running')";

const RETIRE_BATCHES: &str = "
DELETE FROM batches
WHERE batch_id IN (SELECT value FROM json_each(?1))
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.batch_id = batches.batch_id)";

const UNWANTED: &str = "
SELECT json_object('jobId', late.value) AS row
FROM json_each(?1) AS late LEFT JOIN jobs ON job_id = late.value
WHERE status IS NULL OR status = 'canceled' OR purged_at IS NOT NULL";
