//! Jobs and batches as JSON for their owner.
use super::store::{BatchRow, JobRow};
use crate::domain::{BatchId, JobError, JobId, JobStatus, Origin, Priority, Span, Timestamp};
use crate::scheduler::{Demoted, WaitingFor};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A job, as its owner sees it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Job)]
pub struct JobView {
    job_id: JobId,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_id: Option<BatchId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    status: JobStatus,
    priority: Priority,
    origin: Origin,
    model: String,
    attempts: u32,
    #[schema(format = DateTime)]
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JobError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    metadata: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WaitingFor>)]
    waiting_for: Option<Box<RawValue>>,
    /// Where it was submitted: its tenant has lost its priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Demoted>)]
    demotion: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    purged_at: Option<String>,
}

impl JobView {
    /// Adds what the scheduler says of a waiting job, as it said it.
    #[must_use]
    pub fn waiting_for(self, explained: Option<Box<RawValue>>) -> Self {
        Self { waiting_for: explained, ..self }
    }

    /// Adds that its tenant has lost its priorities, as the door was told.
    #[must_use]
    pub fn demotion(self, demotion: Option<Box<RawValue>>) -> Self {
        Self { demotion, ..self }
    }
}

impl From<JobRow> for JobView {
    fn from(row: JobRow) -> Self {
        let error = error_of(&row);
        let readable = row.status == JobStatus::Completed && row.purged_at.is_none();
        Self {
            batch_id: row.batch_id,
            index: row.batch_index,
            filename: row.filename,
            result_url: readable.then(|| format!("/jobs/{}/result", row.job_id)),
            job_id: row.job_id,
            user_id: row.user_id,
            status: row.status,
            priority: row.priority,
            origin: row.origin,
            model: row.model,
            attempts: row.attempts,
            created_at: row.created_at.to_string(),
            started_at: row.started_at.map(|at| at.to_string()),
            completed_at: row.completed_at.map(|at| at.to_string()),
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            stop_reason: row.stop_reason,
            error,
            metadata: row.metadata,
            waiting_for: None,
            demotion: None,
            purged_at: row.purged_at.map(|at| at.to_string()),
        }
    }
}

/// A batch and its jobs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Batch)]
pub struct BatchView {
    batch_id: BatchId,
    status: BatchStatus,
    total: u32,
    template: String,
    #[schema(value_type = BTreeMap<JobStatus, u32>)]
    counts: BTreeMap<&'static str, u32>,
    #[schema(format = DateTime)]
    created_at: String,
    #[serde(skip)]
    created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    jobs: Vec<JobInBatch>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JobInBatch {
    job_id: JobId,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    status: JobStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JobError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    purged_at: Option<String>,
}

impl BatchView {
    /// The view of a batch and its jobs, in upload order.
    #[must_use]
    pub fn new(batch: BatchRow, jobs: Vec<JobRow>) -> Self {
        let mut counts = BTreeMap::new();
        for status in JobStatus::ALL {
            counts.insert(status.as_str(), 0);
        }
        for job in &jobs {
            *counts.entry(job.status.as_str()).or_default() += 1;
        }
        let ended = jobs.iter().all(|job| job.status.ended());
        let last = jobs.iter().filter_map(|job| job.completed_at).max();
        Self {
            batch_id: batch.batch_id,
            status: BatchStatus::of(ended),
            total: batch.total,
            template: batch.template,
            counts,
            created_at: batch.created_at.to_string(),
            created: batch.created_at,
            ended_at: last.filter(|_| ended).map(|at| at.to_string()),
            jobs: jobs.into_iter().map(JobInBatch::from).collect(),
        }
    }

    /// When it was accepted.
    #[must_use]
    pub fn created_at(&self) -> Timestamp {
        self.created
    }

    /// Whether every job has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended_at.is_some()
    }
}

impl From<JobRow> for JobInBatch {
    fn from(row: JobRow) -> Self {
        let error = error_of(&row);
        Self {
            job_id: row.job_id,
            index: row.batch_index,
            filename: row.filename,
            status: row.status,
            stop_reason: row.stop_reason,
            error,
            purged_at: row.purged_at.map(|at| at.to_string()),
        }
    }
}

/// A batch in `GET /batches`: all but its jobs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchSummary {
    batch_id: BatchId,
    status: BatchStatus,
    total: u32,
    template: String,
    #[schema(required, value_type = Option<BTreeMap<JobStatus, u32>>)]
    counts: Option<Box<RawValue>>,
    #[schema(format = DateTime)]
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    ended_at: Option<String>,
}

impl From<BatchRow> for BatchSummary {
    fn from(row: BatchRow) -> Self {
        Self {
            batch_id: row.batch_id,
            status: BatchStatus::of(row.ended_at.is_some()),
            total: row.total,
            template: row.template,
            counts: row.counts,
            created_at: row.created_at.to_string(),
            ended_at: row.ended_at.map(|at| at.to_string()),
        }
    }
}

/// Where a batch stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// One of its jobs has not ended.
    Processing,
    /// All its jobs have ended.
    Ended,
}

impl BatchStatus {
    /// The words used in queries, and whether they mean that all jobs have
    /// ended.
    pub const WORDS: [(&str, bool); 2] = [("processing", false), ("ended", true)];

    fn of(ended: bool) -> Self {
        if ended { Self::Ended } else { Self::Processing }
    }
}

/// When it is worth asking again about something unfinished: soon while it is
/// young, seldom once it has waited long, and not before it is to start.
#[must_use]
pub fn ask_again(created: Timestamp, now: Timestamp, starts: Option<Timestamp>) -> Span {
    let waits = starts.map_or(Span::ZERO, |starts| starts.since(now));
    let young = now.since(created).scaled(1, 10).max(Span::from_secs(1));
    young.max(waits).min(Span::from_secs(30))
}

fn error_of(row: &JobRow) -> Option<JobError> {
    let kind = row.error_type.as_deref()?;
    Some(JobError::new(kind, row.error_message.as_deref().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_later_is_asked_for_later() {
        let at = |second| Timestamp::from_millis(second * 1_000);
        let seconds = |now, starts: Option<u64>| {
            ask_again(at(0), at(now), starts.map(at)).as_secs_rounded_up()
        };
        assert_eq!([seconds(0, None), seconds(50, None), seconds(900, None)], [1, 5, 30]);
        assert_eq!(
            [seconds(0, Some(12)), seconds(50, Some(52)), seconds(0, Some(600))],
            [12, 5, 30]
        );
    }
}
