//! Tenants: made, listed, changed. None is ever removed: its jobs name it.
use super::change as commit;
use super::fields::{self, Fields};
use crate::domain::{Plan, TenantId};
use crate::pipeline::answer::{Answer, Answered};
use crate::pipeline::ports::{Ambient, Database, Rows};
use crate::pipeline::problem::Problem;
use crate::pipeline::query::{Query, cut};
use crate::pipeline::read::ask;
use crate::pipeline::store::{self, TenantRow};
use serde::Serialize;
use utoipa::ToSchema;

pub(super) async fn create<P>(ports: &P, body: &str) -> Answered
where
    P: Database + Ambient,
{
    let mut given = fields::read(body, &NEW)?;
    let tenant = fields::take_tenant(&mut given)?;
    given.retain(|_, value| !value.is_null());
    fields::check(&given)?;
    given.entry("name").or_insert_with(|| tenant.as_str().into());
    given.entry("plan").or_insert_with(|| Plan::default().as_str().into());
    let statements = store::create_tenant(&tenant, &json(&given)?, ports.now());
    let Some(made) = last(&commit(ports, statements).await?)? else {
        return Err(exists(&tenant));
    };
    let location = format!("/admin/tenants/{tenant}");
    Ok(Answer::json(201, &TenantView::from(made))?.with("location", location))
}

pub(super) async fn list<P>(ports: &P, query: &Query) -> Answered
where
    P: Database + Ambient,
{
    query.only(&["limit", "cursor"])?;
    let limit = query.limit()?;
    let cursor = tenant_in(query, "cursor")?;
    let rows = ask(ports, vec![store::tenants_after(cursor.as_ref(), limit + 1)]).await?;
    let mut rows = store::first::<TenantRow>(&rows)?;
    let next_cursor = cut(&mut rows, limit).map(|row| row.tenant_id.clone());
    let tenants = rows.into_iter().map(TenantView::from).collect();
    Answer::json(200, &Tenants { tenants, next_cursor })
}

pub(super) async fn read<P>(ports: &P, tenant: &TenantId) -> Answered
where
    P: Database + Ambient,
{
    found(&ask(ports, vec![store::find_tenant(tenant)]).await?)
}

pub(super) async fn change<P>(ports: &P, tenant: &TenantId, body: &str) -> Answered
where
    P: Database + Ambient,
{
    let patch = fields::read(body, &CHANGEABLE)?;
    if patch.is_empty() {
        let detail = format!("there is nothing to change; allowed are {}", CHANGEABLE.join(", "));
        return Err(Problem::invalid(detail));
    }
    fields::check(&patch)?;
    let statements = store::change_tenant(tenant, &json(&patch)?, ports.now());
    found(&commit(ports, statements).await?)
}

/// A parameter that names a tenant.
///
/// # Errors
///
/// 400 if no tenant can be called so.
pub(super) fn tenant_in(query: &Query, name: &str) -> Result<Option<TenantId>, Problem> {
    let read = |value: &str| TenantId::try_from(value.to_owned());
    let detail = |_| Problem::field(name, format!("`{name}` must be the id of a tenant"));
    query.get(name).map(read).transpose().map_err(detail)
}

fn exists(tenant: &TenantId) -> Problem {
    let detail =
        format!("there is a tenant `{tenant}`; change it by PATCH /admin/tenants/{tenant}");
    let field = Some("tenantId".to_owned());
    Problem { field, ..Problem::conflict("tenant-exists", "The tenant exists", None, detail) }
}

fn found(rows: &[Rows]) -> Answered {
    let row = last(rows)?.ok_or_else(Problem::not_found)?;
    Answer::json(200, &TenantView::from(row))
}

/// The row of the last statement.
fn last(rows: &[Rows]) -> Result<Option<TenantRow>, Problem> {
    let rows = rows.last().map(Rows::read).transpose()?;
    Ok(rows.and_then(|mut rows: Vec<TenantRow>| rows.pop()))
}

fn json(fields: &Fields) -> Result<String, Problem> {
    serde_json::to_string(fields).map_err(|_| Problem::internal())
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tenants {
    tenants: Vec<TenantView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<TenantId>,
}

/// Who the work is for, and what it may use; `null` is what the plan says.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tenant)]
struct TenantView {
    tenant_id: TenantId,
    name: String,
    plan: Plan,
    #[schema(required)]
    weight: Option<u32>,
    #[schema(required)]
    daily_input_tokens: Option<u64>,
    #[schema(required)]
    requests_per_minute: Option<u64>,
    suspended: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    suspended_at: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
}

impl From<TenantRow> for TenantView {
    fn from(row: TenantRow) -> Self {
        Self {
            tenant_id: row.tenant_id,
            name: row.name,
            plan: row.plan,
            weight: row.weight,
            daily_input_tokens: row.daily_input_tokens,
            requests_per_minute: row.requests_per_minute,
            suspended: row.suspended_at.is_some(),
            suspended_at: row.suspended_at.map(|at| at.to_string()),
            created_at: row.created_at.to_string(),
        }
    }
}

const NEW: [&str; 6] =
    ["tenantId", "name", "plan", "weight", "dailyInputTokens", "requestsPerMinute"];
const CHANGEABLE: [&str; 6] =
    ["name", "plan", "weight", "dailyInputTokens", "requestsPerMinute", "suspended"];
