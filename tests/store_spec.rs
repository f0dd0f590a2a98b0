//! Every SQL statement of the pipeline, on a real `SQLite`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{Entropy, JobStatus};
use claude_pipeline::pipeline::ports::PortError;
use claude_pipeline::pipeline::store::{self, Claimed, Ended, JobRow, Tenant, Unfinished};
use claude_pipeline::pipeline::store::{KeyHash, Listed, Revoked, Standing};
use store_world::{Store, all, at, batch_id, claim, ending, job, job_id, tenant};

#[test]
fn a_lease_is_claimed_once() {
    let store = Store::with_jobs(&[1]);
    assert_eq!(store.claims(&[claim(1, 1, 1)]), [job_id(1)]);
    assert_eq!(store.claims(&[claim(1, 1, 1)]), []);
    assert_eq!(store.claims(&[claim(1, 2, 2)]), [job_id(1)], "the next lease overtakes");
    assert_eq!(store.claims(&[claim(1, 1, 1)]), [], "and the first comes too late");
    let job = store.job(1);
    assert_eq!((job.status, job.attempts), (JobStatus::Running, 2));
    assert_eq!(job.started_at, Some(at(10)), "the first start stays");
}

#[test]
fn one_statement_claims_many_and_only_those_that_may_run() {
    let store = Store::with_jobs(&[1, 2, 3]);
    store.finish(&[ending(2, 0, JobStatus::Failed)]);
    let claims = [claim(1, 1, 1), claim(2, 1, 1), claim(3, 1, 1), claim(9, 1, 1)];
    assert_eq!(store.claims(&claims), [job_id(1), job_id(3)]);
}

#[test]
fn a_claim_may_be_repeated_by_its_claimant_and_by_nobody_else() {
    let store = Store::with_jobs(&[1]);
    assert_eq!(store.claims_as(7 << 20, &[claim(1, 1, 1)]), [job_id(1)]);
    assert_eq!(store.claims_as(7 << 20, &[claim(1, 1, 1)]), [job_id(1)]);
    assert_eq!(store.claims_as(8 << 20, &[claim(1, 1, 1)]), []);
}

