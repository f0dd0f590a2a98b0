//! What the caller stores: a row for each job, and one for each tenant.
use super::{
    Scheduler,
    hall::{Hall, Stale},
    house::Kept,
    job::Job,
    keys::TenantKey,
    lane::Account,
    tenant::Conduct,
};
use crate::domain::{JobId, ModelClass, Priority, TenantId, from_json};
use serde::{Deserialize, Serialize};

/// A row, to be kept under its key. All rows are handed back on restart.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// One job.
    Job(JobRow),
    /// One tenant, with its lanes.
    Tenant(TenantRow),
}

/// What to write down.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Store this row, in place of the one of the same key.
    Put(Row),
    /// Remove the row of this key, if there is one.
    Delete(String),
}

/// What is stored of a job.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JobRow {
    v: Version,
    pub(super) job: Job,
}

/// What is stored of a tenant.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TenantRow {
    v: Version,
    pub(super) tenant: TenantId,
    pub(super) conduct: Conduct,
    pub(super) lanes: Vec<LaneRow>,
    /// Of a tenant that came lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) knocks: Option<Kept>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct LaneRow {
    pub(super) class: ModelClass,
    pub(super) rank: Priority,
    pub(super) account: Account,
}

impl Row {
    /// Under which key it is kept.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Job(row) => job_key(row.job.submission.job),
            Self::Tenant(row) => tenant_key(&row.tenant),
        }
    }

    /// The row as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a row back. `None` if it is none, or of an unknown version: a job
    /// is then submitted again by whoever keeps the jobs, and a tenant begins
    /// anew.
    #[must_use]
    pub fn read(key: &str, text: &str) -> Option<Self> {
        if key.starts_with(JOB) {
            from_json(text).ok().map(Self::Job)
        } else {
            from_json(text).ok().map(Self::Tenant)
        }
    }
}

impl Scheduler {
    /// The next row to write or remove. One that changed several times since
    /// comes once, as it is now.
    pub fn poll_change(&mut self) -> Option<Change> {
        if let Some(job) = self.changed.pop_first() {
            return Some(match self.jobs.get(&job) {
                Some(known) => {
                    Change::Put(Row::Job(JobRow { v: Version::Current, job: known.clone() }))
                }
                None => Change::Delete(job_key(job)),
            });
        }
        match self.hall.poll(&self.config.demotion, self.clock.now())? {
            Stale::Gone(tenant) => Some(Change::Delete(tenant_key(&tenant))),
            Stale::Changed(key) => self.tenant_row(key).map(|row| Change::Put(Row::Tenant(row))),
        }
    }

    fn tenant_row(&self, key: TenantKey) -> Option<TenantRow> {
        let Hall { tenants, lanes, .. } = &self.hall;
        let tenant = tenants.get(key.0)?;
        let kept = &tenant.knocks.kept;
        let lanes = tenant.lanes.iter().filter_map(|key| {
            let lane = lanes.get(key.0)?;
            let class = self.classes.get(lane.class)?.name.clone();
            Some(LaneRow { class, rank: lane.rank, account: lane.account })
        });
        Some(TenantRow {
            v: Version::Current,
            tenant: tenant.id.clone(),
            conduct: tenant.conduct.clone(),
            lanes: lanes.collect(),
            knocks: Some(kept).filter(|kept| !kept.is_blank(self.clock.now())).cloned(),
        })
    }
}

fn job_key(job: JobId) -> String {
    format!("{JOB}{job}")
}

fn tenant_key(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}")
}

const JOB: &str = "job/";
const TENANT: &str = "tenant/";

/// The layout. Version 1 knew no tenants, and was never deployed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub(super) enum Version {
    Current,
}

impl From<Version> for u32 {
    fn from(Version::Current: Version) -> Self {
        2
    }
}

impl TryFrom<u32> for Version {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number == 2 { Ok(Self::Current) } else { Err(format!("version {number} is unknown")) }
    }
}
