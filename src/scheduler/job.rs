//! One job as the scheduler knows it, which is also what is stored of it.
//!
//! ```text
//!      ┌────────────delay ends──────────── delayed
//!      ▼                                      ▲
//!   waiting ─▶ (parked) ─▶ leased ──failed────┘
//!      ▲                    │  │
//!      └──nothing tried─────┘  └──ended, or attempts used up──▶ forgotten
//! ```
use super::{
    Submission,
    budget::Reservation,
    keys::{ClassKey, TenantKey},
    lane::Waiting,
};
use crate::domain::{Priority, Timestamp};
use serde::{Deserialize, Serialize};

/// A job that has not ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Job {
    /// With the attempts and the lease number of now.
    pub(super) submission: Submission,
    /// Counts up with each submission and is kept for life: a job that comes
    /// back takes its old place.
    pub(super) order: u64,
    /// 429s in a row.
    pub(super) throttled: u32,
    pub(super) place: Place,
    #[serde(skip)]
    pub(super) tenant: TenantKey,
    #[serde(skip)]
    pub(super) class: ClassKey,
}

/// Where a job is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Place {
    /// In its lane.
    Waiting,
    /// Too large to wait in its lane.
    /// Its lane has paid for it.
    Parked { rank: Priority, since: Timestamp, paid: i64 },
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
    /// The priority it was served with.
    pub(super) rank: Priority,
    /// What its lane was charged.
    pub(super) price: i64,
    /// Its owner ended the job meanwhile: this attempt is the last.
    pub(super) canceled: bool,
}

impl Job {
    /// As it stands in a lane.
    pub(super) fn waiting(&self) -> Waiting {
        let Submission { job, estimate, priority, .. } = self.submission;
        Waiting { order: self.order, job, estimate, priority }
    }
}
