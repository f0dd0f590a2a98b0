//! How `SQLite` carries the hot statements out: no table is read from end to
//! end, and nothing is sorted that an index could keep in order.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{Entropy, JobStatus};
use claude_pipeline::pipeline::ports::Statement;
use claude_pipeline::pipeline::store::{self, KeyHash};
use store_world::{Store, at, batch, batch_id, claim, ending, job_id, lease, tenant};

#[test]
fn no_hot_statement_reads_a_whole_table() {
    let store = Store::with_batch(&[1, 2, 3]);
    for (name, statement) in hot() {
        let plan = store.sqlite.plan(&statement).unwrap();
        let scans: Vec<_> = plan.iter().filter(|line| scans_a_table(line)).collect();
        assert!(scans.is_empty(), "{name}: {scans:?} of {plan:#?}");
    }
}

#[test]
fn jobs_of_a_batch_come_sorted_from_their_index() {
    let store = Store::with_batch(&[1, 2, 3]);
    let plan = store.sqlite.plan(&store::batch_jobs(&tenant("acme"), batch_id())).unwrap();
    assert!(plan.iter().any(|line| line.contains("jobs_by_batch")), "{plan:?}");
    assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{plan:?}");
}

#[test]
fn the_sweep_begins_where_it_stopped() {
    let store = Store::with_batch(&[1, 2, 3]);
    let statement = store::unfinished_after(Some(job_id(2)), at(9), 1_000);
    let plan = store.sqlite.plan(&statement).unwrap();
    let search = plan.iter().find(|line| line.contains("jobs")).unwrap();
    assert!(search.starts_with("SEARCH jobs USING INDEX"), "{plan:?}");
}

#[test]
fn a_planted_scan_is_found() {
    let store = Store::new();
    let sql = "SELECT input AS row FROM jobs WHERE input > 0";
    let statement = Statement { sql, values: vec![] };
    let plan = store.sqlite.plan(&statement).unwrap();
    assert!(plan.iter().any(|line| scans_a_table(line)), "{plan:?}");
}

/// Lists in JSON are read from end to end, as they should be.
fn scans_a_table(line: &str) -> bool {
    let list = line.contains("VIRTUAL TABLE") || line.contains("json_each");
    line.starts_with("SCAN") && !list && !line.contains("CONSTANT ROW")
}

fn hot() -> Vec<(&'static str, Statement)> {
    let acme = tenant("acme");
    let (new_batch, jobs) = batch(&[1, 2]);
    let mut hot = vec![
        ("claim", store::claim(&[claim(1, 1, 1)], Entropy(1), at(9))),
        ("finish", store::finish(&[ending(1, 1, JobStatus::Completed)], at(9))),
        ("dead_letter", store::dead_letter(&[job_id(1)], at(9))),
        ("revoke", store::revoke(&[lease(1, 1)])),
        ("standings", store::standings(&[job_id(1)])),
        ("unfinished_after", store::unfinished_after(Some(job_id(1)), at(9), 10)),
        ("unfinished_after, from the beginning", store::unfinished_after(None, at(9), 10)),
        ("find_job", store::find_job(&acme, job_id(1))),
        ("find_batch", store::find_batch(&acme, batch_id())),
        ("batch_jobs", store::batch_jobs(&acme, batch_id())),
        ("tenant_of_key", store::tenant_of_key(KeyHash::of("k"))),
    ];
    hot.extend(store::insert(Some(&new_batch), &jobs).into_iter().map(|one| ("insert", one)));
    hot.extend(store::remove(Some(&new_batch), &jobs).into_iter().map(|one| ("remove", one)));
    hot
}
