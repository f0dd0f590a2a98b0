//! What the queues carry: ids only, as JSON text. Both shapes are pinned by
//! tests; a change needs a new `v` and a reader for the old.
use crate::domain::{JobId, Timestamp};
use crate::scheduler::Release;
use serde::{Deserialize, Serialize};

/// A released job on its way to a consumer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    /// The shape's version.
    pub v: u8,
    /// Which job.
    pub job_id: JobId,
    /// The lease's number.
    pub lease: u32,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// When the lease ends: a message that comes later is dropped unpaid.
    pub until: Timestamp,
}

impl From<Release> for Handover {
    fn from(release: Release) -> Self {
        let Release { job, lease, attempt, until, queue: _ } = release;
        Self { v: 1, job_id: job, lease, attempt, until }
    }
}

/// A job whose attempts are used up, on its way to the dead-letter handler.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The shape's version.
    pub v: u8,
    /// Which job.
    pub job_id: JobId,
    /// Attempts used.
    pub attempts: u32,
}

/// The JSON text of a message.
#[must_use]
pub fn to_text<M: Serialize>(message: &M) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Entropy;

    #[test]
    fn messages_keep_their_shape() {
        let job_id = JobId::new(Timestamp::from_millis(1), [Entropy(2), Entropy(3)]);
        let until = Timestamp::from_millis(4);
        assert_eq!(
            to_text(&Handover { v: 1, job_id, lease: 2, attempt: 1, until }),
            r#"{"v":1,"jobId":"00000000-0001-7000-8000-000000020000","lease":2,"attempt":1,"until":4}"#
        );
        assert_eq!(
            to_text(&DeadLetter { v: 1, job_id, attempts: 5 }),
            r#"{"v":1,"jobId":"00000000-0001-7000-8000-000000020000","attempts":5}"#
        );
    }
}
