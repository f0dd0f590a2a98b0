//! What the operator's webhook is told.
use super::store::Ended;
use crate::domain::{BatchId, JobError, JobId, JobStatus, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A job ended badly.
#[derive(Debug, Serialize, ToSchema)]
pub struct Notice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[schema(format = DateTime)]
    timestamp: String,
    data: Data<'a>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JobNotice)]
struct Data<'a> {
    job_id: JobId,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_id: Option<BatchId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    status: JobStatus,
    error: JobError,
    attempts: u32,
    #[schema(format = DateTime)]
    created_at: String,
}

impl<'a> Notice<'a> {
    /// The notice of a job that failed or was dead-lettered.
    #[must_use]
    pub fn of(job: &'a Ended, now: Timestamp) -> Self {
        let kind = match job.status {
            JobStatus::DeadLettered => "job.dead_lettered",
            JobStatus::Pending
            | JobStatus::Running
            | JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled => "job.failed",
        };
        let data = Data {
            job_id: job.job_id,
            batch_id: job.batch_id,
            user_id: job.user_id.as_deref(),
            status: job.status,
            error: JobError::new(
                job.error_type.as_deref().unwrap_or("unknown"),
                job.error_message.as_deref().unwrap_or_default(),
            ),
            attempts: job.attempts,
            created_at: job.created_at.to_string(),
        };
        Self { kind, timestamp: now.to_string(), data }
    }

    /// The body.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_keeps_its_shape() {
        let job: Ended = serde_json::from_str(
            r#"{"jobId":"00000000-0001-7000-8000-000000000200","batchId":null,"tenantId":"acme",
                "userId":"u1","status":"dead-lettered","attempts":5,"createdAt":1,
                "errorType":"overloaded_error","errorMessage":"Overloaded"}"#,
        )
        .unwrap();
        assert_eq!(
            Notice::of(&job, Timestamp::from_millis(2)).to_json(),
            concat!(
                r#"{"type":"job.dead_lettered","timestamp":"1970-01-01T00:00:00.002Z","data":{"#,
                r#""jobId":"00000000-0001-7000-8000-000000000200","userId":"u1","#,
                r#""status":"dead-lettered","error":{"type":"overloaded_error","#,
                r#""message":"Overloaded"},"attempts":5,"createdAt":"1970-01-01T00:00:00.001Z"}}"#
            )
        );
    }
}
