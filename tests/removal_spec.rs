//! Purging and retention: what goes, what stays, and in which order.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "lists_world/mod.rs"]
mod lists_world;
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{BatchId, JobId, JobStatus, Priority, Span, Timestamp};
use claude_pipeline::pipeline::input::{input_key, message_key, result_key, upload_key};
use claude_pipeline::pipeline::problem::Problem;
use claude_pipeline::pipeline::read::Format;
use claude_pipeline::pipeline::store::{self, NewJob, Revoked};
use claude_pipeline::pipeline::{purge, read, retention};
use futures_executor::block_on;
use lists_world::{Stores, body, caller, made_at, moment, new_batch, nobodys, query};
use serde_json::Value;

use JobStatus::{Canceled, Completed, DeadLettered, Failed, Pending, Running};

/// A job of this status, made at this second, with all it can have in R2.
fn with_job(stores: &Stores, second: u64, status: JobStatus) -> JobId {
    let job = NewJob { user_id: Some("ann".to_owned()), ..made_at(second, second) };
    stores.insert(std::slice::from_ref(&job));
    let sql = "UPDATE jobs SET error_type = 'api_error', error_message = 'told', attempts = 2,
        input_tokens = 7, output_tokens = 8 WHERE job_id = ?1";
    stores.store.sqlite.execute(sql, &[&job.job_id.to_string()]).unwrap();
    stores.set_status(job.job_id, status);
    let keys = [input_key(job.job_id), result_key(job.job_id), message_key(job.job_id)];
    stores.objects.borrow_mut().extend(keys);
    job.job_id
}

/// A batch of tenant acme with such jobs, and their files and results.
fn with_batch(stores: &Stores, second: u64, statuses: &[JobStatus]) -> BatchId {
    let batch = stores.batch(second, ("acme", Priority::Batch), statuses);
    for index in 0..u32::try_from(statuses.len()).unwrap() {
        let model = new_batch(second, "acme", Priority::Batch, statuses.len());
        let job = lists_world::file(&model, index).job_id;
        stores.objects.borrow_mut().extend([upload_key(batch, job), result_key(job)]);
    }
    batch
}

fn purged(stores: &Stores, who: &str, job: JobId) -> Result<Value, Problem> {
    block_on(purge::job(stores, &caller(who), job)).map(|answer| body(Ok(answer)))
}

fn purged_batch(stores: &Stores, who: &str, batch: BatchId) -> Result<Value, Problem> {
    block_on(purge::batch(stores, &caller(who), batch)).map(|answer| body(Ok(answer)))
}

fn retire(stores: &Stores, older_than: Span) -> usize {
    block_on(retention::retire(stores, older_than)).unwrap()
}

#[test]
fn a_purged_job_keeps_what_it_cost_and_nothing_of_what_it_said() {
    for status in [Completed, Failed, DeadLettered, Canceled] {
        let stores = Stores::new();
        let job = with_job(&stores, 1, status);
        let view = purged(&stores, "acme", job).unwrap();
        assert_eq!(view["status"], status.as_str());
        assert_eq!((&view["attempts"], &view["inputTokens"]), (&2.into(), &7.into()));
        assert_eq!(view["createdAt"], "1970-01-01T00:00:01.000Z");
        assert_eq!(view["purgedAt"], moment(1_000).to_string());
        assert_eq!(view["error"]["type"], "api_error");
        assert_eq!(view["error"]["message"], "");
        for gone in ["resultUrl", "metadata", "userId", "filename"] {
            assert_eq!(view.get(gone), None, "{gone}");
        }
        assert!(stores.objects.borrow().is_empty());
        let row =
            stores.look("SELECT input || ifnull(metadata, '') || ifnull(user_id, '') FROM jobs");
        assert_eq!(row, [""]);
    }
}

#[test]
fn purging_again_answers_the_same_and_tells_the_first_time() {
    let stores = Stores::new();
    let job = with_job(&stores, 1, Completed);
    let first = purged(&stores, "acme", job).unwrap();
    stores.now.set(moment(2_000));
    assert_eq!(purged(&stores, "acme", job).unwrap(), first);
}

#[test]
fn the_result_of_a_purged_job_is_gone_for_good() {
    let stores = Stores::new();
    let job = with_job(&stores, 1, Completed);
    let result = |asked: &str| block_on(read::result(&stores, &caller("acme"), job, &query(asked)));
    assert_eq!(result(""), Ok(Format::Text));
    assert_eq!(result("format=message"), Ok(Format::Message));
    assert_eq!(result("format=html").unwrap_err().field.as_deref(), Some("format"));
    purged(&stores, "acme", job).unwrap();
    assert_eq!(result(""), Err(Problem::purged()));
    assert_eq!(Problem::purged().status, 410);
    let pending = with_job(&stores, 2, Pending);
    let none = block_on(read::result(&stores, &caller("acme"), pending, &query("")));
    assert_eq!(none.unwrap_err().status, 409);
    let foreign = block_on(read::result(&stores, &caller("bolt"), pending, &query("")));
    assert_eq!(foreign, Err(Problem::not_found()));
}

#[test]
fn what_has_not_ended_is_to_be_canceled_first() {
    let stores = Stores::new();
    for (second, status) in [(1, Pending), (2, Running)] {
        let job = with_job(&stores, second, status);
        let problem = purged(&stores, "acme", job).unwrap_err();
        assert_eq!((problem.status, problem.kind), (409, "not-ended"));
        assert_eq!(problem.job_status, Some(status));
    }
    let batch = with_batch(&stores, 3, &[Completed, Running]);
    let problem = purged_batch(&stores, "acme", batch).unwrap_err();
    assert_eq!((problem.status, problem.kind), (409, "not-ended"));
    assert_eq!(problem.detail, "1 of its jobs have not ended; cancel the batch first");
    assert!(stores.removals.borrow().is_empty(), "nothing was touched");
    assert_eq!(stores.look("SELECT count(*) FROM jobs WHERE purged_at IS NOT NULL"), ["0"]);
}

