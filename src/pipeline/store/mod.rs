//! Every SQL statement of the pipeline, and the rows they read.
//!
//! Lists go in as one JSON text and rows come out as JSON text: one value
//! bound and one string read, however many jobs share the statement.
mod access;
mod admin;
mod api_keys;
mod audit;
mod cancel;
mod ending;
mod job_row;
mod keys_used;
mod list;
mod listed;
mod new_job;
mod reading;
mod removal;

pub use access::{KeyHash, Tenant, hex, tenant_of_key};
pub use admin::{TenantRow, change_tenant, create_tenant, find_tenant, tenants_after};
pub use api_keys::{KeyRow, create_key, keys_of, revoke_key};
pub use audit::{AuditRow, audit_before};
pub use cancel::{cancel_batch, cancel_job};
pub use ending::{Claim, Claimed, Ended, Ending, claim, dead_letter, finish};
pub use job_row::{BatchRow, JobRow, batch_jobs, find_batch, find_job};
pub use keys_used::{Earlier, NewKey, find_key, forget_keys, forget_names};
pub use list::{JobsOf, Page, list_batches, list_jobs};
pub use listed::{Listed, beginning};
pub use new_job::{NewBatch, NewJob, NewJobs, insert, remove};
pub use reading::{
    Lease, Revoked, Standing, Unfinished, revoke, standings, standings_of, unfinished_after,
};
pub use removal::{ended_before, purge_batch, purge_jobs, retire, unwanted};

use super::ports::{PortResult, Rows, Statement, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The rows of the first statement of a batch.
///
/// # Errors
///
/// [`super::ports::PortError::Refused`] if a row has another shape.
pub fn first<T: DeserializeOwned>(rows: &[Rows]) -> PortResult<Vec<T>> {
    rows.first().map_or_else(|| Ok(Vec::new()), Rows::read)
}

fn statement<const N: usize>(sql: &'static str, values: [Value; N]) -> Statement {
    Statement { sql, values: values.into() }
}

/// A list, as the JSON text that `json_each` reads.
fn list<T: Serialize>(items: &[T]) -> Value {
    Value::Text(serde_json::to_string(items).unwrap_or_else(|_| "[]".to_owned()))
}

fn text(value: &impl ToString) -> Value {
    Value::Text(value.to_string())
}
