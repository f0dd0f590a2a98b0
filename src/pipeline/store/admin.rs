//! Tenants, as an operator makes and changes them. Every change stands in the
//! audit, written in the same transaction: first the entry, if there will be a
//! change, then the change. So both may be repeated when an answer was lost:
//! the second time there is nothing left to change.
use super::{statement, text};
use crate::domain::{Plan, TenantId, Timestamp};
use crate::pipeline::ports::{Statement, Value};
use serde::Deserialize;

/// A tenant.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TenantRow {
    /// Its id.
    pub tenant_id: TenantId,
    /// What people call it.
    pub name: String,
    /// What it pays for.
    pub plan: Plan,
    /// Its own weight between tenants, if it is not its plan's.
    pub weight: Option<u32>,
    /// Its own daily budget of input tokens, if it is not the setting's.
    pub daily_input_tokens: Option<u64>,
    /// How many submissions a minute it may make, if it is not its plan's.
    pub requests_per_minute: Option<u64>,
    /// Since when its keys are refused.
    pub suspended_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Makes a tenant of checked fields (JSON). The last statement reads it, if it
/// is the one that was to be made: none says that there was another before.
#[must_use]
pub fn create_tenant(tenant: &TenantId, fields: &str, now: Timestamp) -> Vec<Statement> {
    change([AUDIT_CREATED, INSERT_TENANT, CREATED], tenant, fields, now)
}

/// Changes a tenant by checked fields (JSON; `null` is no value). The last
/// statement reads it: one [`TenantRow`], or none.
#[must_use]
pub fn change_tenant(tenant: &TenantId, fields: &str, now: Timestamp) -> Vec<Statement> {
    let mut statements = change([AUDIT_CHANGED, UPDATE_TENANT], tenant, fields, now);
    statements.push(find_tenant(tenant));
    statements
}

/// Reads a tenant: one [`TenantRow`], or none.
#[must_use]
pub fn find_tenant(tenant: &TenantId) -> Statement {
    statement(FIND_TENANT, [text(tenant)])
}

/// Reads so many [`TenantRow`]s in order of their ids, from the first after
/// `cursor`.
#[must_use]
pub fn tenants_after(cursor: Option<&TenantId>, limit: u32) -> Statement {
    let cursor = cursor.map_or("", TenantId::as_str);
    statement(TENANTS_AFTER, [text(&cursor), Value::Integer(limit.into())])
}

fn change<const N: usize>(
    sql: [&'static str; N],
    tenant: &TenantId,
    fields: &str,
    now: Timestamp,
) -> Vec<Statement> {
    let values = [text(tenant), text(&fields), Value::Integer(now.as_millis())];
    sql.map(|sql| statement(sql, values.clone())).into()
}

macro_rules! with_tenant {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            "json_object('tenantId', tenant_id, 'name', name, 'plan', plan, 'weight', weight,
  'dailyInputTokens', daily_input_tokens, 'requestsPerMinute', requests_per_minute,
  'suspended', suspended_at IS NOT NULL, 'suspendedAt', suspended_at,
  'createdAt', created_at)",
            $after
        )
    };
}

const FIND_TENANT: &str = with_tenant!("SELECT ", " AS row FROM tenants WHERE tenant_id = ?1");

const TENANTS_AFTER: &str = with_tenant!(
    "SELECT ",
    " AS row FROM tenants WHERE tenant_id > ?1 ORDER BY tenant_id LIMIT ?2"
);

const AUDIT_CREATED: &str = "
INSERT INTO audit (at, action, tenant_id, detail)
SELECT ?3, 'tenant.created', ?1, ?2
WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE tenant_id = ?1)";

const INSERT_TENANT: &str = "
INSERT INTO tenants
  (tenant_id, name, plan, weight, daily_input_tokens, requests_per_minute, created_at)
VALUES (?1, ?2->>'name', ?2->>'plan', ?2->>'weight', ?2->>'dailyInputTokens',
        ?2->>'requestsPerMinute', ?3)
ON CONFLICT (tenant_id) DO NOTHING";

const CREATED: &str = with_tenant!(
    "SELECT ",
    " AS row FROM tenants
WHERE tenant_id = ?1 AND created_at = ?3 AND name = ?2->>'name' AND plan = ?2->>'plan'
  AND weight IS ?2->>'weight' AND daily_input_tokens IS ?2->>'dailyInputTokens'
  AND requests_per_minute IS ?2->>'requestsPerMinute'"
);

const AUDIT_CHANGED: &str = with_tenant!(
    "
INSERT INTO audit (at, action, tenant_id, detail)
SELECT ?3, 'tenant.changed', ?1, json_group_object(key, ?2->key)
FROM tenants, json_each(?2)
WHERE tenant_id = ?1 AND (?2->>key) IS NOT (",
    "->>key)
HAVING count(*) > 0"
);

const UPDATE_TENANT: &str = "
UPDATE tenants
SET name = COALESCE(?2->>'name', name),
    plan = COALESCE(?2->>'plan', plan),
    weight = iif(json_type(?2, '$.weight') IS NULL, weight, ?2->>'weight'),
    daily_input_tokens = iif(json_type(?2, '$.dailyInputTokens') IS NULL, daily_input_tokens,
                             ?2->>'dailyInputTokens'),
    requests_per_minute = iif(json_type(?2, '$.requestsPerMinute') IS NULL, requests_per_minute,
                              ?2->>'requestsPerMinute'),
    suspended_at = CASE ?2->>'suspended' WHEN 1 THEN COALESCE(suspended_at, ?3)
                                         WHEN 0 THEN NULL ELSE suspended_at END
WHERE tenant_id = ?1";
