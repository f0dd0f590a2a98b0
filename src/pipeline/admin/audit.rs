//! Who was changed, when, and to what.
use super::tenants::tenant_in;
use crate::pipeline::answer::{Answer, Answered};
use crate::pipeline::ports::{Ambient, Database};
use crate::pipeline::problem::Problem;
use crate::pipeline::query::{Query, cut};
use crate::pipeline::read::ask;
use crate::pipeline::store::{self, AuditRow};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

pub(super) async fn list<P>(ports: &P, query: &Query) -> Answered
where
    P: Database + Ambient,
{
    query.only(&["tenant", "limit", "cursor"])?;
    let limit = query.limit()?;
    let tenant = tenant_in(query, "tenant")?;
    let cursor = query.get("cursor").map(entry).transpose()?;
    let statement = store::audit_before(tenant.as_ref(), cursor, limit + 1);
    let mut rows = store::first::<AuditRow>(&ask(ports, vec![statement]).await?)?;
    let next_cursor = cut(&mut rows, limit).map(|row| row.id.to_string());
    let entries = rows.into_iter().map(Entry::from).collect();
    Answer::json(200, &Audit { entries, next_cursor })
}

fn entry(cursor: &str) -> Result<u32, Problem> {
    let id = cursor.parse();
    id.map_err(|_| Problem::field("cursor", "`cursor` must be the id of an entry"))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Audit {
    entries: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// What an operator changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditEntry)]
struct Entry {
    id: u32,
    #[schema(format = DateTime)]
    at: String,
    action: String,
    tenant_id: String,
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
}

impl From<AuditRow> for Entry {
    fn from(row: AuditRow) -> Self {
        Self {
            id: row.id,
            at: row.at.to_string(),
            action: row.action,
            tenant_id: row.tenant_id,
            detail: row.detail,
        }
    }
}
