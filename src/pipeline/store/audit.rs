//! What operators changed.
use super::{statement, text};
use crate::domain::{TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One change.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// Its number: later ones are larger.
    pub id: u32,
    /// When it was made.
    pub at: Timestamp,
    /// What was done.
    pub action: String,
    /// To whom.
    pub tenant_id: String,
    /// What it is from then on.
    pub detail: Box<RawValue>,
}

/// Reads so many [`AuditRow`]s, the newest first: of one tenant or of all, from
/// the first before `cursor`.
#[must_use]
pub fn audit_before(tenant: Option<&TenantId>, cursor: Option<u32>, limit: u32) -> Statement {
    let cursor = Value::Integer(cursor.unwrap_or(u32::MAX).into());
    let limit = Value::Integer(limit.into());
    match tenant {
        None => statement(AUDIT, [cursor, limit]),
        Some(tenant) => statement(AUDIT_OF, [cursor, limit, text(tenant)]),
    }
}

macro_rules! select_audit {
    ($rest:literal) => {
        concat!(
            "
SELECT json_object('id', audit_id, 'at', at, 'action', action, 'tenantId', tenant_id,
  'detail', json(detail)) AS row
FROM audit ",
            $rest
        )
    };
}

const AUDIT: &str = select_audit!("WHERE audit_id < ?1 ORDER BY audit_id DESC LIMIT ?2");

const AUDIT_OF: &str =
    select_audit!("WHERE tenant_id = ?3 AND audit_id < ?1 ORDER BY audit_id DESC LIMIT ?2");