#[test]
fn a_claim_brings_the_prompt_of_its_batch() {
    let store = Store::with_batch(&[1, 2]);
    let rows = store.run(vec![store::claim(&[claim(1, 1, 1)], Entropy(2 << 20), at(10))]);
    let claimed: Vec<Claimed> = rows[0].read().unwrap();
    assert_eq!(claimed[0].prompt.as_deref(), Some("sum up “this”"));
    assert_eq!(claimed[0].input, r#"{"é":1}"#);
}

#[test]
fn only_the_present_lease_ends_an_attempt() {
    let store = Store::with_jobs(&[1]);
    store.claims(&[claim(1, 1, 1)]);
    store.claims(&[claim(1, 2, 2)]);
    assert_eq!(store.finish(&[ending(1, 1, JobStatus::Failed)]), []);
    assert_eq!(store.finish(&[ending(1, 1, JobStatus::Pending)]), []);
    assert_eq!(store.finish(&[ending(1, 2, JobStatus::Pending)]), [JobStatus::Pending]);
    assert_eq!(store.job(1).completed_at, None);
}

#[test]
fn a_late_answer_completes_a_job_that_has_no_result() {
    let store = Store::with_jobs(&[1]);
    store.claims(&[claim(1, 1, 1)]);
    store.claims(&[claim(1, 2, 2)]);
    assert_eq!(store.finish(&[ending(1, 1, JobStatus::Completed)]), [JobStatus::Completed]);
    assert_eq!(store.finish(&[ending(1, 2, JobStatus::Completed)]), [], "one terminal state");
    assert_eq!(store.finish(&[ending(1, 2, JobStatus::Failed)]), []);
    assert_eq!(store.job(1).completed_at, Some(at(20)));
}

#[test]
fn an_ending_may_give_the_attempt_back() {
    let store = Store::with_jobs(&[1]);
    store.claims(&[claim(1, 1, 1)]);
    let mut throttled = ending(1, 1, JobStatus::Pending);
    throttled.attempts = Some(0);
    throttled.error_type = Some("rate_limit_error".to_owned());
    store.finish(&[throttled]);
    let job = store.job(1);
    assert_eq!((job.attempts, job.error_type.as_deref()), (0, Some("rate_limit_error")));
}

#[test]
fn a_job_is_dead_lettered_once_and_keeps_its_reason() {
    let store = Store::with_jobs(&[1, 2, 3]);
    store.claims(&[claim(1, 1, 1), claim(3, 1, 1)]);
    let mut failed = ending(1, 1, JobStatus::Pending);
    failed.error_type = Some("overloaded_error".to_owned());
    store.finish(&[failed, ending(3, 1, JobStatus::Completed)]);
    let bury = || {
        let jobs = [job_id(1), job_id(2), job_id(3)];
        let rows = store.run(vec![store::dead_letter(&jobs, at(30))]);
        rows[0]
            .read::<Ended>()
            .unwrap()
            .into_iter()
            .map(|ended| ended.error_type.unwrap())
            .collect()
    };
    let first: Vec<String> = bury();
    assert_eq!(first, ["overloaded_error", "attempt_lost"]);
    assert_eq!(bury(), Vec::<String>::new());
    assert_eq!(store.job(3).status, JobStatus::Completed);
}

#[test]
fn inserting_again_changes_nothing_not_even_a_job_that_has_begun() {
    let store = Store::with_batch(&[1, 2]);
    store.claims(&[claim(1, 1, 1)]);
    let (batch, jobs) = store_world::batch(&[1, 2]);
    store.run(store::insert(all(Some(&batch), &jobs)));
    assert_eq!(store.job(1).status, JobStatus::Running);
    assert_eq!(store.count("jobs"), 2);
    assert_eq!(store.count("batches"), 1);
}

#[test]
fn what_was_inserted_can_be_taken_back_until_it_begins() {
    let store = Store::with_batch(&[1, 2]);
    let (batch, jobs) = store_world::batch(&[1, 2]);
    store.run(store::remove(all(Some(&batch), &jobs)));
    assert_eq!((store.count("jobs"), store.count("batches")), (0, 0));

    let store = Store::with_jobs(&[1, 2]);
    store.claims(&[claim(1, 1, 1)]);
    store.run(store::remove(all(None, &[job(1), job(2)])));
    assert_eq!(store.count("jobs"), 1);
}

#[test]
fn a_batch_whose_job_has_begun_is_not_torn_apart() {
    let store = Store::with_batch(&[1, 2]);
    store.claims(&[claim(1, 1, 1)]);
    let (batch, jobs) = store_world::batch(&[1, 2]);
    assert!(store.sqlite.batch(&store::remove(all(Some(&batch), &jobs))).is_err());
    assert_eq!((store.count("jobs"), store.count("batches")), (2, 1), "all or none");
}

#[test]
fn an_unclaimed_lease_is_revoked_and_its_message_starts_nothing() {
    let store = Store::with_jobs(&[1, 2, 3]);
    store.claims(&[claim(2, 1, 1)]);
    store.claims(&[claim(3, 1, 1)]);
    store.finish(&[ending(3, 1, JobStatus::Failed)]);
    let leases = [1, 2, 3].map(|number| store_world::lease(number, 1));
    let rows = store.run(vec![store::revoke(&leases), store::standings_of(&leases)]);
    let revoked: Vec<Revoked> = rows[0].read().unwrap();
    assert_eq!(revoked, [Revoked { job_id: job_id(1) }]);
    let standings: Vec<Standing> = rows[1].read().unwrap();
    let seen: Vec<_> = standings.iter().map(|standing| (standing.status, standing.lease)).collect();
    let (pending, running) = (JobStatus::Pending, JobStatus::Running);
    assert_eq!(seen, [(pending, 1), (running, 1), (JobStatus::Failed, 1)]);
    assert_eq!(store.claims(&[claim(1, 1, 1)]), []);
}

#[test]
fn unfinished_jobs_come_in_stretches_even_if_all_came_at_once() {
    let store = Store::with_batch(&(1..=7).collect::<Vec<_>>());
    store.finish(&[ending(4, 0, JobStatus::Failed)]);
    let (mut cursor, mut seen) = (None, Vec::new());
    loop {
        let rows = store.run(vec![store::unfinished_after(cursor, at(5), 2)]);
        let stretch: Vec<Unfinished> = rows[0].read().unwrap();
        seen.extend(stretch.iter().map(|job| job.job_id));
        cursor = stretch.last().map(|job| Listed { at: job.created_at, id: job.job_id });
        if stretch.len() < 2 {
            break;
        }
    }
    assert_eq!(seen, [1, 2, 3, 5, 6, 7].map(job_id));
    let young = store.run(vec![store::unfinished_after(None, at(4), 9)]);
    assert_eq!(young[0].0.len(), 0, "the youngest are on their way still");
}

#[test]
fn unfinished_jobs_tell_the_scheduler_all_it_needs() {
    let store = Store::with_jobs(&[1]);
    store.claims(&[claim(1, 3, 2)]);
    let rows = store.run(vec![store::unfinished_after(None, at(99), 9)]);
    let found: Vec<Unfinished> = rows[0].read().unwrap();
    let found = &found[0];
    assert_eq!((found.attempts, found.lease, found.estimated_input_tokens), (2, 3, 120));
    assert_eq!(found.plan.as_str(), "pro");
}

#[test]
fn tenants_are_walls() {
    let store = Store::with_batch(&[1, 2]);
    let (ours, theirs) = (tenant("acme"), tenant("bolt"));
    let found = |statement| store.run(vec![statement])[0].0.len();
    assert_eq!(found(store::find_job(&ours, job_id(1))), 1);
    assert_eq!(found(store::find_job(&theirs, job_id(1))), 0);
    assert_eq!(found(store::find_batch(&ours, batch_id())), 1);
    assert_eq!(found(store::find_batch(&theirs, batch_id())), 0);
    assert_eq!(found(store::batch_jobs(&ours, batch_id())), 2);
    assert_eq!(found(store::batch_jobs(&theirs, batch_id())), 0);
}

#[test]
fn a_row_reads_back_as_it_was_written() {
    let store = Store::with_batch(&[2, 1]);
    let rows = store.run(vec![store::batch_jobs(&tenant("acme"), batch_id())]);
    let jobs: Vec<JobRow> = rows[0].read().unwrap();
    let order: Vec<_> = jobs.iter().map(|job| (job.job_id, job.batch_index)).collect();
    assert_eq!(order, [(job_id(2), Some(0)), (job_id(1), Some(1))]);
    assert_eq!(jobs[0].filename.as_deref(), Some("schön \"2\".pdf"));
    assert_eq!(jobs[0].metadata.as_ref().unwrap().get(), r#"{"n":1.50,"é":"\u0000"}"#);
    assert_eq!(jobs[0].created_at, at(5));
}

#[test]
fn a_key_leads_to_its_tenant() {
    let store = Store::new();
    let hash = KeyHash::of("secret");
    let values = [hash.to_hex()];
    let sql = "INSERT INTO api_keys (key_hash, tenant_id, prefix, created_at) VALUES (?1, 'acme', 'sec', 0)";
    store.sqlite.execute(sql, &values.each_ref().map(String::as_str)).unwrap();
    let found: Vec<Tenant> = store.run(vec![store::tenant_of_key(hash)])[0].read().unwrap();
    assert_eq!(found[0].tenant_id, tenant("acme"));
    assert_eq!(store.run(vec![store::tenant_of_key(KeyHash::of("other"))])[0].0.len(), 0);
    store.sqlite.execute("UPDATE api_keys SET revoked_at = 1", &[]).unwrap();
    assert_eq!(store.run(vec![store::tenant_of_key(hash)])[0].0.len(), 0, "revoked");
}

#[test]
fn a_broken_constraint_is_our_own_fault_and_undoes_the_whole_batch() {
    let store = Store::new();
    let mut second = job(2);
    second.batch_id = Some(batch_id());
    let statements =
        [store::insert(all(None, &[job(1)])), store::insert(all(None, &[second]))].concat();
    let refused = store.sqlite.batch(&statements);
    assert!(matches!(refused, Err(PortError::Refused(_))), "{refused:?}");
    assert_eq!(store.count("jobs"), 0);
}
