//! Pages of jobs and batches, the newest first.
//!
//! A tenant's jobs lie in lanes, one for each status and priority. Of every
//! lane that fits, a page is read from the index, and the newest of all are the
//! page: what is read does not grow with what a tenant has. (One branch of a
//! `UNION ALL` for each lane would say the same; D1 takes five.)
use super::job_row::select_jobs;
use super::{list, statement, text};
use crate::domain::{BatchId, JobStatus, Priority, TenantId};
use crate::pipeline::ports::{Statement, Value};

/// Which jobs or batches a page is of.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// Whose.
    pub tenant: &'a TenantId,
    /// Of this priority.
    pub priority: Option<Priority>,
    /// From this [`super::Listed`] on, or from what begins it.
    pub from: Option<String>,
    /// Up to this one, which is not on the page.
    pub below: Option<String>,
    /// So many at most.
    pub limit: u32,
}

/// Which of the tenant's jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobsOf<'a> {
    /// Of this status.
    pub status: Option<JobStatus>,
    /// Of this batch.
    pub batch: Option<BatchId>,
    /// With this label.
    pub user_id: Option<&'a str>,
}

/// Reads a page of a tenant's jobs: [`super::JobRow`]s.
#[must_use]
pub fn list_jobs(page: &Page<'_>, of: &JobsOf<'_>) -> Statement {
    let of_status = JobStatus::ALL.iter().filter(|each| of.status.is_none_or(|it| it == **each));
    let lanes = |status| priorities(page.priority).map(move |priority| (status, priority));
    let lanes: Vec<_> = of_status.flat_map(lanes).collect();
    let [tenant, from, below, limit] = bounds(page);
    let common = [tenant, list(&lanes), from, below, limit];
    let user = text(&of.user_id.unwrap_or_default());
    let (sql, more) = match (of.batch, of.user_id) {
        (Some(batch), _) => (LIST_JOBS_OF_BATCH, vec![text(&batch), user]),
        (None, Some(_)) => (LIST_JOBS_OF_USER, vec![user]),
        (None, None) => (LIST_JOBS, Vec::new()),
    };
    Statement { sql, values: common.into_iter().chain(more).collect() }
}

/// Reads a page of a tenant's batches: [`super::BatchRow`]s with their counts.
/// `ended`: only those that have, or have not.
#[must_use]
pub fn list_batches(page: &Page<'_>, ended: Option<bool>) -> Statement {
    let lanes: Vec<_> = priorities(page.priority).collect();
    let [tenant, from, below, limit] = bounds(page);
    let sql = match ended {
        None => LIST_BATCHES,
        Some(true) => LIST_ENDED_BATCHES,
        Some(false) => LIST_PROCESSING_BATCHES,
    };
    statement(sql, [tenant, list(&lanes), from, below, limit])
}

fn priorities(wanted: Option<Priority>) -> impl Iterator<Item = Priority> {
    Priority::ALL.into_iter().filter(move |each| wanted.is_none_or(|it| it == *each))
}

/// Places begin with a digit: the empty text sorts before them, and "g" behind.
fn bounds(page: &Page<'_>) -> [Value; 4] {
    let from = page.from.clone().unwrap_or_default();
    let below = page.below.clone().unwrap_or_else(|| "g".to_owned());
    let limit = Value::Integer(page.limit.into());
    [text(page.tenant), Value::Text(from), Value::Text(below), limit]
}

/// The newest ids of the lanes: of each, those that `$lane` reads. What is
/// listed ends in the id.
macro_rules! newest {
    ($lane:literal) => {
        concat!(
            "
  (SELECT substr(place.value, 17) FROM json_each(?2) AS lane, json_each((
    SELECT json_group_array(listed) FROM (SELECT listed FROM ",
            $lane,
            "
      AND listed >= ?3 AND listed < ?4 ORDER BY listed DESC LIMIT ?5))) AS place
   ORDER BY place.value DESC LIMIT ?5)"
        )
    };
}

macro_rules! select_batches {
    ($ids:expr) => {
        concat!(
            "
SELECT json_object('batchId', b.batch_id, 'total', total, 'template', template,
  'createdAt', b.created_at,
  'counts', json_object(
    'canceled', sum(status = 'canceled'), 'completed', sum(status = 'completed'),
    'dead-lettered', sum(status = 'dead-lettered'), 'failed', sum(status = 'failed'),
    'pending', sum(status = 'pending'), 'running', sum(status = 'running')),
  'endedAt', CASE WHEN sum(status IN ('pending', 'running')) = 0 THEN max(completed_at) END
) AS row
FROM batches AS b CROSS JOIN jobs ON jobs.batch_id = b.batch_id
WHERE b.batch_id IN",
            $ids,
            "
GROUP BY b.batch_id ORDER BY b.listed DESC"
        )
    };
}

const LIST_JOBS: &str = select_jobs!(concat!(
    "WHERE job_id IN",
    newest!(
        "jobs
      WHERE tenant_id = ?1 AND status = lane.value->>0 AND priority = lane.value->>1"
    ),
    " ORDER BY listed DESC"
));

const LIST_JOBS_OF_USER: &str = select_jobs!(concat!(
    "WHERE job_id IN",
    newest!(
        "jobs
      WHERE tenant_id = ?1 AND user_id = ?6
      AND status = lane.value->>0 AND priority = lane.value->>1"
    ),
    " ORDER BY listed DESC"
));

/// A batch has a hundred jobs at most: they are read, and sifted.
const LIST_JOBS_OF_BATCH: &str = select_jobs!(
    "WHERE job_id IN
  (SELECT job_id FROM jobs
   WHERE batch_id = ?6 AND tenant_id = ?1 AND (?7 = '' OR user_id = ?7)
     AND json_array(status, priority) IN (SELECT value FROM json_each(?2))
     AND +listed >= ?3 AND +listed < ?4
   ORDER BY listed DESC LIMIT ?5)
ORDER BY listed DESC"
);

const LIST_BATCHES: &str = select_batches!(newest!(
    "batches
      WHERE tenant_id = ?1 AND priority = lane.value"
));

/// Those that have not ended are few: what a tenant may have in line is bounded.
const LIST_ENDED_BATCHES: &str = select_batches!(newest!(
    "batches
      WHERE tenant_id = ?1 AND priority = lane.value
      AND substr(listed, 17) NOT IN (SELECT +batch_id FROM jobs
        WHERE tenant_id = ?1 AND status IN ('pending', 'running') AND +batch_id IS NOT NULL)"
));

const LIST_PROCESSING_BATCHES: &str = select_batches!(
    "
  (SELECT batch_id FROM batches
   WHERE batch_id IN (SELECT DISTINCT +batch_id FROM jobs
       WHERE tenant_id = ?1 AND status IN ('pending', 'running')
         AND priority IN (SELECT value FROM json_each(?2)))
     AND +listed >= ?3 AND +listed < ?4
   ORDER BY +listed DESC LIMIT ?5)"
);
