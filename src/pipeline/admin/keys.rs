//! A tenant's keys: shown once, then known by their hash and first characters.
use super::{change, fields};
use crate::domain::TenantId;
use crate::pipeline::answer::{Answer, Answered};
use crate::pipeline::ports::{Ambient, Database, Rows};
use crate::pipeline::problem::Problem;
use crate::pipeline::query::Query;
use crate::pipeline::read::ask;
use crate::pipeline::store::{self, KeyHash, KeyRow, TenantRow};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Every field of the body may be left out, and so may the body.
pub(super) async fn create<P>(ports: &P, tenant: &TenantId, body: &str) -> Answered
where
    P: Database + Ambient,
{
    let body = if body.is_empty() { "{}" } else { body };
    let mut given = fields::read(body, &["name"])?;
    given.retain(|_, value| !value.is_null());
    fields::check(&given)?;
    for _ in 0..DRAWS {
        let key = draw(ports)?;
        let prefix: String = key.chars().take(PREFIX).collect();
        given.insert("prefix".to_owned(), Value::String(prefix));
        let fields = serde_json::to_string(&given).map_err(|_| Problem::internal())?;
        let mut statements = store::create_key(tenant, &fields, KeyHash::of(&key), ports.now());
        statements.push(store::find_tenant(tenant));
        let rows = change(ports, statements).await?;
        let [.., made, tenants] = rows.as_slice() else { return Err(Problem::internal()) };
        exists(tenants)?;
        if let Some(made) = made.read::<KeyRow>()?.pop() {
            return Answer::json(201, &NewKeyView::new(key, made));
        }
    }
    Err(Problem::internal())
}

pub(super) async fn list<P>(ports: &P, tenant: &TenantId, query: &Query) -> Answered
where
    P: Database + Ambient,
{
    query.only(&["prefix"])?;
    let beginning = query.get("prefix").unwrap_or_default();
    let both = vec![store::keys_of(tenant, beginning), store::find_tenant(tenant)];
    let rows = ask(ports, both).await?;
    let [keys, tenants] = rows.as_slice() else { return Err(Problem::internal()) };
    exists(tenants)?;
    let keys = keys.read::<KeyRow>()?.into_iter().map(KeyView::from).collect();
    Answer::json(200, &Keys { keys })
}

pub(super) async fn revoke<P>(ports: &P, tenant: &TenantId, prefix: &str) -> Answered
where
    P: Database + Ambient,
{
    let rows = change(ports, store::revoke_key(tenant, prefix, ports.now())).await?;
    let found = rows.last().map(Rows::read::<KeyRow>).transpose()?;
    let revoked = found.and_then(|mut rows| rows.pop()).ok_or_else(Problem::not_found)?;
    Answer::json(200, &KeyView::from(revoked))
}

fn exists(tenants: &Rows) -> Result<(), Problem> {
    let found = tenants.read::<TenantRow>()?.pop();
    found.map(drop).ok_or_else(Problem::not_found)
}

/// A new key: 192 bits of chance.
fn draw<P: Ambient>(ports: &P) -> Result<String, Problem> {
    let [a, b, c] = [(); 3].map(|()| ports.chance().0);
    // A source of chance that failed would draw the same again and again.
    if a == b || b == c {
        return Err(Problem::internal());
    }
    let bytes = [a.to_be_bytes(), b.to_be_bytes(), c.to_be_bytes()].concat();
    Ok(format!("cpk_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

#[derive(Serialize, ToSchema)]
pub(super) struct Keys {
    keys: Vec<KeyView>,
}

/// A key that was made: all of it, this once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewKey)]
pub(super) struct NewKeyView {
    key: String,
    prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
}

impl NewKeyView {
    fn new(key: String, row: KeyRow) -> Self {
        let created_at = row.created_at.to_string();
        Self { key, prefix: row.prefix, name: row.name, created_at }
    }
}

/// A key, by what is shown of it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Key)]
struct KeyView {
    prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    revoked_at: Option<String>,
}

impl From<KeyRow> for KeyView {
    fn from(row: KeyRow) -> Self {
        Self {
            prefix: row.prefix,
            name: row.name,
            created_at: row.created_at.to_string(),
            revoked_at: row.revoked_at.map(|at| at.to_string()),
        }
    }
}

/// What is shown of a key: enough to tell a tenant's keys apart.
const PREFIX: usize = 12;
/// Two keys of a tenant begin alike once in 2^48 draws.
const DRAWS: u32 = 3;
