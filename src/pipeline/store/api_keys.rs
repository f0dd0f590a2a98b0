//! A tenant's keys: of each its hash and its first characters. As in
//! `admin.rs`, the audit's entry comes first, and all of it may be repeated.
use super::{KeyHash, statement, text};
use crate::domain::{TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::Deserialize;

/// What is known of a key.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct KeyRow {
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
}

/// Adds a key to a tenant, if there is one, unless another key of it begins
/// alike; `fields` (JSON) are its `prefix` and `name`. The last statement reads
/// it: one [`KeyRow`], or none.
#[must_use]
pub fn create_key(
    tenant: &TenantId,
    fields: &str,
    hash: KeyHash,
    now: Timestamp,
) -> Vec<Statement> {
    let hash = text(&hash.to_hex());
    let values = [text(tenant), text(&fields), hash.clone(), Value::Integer(now.as_millis())];
    vec![
        statement(AUDIT_CREATED, values.clone()),
        statement(INSERT_KEY, values),
        statement(CREATED, [text(tenant), hash]),
    ]
}

/// Revokes the key of this prefix. The last statement reads it: one
/// [`KeyRow`], or none.
#[must_use]
pub fn revoke_key(tenant: &TenantId, prefix: &str, now: Timestamp) -> Vec<Statement> {
    let values = [text(tenant), text(&prefix), Value::Integer(now.as_millis())];
    vec![
        statement(AUDIT_REVOKED, values.clone()),
        statement(REVOKE_KEY, values),
        statement(FIND_KEY, [text(tenant), text(&prefix)]),
    ]
}

/// Reads a tenant's keys that begin so, the newest first: [`KeyRow`]s.
#[must_use]
pub fn keys_of(tenant: &TenantId, beginning: &str) -> Statement {
    statement(KEYS_OF, [text(tenant), text(&beginning)])
}

macro_rules! select_keys {
    ($rest:literal) => {
        concat!(
            "
SELECT json_object('prefix', prefix, 'name', name, 'createdAt', created_at,
  'revokedAt', revoked_at) AS row
FROM api_keys ",
            $rest
        )
    };
}

const KEYS_OF: &str =
    select_keys!("WHERE tenant_id = ?1 AND instr(prefix, ?2) = 1 ORDER BY created_at DESC, prefix");

const FIND_KEY: &str = select_keys!("WHERE tenant_id = ?1 AND prefix = ?2");

const CREATED: &str = select_keys!("WHERE tenant_id = ?1 AND key_hash = ?2");

const AUDIT_CREATED: &str = "
INSERT INTO audit (at, action, tenant_id, detail)
SELECT ?4, 'key.created', t.tenant_id, ?2 FROM tenants AS t
WHERE t.tenant_id = ?1
  AND NOT EXISTS (SELECT 1 FROM api_keys WHERE key_hash = ?3)
  AND NOT EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = ?1 AND prefix = ?2->>'prefix')";

const INSERT_KEY: &str = "
INSERT INTO api_keys (key_hash, tenant_id, prefix, name, created_at)
SELECT ?3, tenant_id, ?2->>'prefix', ?2->>'name', ?4 FROM tenants WHERE tenant_id = ?1
ON CONFLICT DO NOTHING";

const AUDIT_REVOKED: &str = "
INSERT INTO audit (at, action, tenant_id, detail)
SELECT ?3, 'key.revoked', tenant_id,
       json_patch('{}', json_object('prefix', prefix, 'name', name))
FROM api_keys WHERE tenant_id = ?1 AND prefix = ?2 AND revoked_at IS NULL";

const REVOKE_KEY: &str = "
UPDATE api_keys SET revoked_at = ?3
WHERE tenant_id = ?1 AND prefix = ?2 AND revoked_at IS NULL";
