//! The stores without a world around them: what is asked of them is done, at
//! once. For use cases that only read, remove or change rows.
#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use crate::store_world::{Store, job, job_id};
use claude_pipeline::domain::{
    BatchId, Entropy, JobId, JobStatus, Plan, Priority, Span, TenantId, Timestamp,
};
use claude_pipeline::pipeline::answer::{Answer, Answered};
use claude_pipeline::pipeline::caller::Caller;
use claude_pipeline::pipeline::ports::{
    Ambient, Database, ObjectMeta, Objects, PortResult, Rows, Statement, Upload, Written,
};
use claude_pipeline::pipeline::query::Query;
use claude_pipeline::pipeline::store::{self, NewBatch, NewJob, NewJobs, Tenant};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// A database and a bucket. Removals are written down.
pub(crate) struct Stores {
    pub(crate) store: Store,
    pub(crate) objects: RefCell<BTreeSet<String>>,
    pub(crate) removals: RefCell<Vec<usize>>,
    pub(crate) now: Cell<Timestamp>,
}

impl Stores {
    pub(crate) fn new() -> Self {
        let now = Cell::new(moment(1_000));
        let (objects, removals) = (RefCell::default(), RefCell::default());
        Self { store: Store::new(), objects, removals, now }
    }

    pub(crate) fn insert(&self, jobs: &[NewJob]) {
        self.store.run(store::insert(NewJobs { batch: None, jobs, key: None }));
    }

    /// A batch with a job for each status, made at this second.
    pub(crate) fn batch(
        &self,
        second: u64,
        (tenant, priority): (&str, Priority),
        statuses: &[JobStatus],
    ) -> BatchId {
        let batch = new_batch(second, tenant, priority, statuses.len());
        let jobs: Vec<_> = (0..).zip(statuses).map(|(index, _)| file(&batch, index)).collect();
        self.store.run(store::insert(NewJobs { batch: Some(&batch), jobs: &jobs, key: None }));
        for (job, status) in jobs.iter().zip(statuses) {
            self.set_status(job.job_id, *status);
        }
        batch.batch_id
    }

    /// As if it had gone there by itself, a second after it was made.
    pub(crate) fn set_status(&self, job: JobId, status: JobStatus) {
        let ended = if status.ended() { "created_at + 1000" } else { "NULL" };
        let sql = format!("UPDATE jobs SET status = ?2, completed_at = {ended} WHERE job_id = ?1");
        let values = [job.to_string(), status.as_str().to_owned()];
        self.store.sqlite.execute(&sql, &values.each_ref().map(String::as_str)).unwrap();
    }

    pub(crate) fn look(&self, sql: &str) -> Vec<String> {
        self.store.sqlite.look(sql, &[]).unwrap()
    }
}

impl Database for Stores {
    async fn batch(&self, statements: Vec<Statement>) -> PortResult<Vec<Rows>> {
        self.store.sqlite.batch(&statements)
    }
}

impl Ambient for Stores {
    fn now(&self) -> Timestamp {
        self.now.get()
    }

    fn chance(&self) -> Entropy {
        Entropy(7)
    }

    async fn pause(&self, _: Span) {}
}

impl Objects for Stores {
    type Upload = NoUpload;

    async fn put_new(&self, key: &str, _: &[u8], _: ObjectMeta) -> PortResult<Written> {
        self.objects.borrow_mut().insert(key.to_owned());
        Ok(Written::Wrote)
    }

    async fn head(&self, _: &str) -> PortResult<Option<Vec<(String, String)>>> {
        Ok(None)
    }

    async fn begin_upload(&self, _: &str, _: &'static str) -> PortResult<NoUpload> {
        Ok(NoUpload)
    }

    async fn delete(&self, keys: Vec<String>) -> PortResult<()> {
        self.removals.borrow_mut().push(keys.len());
        self.objects.borrow_mut().retain(|key| !keys.contains(key));
        Ok(())
    }
}

pub(crate) struct NoUpload;

impl Upload for NoUpload {
    async fn part(&mut self, _: &[u8]) -> PortResult<()> {
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        Ok(())
    }

    async fn abort(&mut self) -> PortResult<()> {
        Ok(())
    }
}

pub(crate) fn caller(name: &str) -> Caller {
    let tenant = Tenant {
        tenant_id: tenant(name),
        plan: Plan::Free,
        weight: None,
        daily_input_tokens: None,
        requests_per_minute: None,
        suspended_at: None,
        key_hash: String::new(),
    };
    let (user_id, version, beta, idempotency_key, wait) = (None, None, None, None, None);
    Caller { tenant, user_id, version, beta, idempotency_key, wait }
}

/// `a=1&b=2`, without any escapes.
pub(crate) fn query(text: &str) -> Query {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    Query(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

pub(crate) fn body(answered: Answered) -> Value {
    let Answer { status, body, .. } = answered.unwrap();
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

/// The ids of a list.
pub(crate) fn ids(body: &Value, list: &str, id: &str) -> Vec<String> {
    let rows = body[list].as_array().unwrap();
    rows.iter().map(|row| row[id].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn moment(second: u64) -> Timestamp {
    Timestamp::from_millis(second * 1_000)
}

/// The job of this number, made at this second.
pub(crate) fn made_at(second: u64, number: u64) -> NewJob {
    let job_id = JobId::new(moment(second), [Entropy(number), Entropy(0)]);
    NewJob { job_id, created_at: moment(second), user_id: None, ..job(number) }
}

pub(crate) fn new_batch(second: u64, name: &str, priority: Priority, jobs: usize) -> NewBatch {
    NewBatch {
        batch_id: BatchId::new(moment(second), [Entropy(second), Entropy(3)]),
        tenant_id: tenant(name),
        user_id: Some("ann".to_owned()),
        priority,
        total: u32::try_from(jobs).unwrap(),
        template: "general@1".to_owned(),
        prompt: "sum up".to_owned(),
        created_at: moment(second),
    }
}

pub(crate) fn file(batch: &NewBatch, index: u32) -> NewJob {
    let created = batch.created_at;
    let chances = [Entropy((1 << 20) + u64::from(index)), Entropy(0)];
    NewJob {
        job_id: JobId::new(created, chances),
        batch_id: Some(batch.batch_id),
        batch_index: Some(index),
        filename: Some(format!("{index}.pdf")),
        tenant_id: batch.tenant_id.clone(),
        priority: batch.priority,
        created_at: created,
        ..job(0)
    }
}

pub(crate) fn tenant(name: &str) -> TenantId {
    name.to_owned().try_into().unwrap()
}

/// A job nobody has.
pub(crate) fn nobodys() -> JobId {
    job_id(200)
}