#[test]
fn a_purged_batch_keeps_its_counts_and_no_prompt() {
    let stores = Stores::new();
    let batch = with_batch(&stores, 1, &[Completed, Failed]);
    let view = purged_batch(&stores, "acme", batch).unwrap();
    assert_eq!((&view["counts"]["completed"], &view["counts"]["failed"]), (&1.into(), &1.into()));
    for job in view["jobs"].as_array().unwrap() {
        assert_eq!((job.get("filename"), job["purgedAt"].is_string()), (None, true));
    }
    assert!(stores.objects.borrow().is_empty());
    assert_eq!(stores.look("SELECT prompt || ifnull(user_id, '') FROM batches"), [""]);
    assert_eq!(purged_batch(&stores, "acme", batch).unwrap(), view);
}

#[test]
fn nobody_purges_what_belongs_to_others_or_to_nobody() {
    let stores = Stores::new();
    let job = with_job(&stores, 1, Completed);
    let batch = with_batch(&stores, 2, &[Completed]);
    assert_eq!(purged(&stores, "bolt", job), Err(Problem::not_found()));
    assert_eq!(purged(&stores, "acme", nobodys()), Err(Problem::not_found()));
    assert_eq!(purged_batch(&stores, "bolt", batch), Err(Problem::not_found()));
    assert_eq!(stores.objects.borrow().len(), 5);
    assert_eq!(stores.look("SELECT count(*) FROM jobs WHERE purged_at IS NOT NULL"), ["0"]);
}

#[test]
fn a_late_result_of_a_job_without_content_is_unwanted() {
    let stores = Stores::new();
    let [kept, canceled] =
        [(1, Completed), (2, Canceled)].map(|(second, status)| with_job(&stores, second, status));
    let gone = with_job(&stores, 3, Completed);
    purged(&stores, "acme", gone).unwrap();
    let rows = stores.store.run(vec![store::unwanted(&[kept, canceled, gone, nobodys()])]);
    let unwanted: Vec<Revoked> = rows[0].read().unwrap();
    let ids: Vec<_> = unwanted.iter().map(|job| job.job_id).collect();
    assert_eq!(ids, [canceled, gone, nobodys()]);
}

#[test]
fn a_job_goes_when_it_has_been_over_for_long_enough() {
    let stores = Stores::new();
    let old = [(1, Completed), (2, Failed), (3, DeadLettered), (4, Canceled)]
        .map(|(second, status)| with_job(&stores, second, status));
    let young = with_job(&stores, 899, Completed);
    let waits = with_job(&stores, 5, Pending);
    let runs = with_job(&stores, 6, Running);
    assert_eq!(retire(&stores, Span::from_secs(2_000)), 0, "time has hardly begun");
    assert_eq!(retire(&stores, Span::from_secs(100)), old.len());
    let left = stores.look("SELECT job_id FROM jobs ORDER BY job_id");
    assert_eq!(left, [waits, runs, young].map(|job| job.to_string()));
    assert!(
        stores
            .objects
            .borrow()
            .iter()
            .all(|key| !old.iter().any(|job| { key.contains(&job.to_string()) }))
    );
    assert_eq!(stores.objects.borrow().len(), 9);
    stores.now.set(Timestamp::from_millis(1_000_001));
    assert_eq!(retire(&stores, Span::from_secs(100)), 1, "the moment counts, to the millisecond");
}

#[test]
fn a_batch_goes_with_its_last_job() {
    let stores = Stores::new();
    let over = with_batch(&stores, 1, &[Completed, Canceled]);
    let half = with_batch(&stores, 2, &[Completed, Running]);
    assert_eq!(retire(&stores, Span::from_secs(100)), 3);
    assert_eq!(stores.look("SELECT batch_id FROM batches"), [half.to_string()]);
    assert!(!stores.objects.borrow().iter().any(|key| key.contains(&over.to_string())));
    let view = block_on(read::batch(&stores, &caller("acme"), half)).unwrap();
    assert_eq!(body(Ok(view))["counts"]["running"], 1);
}

#[test]
fn a_run_removes_a_thousand_jobs_and_no_more_keys_at_once_than_r2_takes() {
    let stores = Stores::new();
    let jobs: Vec<_> = (1..=1_500).map(|number| made_at(1, number)).collect();
    stores.insert(&jobs);
    let sql = "UPDATE jobs SET status = 'completed', completed_at = 2000";
    stores.store.sqlite.execute(sql, &[]).unwrap();
    assert_eq!(retire(&stores, Span::from_secs(100)), 1_000);
    assert_eq!(*stores.removals.borrow(), [1_000; 3]);
    assert_eq!(retire(&stores, Span::from_secs(100)), 500);
    assert_eq!(retire(&stores, Span::from_secs(100)), 0);
    assert_eq!(stores.store.count("jobs"), 0);
}

#[test]
fn idempotency_keys_are_forgotten_when_they_are_free_again() {
    let stores = Stores::new();
    let sql = "INSERT INTO idempotency VALUES ('acme', ?1, '', '', '{}', ?2)";
    for (key, millis) in [("old", "1000"), ("new", "90000000")] {
        let sql = sql.replace("?2", millis);
        stores.store.sqlite.execute(&sql, &[key]).unwrap();
    }
    stores.now.set(moment(86_400 + 2));
    assert_eq!(retire(&stores, Span::from_secs(86_400 * 30)), 0);
    assert_eq!(stores.look("SELECT key FROM idempotency"), ["new"]);
}
