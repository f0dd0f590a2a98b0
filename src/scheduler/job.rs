//! One job as the scheduler knows it, which is also the row that is stored.
//!
//! ```text
//!      ┌────────────delay ends──────────── delayed
//!      ▼                                      ▲
//!   waiting ──release──▶ leased ──failed──────┘
//!      ▲                  │  │
//!      └──nothing tried───┘  └──ended, or attempts used up──▶ forgotten
//! ```
use super::{Submission, budget::Reservation};
use crate::domain::{JobId, Timestamp};
use serde::{Deserialize, Serialize};

/// A job that has not ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Job {
    /// With the attempts and the lease number of now.
    #[serde(flatten)]
    pub(super) submission: Submission,
    /// Counts up with each submission and is kept for life: a job that comes
    /// back takes its old place.
    pub(super) order: u64,
    /// 429s in a row.
    pub(super) throttled: u32,
    pub(super) place: Place,
}

/// Where a job is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Place {
    /// In its lane.
    Waiting,
    /// Waiting for its next attempt, until then.
    Delayed(Timestamp),
    /// Under way.
    Leased(Box<Lease>),
}

/// The right to run one attempt.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lease {
    pub(super) since: Timestamp,
    /// When it ends; after that, when to ask again what became of it.
    pub(super) until: Timestamp,
    pub(super) held: Reservation,
    /// Its owner ended the job meanwhile: this attempt is the last.
    pub(super) canceled: bool,
}

/// A job in the form in which it is stored. The caller keeps it by its job
/// id, and hands all rows back on restart.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Row {
    #[serde(rename = "v")]
    version: Version,
    #[serde(flatten)]
    pub(super) job: Job,
}

/// What to write down.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Store this row, in place of the job's former one.
    Put(Row),
    /// Remove the job's row, if there is one.
    Delete(JobId),
}

impl Row {
    pub(super) const fn new(job: Job) -> Self {
        Self { version: Version::Current, job }
    }

    /// Whose row it is: its key.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.job.submission.job
    }

    /// The row as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a row back. `None` if it is none, or of an unknown version: the
    /// job is then submitted again by whoever keeps the jobs.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The only layout there was so far.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub(super) enum Version {
    Current,
}

impl From<Version> for u32 {
    fn from(Version::Current: Version) -> Self {
        1
    }
}

impl TryFrom<u32> for Version {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number == 1 { Ok(Self::Current) } else { Err(format!("version {number} is unknown")) }
    }
}
