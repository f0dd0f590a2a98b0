//! Accepting jobs.
use super::keys_used::{NewKey, find_key, free_key, take_key};
use super::{list, statement, text};
use crate::domain::{BatchId, JobId, Origin, Priority, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::Serialize;

/// A row of `jobs`, as it begins.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewJob {
    /// Its id.
    pub job_id: JobId,
    /// The batch it belongs to, if any.
    pub batch_id: Option<BatchId>,
    /// Its place in the batch, from 0.
    pub batch_index: Option<u32>,
    /// The uploaded file's name.
    pub filename: Option<String>,
    /// Whose job it is.
    pub tenant_id: TenantId,
    /// A label inside the tenant.
    pub user_id: Option<String>,
    /// Its urgency.
    pub priority: Priority,
    /// Where it comes from.
    pub origin: Origin,
    /// The model it asks for.
    pub model: String,
    /// What its input may cost.
    pub estimated_input_tokens: u64,
    /// The most its answer may cost.
    pub max_output_tokens: u64,
    /// How to make the request ([`crate::pipeline::input::Input`]).
    pub input: String,
    /// The caller's own notes, JSON.
    pub metadata: Option<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// A row of `batches`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewBatch {
    /// Its id.
    pub batch_id: BatchId,
    /// Whose batch it is.
    pub tenant_id: TenantId,
    /// A label inside the tenant.
    pub user_id: Option<String>,
    /// The urgency of its jobs.
    pub priority: Priority,
    /// How many jobs it has.
    pub total: u32,
    /// The template's name and version.
    pub template: String,
    /// The prompt its jobs share.
    pub prompt: String,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// Jobs that are accepted together, all or none.
#[derive(Clone, Copy, Debug)]
pub struct NewJobs<'a> {
    /// Their batch.
    pub batch: Option<&'a NewBatch>,
    /// The jobs.
    pub jobs: &'a [NewJob],
    /// The key of their request.
    pub key: Option<&'a NewKey>,
}

/// Inserts jobs and their batch, unless their key is taken. Repeating it
/// changes nothing, so it may be retried when the first answer was lost. With
/// a key, the second statement reads who has it: one [`super::Earlier`].
#[must_use]
pub fn insert(NewJobs { batch, jobs, key }: NewJobs<'_>) -> Vec<Statement> {
    let [tenant, name, location] = match key {
        None => [String::new(), String::new(), String::new()],
        Some(key) => [key.tenant_id.to_string(), key.key.clone(), key.location.clone()],
    };
    let owned = |sql, rows| {
        statement(sql, [rows, text(&tenant), text(&name), text(&location)] as [Value; 4])
    };
    let keys =
        key.map(|key| [take_key(key), find_key(&key.tenant_id, &key.key, key.expired_before)]);
    let batch = batch.map(|batch| owned(INSERT_BATCH, list(&[batch])));
    let jobs = owned(INSERT_JOBS, list(jobs));
    keys.into_iter().flatten().chain(batch).chain([jobs]).collect()
}

/// Takes back an insert whose answer was lost: only jobs that nobody has begun.
#[must_use]
pub fn remove(NewJobs { batch, jobs, key }: NewJobs<'_>) -> Vec<Statement> {
    let ids: Vec<_> = jobs.iter().map(|job| job.job_id).collect();
    let jobs = statement(REMOVE_JOBS, [list(&ids)]);
    let batch = batch.map(|batch| statement(REMOVE_BATCH, [text(&batch.batch_id)] as [Value; 1]));
    [jobs].into_iter().chain(batch).chain(key.map(free_key)).collect()
}

const INSERT_BATCH: &str = "
INSERT INTO batches (batch_id, tenant_id, user_id, priority, total, template, prompt, created_at,
                     listed)
SELECT value->>'batchId', value->>'tenantId', value->>'userId', value->>'priority',
       value->>'total', value->>'template', value->>'prompt', value->>'createdAt',
       printf('%015d-%s', value->>'createdAt', value->>'batchId')
FROM json_each(?1)
WHERE ?3 = '' OR EXISTS
  (SELECT 1 FROM idempotency AS i WHERE i.tenant_id = ?2 AND i.key = ?3 AND i.location = ?4)
ON CONFLICT (batch_id) DO NOTHING";

const INSERT_JOBS: &str = "
INSERT INTO jobs (job_id, batch_id, batch_index, filename, tenant_id, user_id, status, priority,
                  origin, model, estimated_input_tokens, max_output_tokens, input, metadata,
                  created_at, listed)
SELECT value->>'jobId', value->>'batchId', value->>'batchIndex', value->>'filename',
       value->>'tenantId', value->>'userId', 'pending', value->>'priority',
       value->>'origin', value->>'model', value->>'estimatedInputTokens',
       value->>'maxOutputTokens', value->>'input', value->>'metadata', value->>'createdAt',
       printf('%015d-%s', value->>'createdAt', value->>'jobId')
FROM json_each(?1)
WHERE ?3 = '' OR EXISTS
  (SELECT 1 FROM idempotency AS i WHERE i.tenant_id = ?2 AND i.key = ?3 AND i.location = ?4)
ON CONFLICT (job_id) DO NOTHING";

const REMOVE_JOBS: &str = "
DELETE FROM jobs
WHERE job_id IN (SELECT value FROM json_each(?1)) AND status = 'pending' AND lease = 0";

const REMOVE_BATCH: &str = "DELETE FROM batches WHERE batch_id = ?1";
