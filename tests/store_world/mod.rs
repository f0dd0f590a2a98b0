//! A database with two tenants, and small jobs to put into it.
#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "test code"
)]
use claude_pipeline::domain::{
    BatchId, Entropy, JobId, JobStatus, Origin, Priority, TenantId, Timestamp,
};
use claude_pipeline::pipeline::ports::{Rows, Statement};
use claude_pipeline::pipeline::store::{
    self, Claim, Claimed, Ended, Ending, JobRow, Lease, NewBatch, NewJob, NewJobs, NewKey,
};
use claude_pipeline::sim::Sqlite;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A database.
pub(crate) struct Store {
    pub(crate) sqlite: Sqlite,
}

impl Store {
    pub(crate) fn new() -> Self {
        let sqlite = Sqlite::open().unwrap();
        let sql =
            "INSERT INTO tenants (tenant_id, name, plan, created_at) VALUES (?1, ?1, 'pro', 0)";
        sqlite.execute(sql, &["acme"]).unwrap();
        sqlite.execute(sql, &["bolt"]).unwrap();
        Self { sqlite }
    }

    /// With jobs of these numbers.
    pub(crate) fn with_jobs(numbers: &[u64]) -> Self {
        let store = Self::new();
        let jobs: Vec<_> = numbers.iter().map(|number| job(*number)).collect();
        store.run(store::insert(all(None, &jobs)));
        store
    }

    /// With a batch of jobs of these numbers, in this order.
    pub(crate) fn with_batch(numbers: &[u64]) -> Self {
        let store = Self::new();
        let (batch, jobs) = batch(numbers);
        store.run(store::insert(all(Some(&batch), &jobs)));
        store
    }

    pub(crate) fn run(&self, statements: Vec<Statement>) -> Vec<Rows> {
        self.sqlite.batch(&statements).unwrap()
    }

    /// Claims; gives the jobs that may begin.
    pub(crate) fn claims(&self, claims: &[Claim]) -> Vec<JobId> {
        self.claims_as(NEXT.fetch_add(1 << 20, Relaxed), claims)
    }

    /// Claims, as one whose earlier answer may have been lost.
    pub(crate) fn claims_as(&self, claimant: u64, claims: &[Claim]) -> Vec<JobId> {
        let rows = self.run(vec![store::claim(claims, Entropy(claimant), at(10))]);
        rows[0].read::<Claimed>().unwrap().into_iter().map(|job| job.job_id).collect()
    }

    /// Ends attempts; gives the new status of the jobs that changed.
    pub(crate) fn finish(&self, endings: &[Ending]) -> Vec<JobStatus> {
        let rows = self.run(vec![store::finish(endings, at(20))]);
        rows[0].read::<Ended>().unwrap().into_iter().map(|job| job.status).collect()
    }

    pub(crate) fn job(&self, number: u64) -> JobRow {
        let rows = self.run(vec![store::find_job(&tenant("acme"), job_id(number))]);
        rows[0].read::<JobRow>().unwrap().pop().unwrap()
    }

    pub(crate) fn count(&self, table: &str) -> u32 {
        let rows = self.sqlite.look(&format!("SELECT count(*) FROM {table}"), &[]).unwrap();
        rows[0].parse().unwrap()
    }
}

impl Drop for Store {
    /// Whatever a test did, no job changed after its end.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.sqlite.broken_laws().unwrap(), Vec::<String>::new());
        }
    }
}

/// Jobs of a request without a key.
pub(crate) fn all<'a>(batch: Option<&'a NewBatch>, jobs: &'a [NewJob]) -> NewJobs<'a> {
    NewJobs { batch, jobs, key: None }
}

pub(crate) fn batch(numbers: &[u64]) -> (NewBatch, Vec<NewJob>) {
    let batch = NewBatch {
        batch_id: batch_id(),
        tenant_id: tenant("acme"),
        user_id: None,
        priority: Priority::Batch,
        total: u32::try_from(numbers.len()).unwrap(),
        template: "general@1".to_owned(),
        prompt: "sum up “this”".to_owned(),
        created_at: at(5),
    };
    let jobs = (0..).zip(numbers).map(|(index, number)| NewJob {
        batch_id: Some(batch_id()),
        batch_index: Some(index),
        filename: Some(format!("schön \"{number}\".pdf")),
        ..job(*number)
    });
    let jobs = jobs.collect();
    (batch, jobs)
}

/// All jobs were made in the same millisecond.
pub(crate) fn job(number: u64) -> NewJob {
    NewJob {
        job_id: job_id(number),
        batch_id: None,
        batch_index: None,
        filename: None,
        tenant_id: tenant("acme"),
        user_id: Some("u".to_owned()),
        priority: Priority::Batch,
        origin: Origin::BatchJob,
        model: "claude-sonnet-4-6".to_owned(),
        estimated_input_tokens: 120,
        max_output_tokens: 64,
        input: r#"{"é":1}"#.to_owned(),
        metadata: Some(r#"{"n":1.50,"é":"\u0000"}"#.to_owned()),
        created_at: at(5),
    }
}

/// A key used by the request that makes the job of this number.
pub(crate) fn key(name: &str, number: u64) -> NewKey {
    NewKey {
        tenant_id: tenant("acme"),
        key: name.to_owned(),
        fingerprint: "f".to_owned(),
        location: format!("/jobs/{}", job_id(number)),
        answer: format!("{{\"number\":{number}}}"),
        created_at: at(100),
        expired_before: at(50),
    }
}

pub(crate) fn claim(number: u64, lease: u32, attempt: u32) -> Claim {
    Claim { job_id: job_id(number), lease, attempt }
}

pub(crate) fn lease(number: u64, lease: u32) -> Lease {
    Lease { job: job_id(number), lease, attempt: 1 }
}

pub(crate) fn ending(number: u64, lease: u32, status: JobStatus) -> Ending {
    Ending {
        job_id: job_id(number),
        lease,
        status,
        attempts: None,
        input_tokens: Some(7),
        output_tokens: Some(8),
        stop_reason: None,
        error_type: None,
        error_message: None,
    }
}

pub(crate) fn job_id(number: u64) -> JobId {
    JobId::new(at(5), [Entropy(number << 56), Entropy(0)])
}

pub(crate) fn batch_id() -> BatchId {
    BatchId::new(at(5), [Entropy(1), Entropy(1)])
}

pub(crate) fn tenant(name: &str) -> TenantId {
    name.to_owned().try_into().unwrap()
}

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Every claimant draws another number.
static NEXT: AtomicU64 = AtomicU64::new(1 << 20);
