//! Ending jobs by their owner's wish.
use super::{statement, text};
use crate::domain::{BatchId, JobId, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};

/// Cancels a job of a tenant, unless it has ended.
#[must_use]
pub fn cancel_job(tenant: &TenantId, job: JobId, now: Timestamp) -> Statement {
    statement(CANCEL_JOB, [text(tenant), text(&job), Value::Integer(now.as_millis())])
}

/// Cancels the jobs of a tenant's batch that have not ended.
#[must_use]
pub fn cancel_batch(tenant: &TenantId, batch: BatchId, now: Timestamp) -> Statement {
    statement(CANCEL_BATCH, [text(tenant), text(&batch), Value::Integer(now.as_millis())])
}

const CANCEL_JOB: &str = "
UPDATE jobs SET status = 'canceled', completed_at = ?3, error_type = NULL, error_message = NULL
WHERE job_id = ?2 AND tenant_id = ?1 AND status IN ('pending', 'running')";

const CANCEL_BATCH: &str = "
UPDATE jobs SET status = 'canceled', completed_at = ?3, error_type = NULL, error_message = NULL
WHERE batch_id = ?2 AND tenant_id = ?1 AND status IN ('pending', 'running')";
