//! Reading jobs for our own housekeeping.
use super::{Listed, list, statement, text};
use crate::domain::{JobId, JobStatus, Plan, Priority, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::{Deserialize, Serialize};

/// Where a job stands, for reconciling it with its lease.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Which job.
    pub job_id: JobId,
    /// Its status.
    pub status: JobStatus,
    /// The number of the latest lease that was claimed.
    pub lease: u32,
    /// Attempts used, the current one included.
    pub attempts: u32,
}

/// A job that has not ended, with what the scheduler must know of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unfinished {
    /// Which job.
    pub job_id: JobId,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Whose job it is.
    pub tenant_id: TenantId,
    /// What the tenant pays for.
    pub plan: Plan,
    /// Its own weight, if it is not its plan's.
    pub weight: Option<u32>,
    /// Its own daily budget, if it is not the setting's.
    pub daily_input_tokens: Option<u64>,
    /// Its urgency.
    pub priority: Priority,
    /// The model it asks for.
    pub model: String,
    /// What its input may cost.
    pub estimated_input_tokens: u64,
    /// The most its answer may cost.
    pub max_output_tokens: u64,
    /// Attempts used.
    pub attempts: u32,
    /// The number of the latest lease that was claimed.
    pub lease: u32,
}

/// A lease, by its job and number.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Lease {
    /// Which job.
    pub job: JobId,
    /// Which lease of it.
    pub lease: u32,
    /// The number of the attempt it is for.
    pub attempt: u32,
}

impl From<(JobId, u32, u32)> for Lease {
    fn from((job, lease, attempt): (JobId, u32, u32)) -> Self {
        Self { job, lease, attempt }
    }
}

/// A lease that was never claimed, and now never will be.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    /// Which job.
    pub job_id: JobId,
}

/// Revokes leases that nobody has claimed; returns the [`Revoked`].
#[must_use]
pub fn revoke(leases: &[Lease]) -> Statement {
    statement(REVOKE, [list(leases)])
}

/// Reads the [`Standing`] of leased jobs.
#[must_use]
pub fn standings_of(leases: &[Lease]) -> Statement {
    let jobs: Vec<JobId> = leases.iter().map(|lease| lease.job).collect();
    standings(&jobs)
}

/// Reads the [`Standing`] of jobs.
#[must_use]
pub fn standings(jobs: &[JobId]) -> Statement {
    statement(STANDINGS, [list(jobs)])
}

/// Reads [`Unfinished`] jobs accepted up to `until`, in the order of their
/// acceptance, from the first after `cursor`.
#[must_use]
pub fn unfinished_after(cursor: Option<Listed<JobId>>, until: Timestamp, limit: u32) -> Statement {
    let since = cursor.map_or(0, |place| place.at.as_millis());
    let cursor = text(&cursor.map(|place| place.id.to_string()).unwrap_or_default());
    let until = Value::Integer(until.as_millis());
    let limit = Value::Integer(limit.into());
    statement(UNFINISHED_AFTER, [cursor, Value::Integer(since), until, limit])
}

const REVOKE: &str = "
UPDATE jobs SET lease = l.lease
FROM (SELECT value->>'job' AS id, value->>'lease' AS lease FROM json_each(?1)) AS l
WHERE job_id = l.id AND jobs.lease < l.lease AND status IN ('pending', 'running')
RETURNING json_object('jobId', job_id) AS row";

const STANDINGS: &str = "
SELECT json_object('jobId', job_id, 'status', status, 'lease', lease,
  'attempts', attempts) AS row
FROM jobs WHERE job_id IN (SELECT value FROM json_each(?1))";

const UNFINISHED_AFTER: &str = "
SELECT json_object('jobId', job_id, 'createdAt', jobs.created_at, 'tenantId', tenant_id, 'plan', plan,
  'weight', weight, 'dailyInputTokens', daily_input_tokens, 'priority', priority,
  'model', model, 'estimatedInputTokens', estimated_input_tokens,
  'maxOutputTokens', max_output_tokens, 'attempts', attempts, 'lease', lease) AS row
FROM jobs JOIN tenants USING (tenant_id)
WHERE status IN ('pending', 'running')
  AND jobs.created_at BETWEEN ?2 AND ?3 AND (jobs.created_at, job_id) > (?2, ?1)
ORDER BY jobs.created_at, job_id LIMIT ?4";
