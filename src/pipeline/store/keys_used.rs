//! Requests that named an `Idempotency-Key`, and their first answers.
use super::{list, statement, text};
use crate::domain::{BatchId, JobId, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::Deserialize;

/// A row of `idempotency`, as it begins.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Whose key it is.
    pub tenant_id: TenantId,
    /// As the caller sent it.
    pub key: String,
    /// SHA-256 of what was asked for, in hexadecimal.
    pub fingerprint: String,
    /// Where the job or batch is that is made: tells who won the key.
    pub location: String,
    /// What the caller is told: JSON.
    pub answer: String,
    /// When the request was accepted.
    pub created_at: Timestamp,
    /// A key used before this moment is free.
    pub expired_before: Timestamp,
}

/// The first answer to a request.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    /// SHA-256 of what was asked for, in hexadecimal.
    pub fingerprint: String,
    /// Where the job or batch is that was made.
    pub location: String,
    /// What the caller was told: JSON.
    pub answer: String,
}

/// Reads the first answer to a key used since then: one [`Earlier`], or none.
#[must_use]
pub fn find_key(tenant: &TenantId, key: &str, since: Timestamp) -> Statement {
    let since = Value::Integer(since.as_millis());
    statement(FIND_KEY, [text(tenant), text(&key), since])
}

/// Takes the key, unless another request has it.
pub(super) fn take_key(key: &NewKey) -> Statement {
    let values = [
        text(&key.tenant_id),
        text(&key.key),
        text(&key.fingerprint),
        text(&key.location),
        text(&key.answer),
        Value::Integer(key.created_at.as_millis()),
        Value::Integer(key.expired_before.as_millis()),
    ];
    statement(TAKE_KEY, values)
}

/// Gives the key back, if its request made nothing.
pub(super) fn free_key(key: &NewKey) -> Statement {
    let made = key.location.rsplit('/').next().unwrap_or_default();
    let values = [text(&key.tenant_id), text(&key.key), text(&key.location), text(&made)];
    statement(FREE_KEY, values)
}

/// Removes keys used before then, so many at most.
#[must_use]
pub fn forget_keys(before: Timestamp, most: u32) -> Statement {
    let values = [Value::Integer(before.as_millis()), Value::Integer(most.into())];
    statement(FORGET_KEYS, values)
}

/// Removes the names of these files from what a request was told that made
/// this batch: the request stays made, and its key taken.
#[must_use]
pub fn forget_names(tenant: &TenantId, batch: BatchId, jobs: &[JobId]) -> Statement {
    let made = Value::Integer(batch.created_at().as_millis());
    let location = format!("/batches/{batch}");
    statement(FORGET_NAMES, [text(tenant), made, text(&location), list(jobs)])
}

/// The moment in a batch's id is the one its key was taken: an index leads
/// there.
const FORGET_NAMES: &str = "
UPDATE idempotency SET answer = json_set(answer, '$.jobs',
  (SELECT json_group_array(json(iif(file.value->>'jobId' IN (SELECT value FROM json_each(?4)),
                                    json_remove(file.value, '$.filename'), file.value)))
   FROM json_each(answer, '$.jobs') AS file))
WHERE created_at = ?2 AND tenant_id = ?1 AND location = ?3";

const FIND_KEY: &str = "
SELECT json_object('fingerprint', fingerprint, 'location', location, 'answer', answer) AS row
FROM idempotency WHERE tenant_id = ?1 AND key = ?2 AND created_at >= ?3";

const TAKE_KEY: &str = "
INSERT INTO idempotency (tenant_id, key, fingerprint, location, answer, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant_id, key) DO UPDATE
SET fingerprint = excluded.fingerprint, location = excluded.location, answer = excluded.answer,
    created_at = excluded.created_at
WHERE idempotency.created_at < ?7";

const FREE_KEY: &str = "
DELETE FROM idempotency
WHERE tenant_id = ?1 AND key = ?2 AND location = ?3
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE job_id = ?4)
  AND NOT EXISTS (SELECT 1 FROM batches WHERE batch_id = ?4)";

const FORGET_KEYS: &str = "
DELETE FROM idempotency
WHERE (tenant_id, key) IN
  (SELECT tenant_id, key FROM idempotency WHERE created_at < ?1 ORDER BY created_at LIMIT ?2)";
