//! How `SQLite` carries the hot statements out: no table is read from end to
//! end, and nothing is sorted that an index could keep in order.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{Entropy, JobId, JobStatus, Priority, TenantId};
use claude_pipeline::pipeline::ports::Statement;
use claude_pipeline::pipeline::store::{self, JobsOf, KeyHash, Listed, NewJobs, Page};
use store_world::{Store, all, at, batch, batch_id, claim, ending, job_id, key, lease, tenant};

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
fn a_page_is_read_from_the_index_that_keeps_its_order() {
    let store = Store::with_batch(&[1, 2, 3]);
    for (name, statement, index) in lists(&tenant("acme")) {
        let plan = store.sqlite.plan(&statement).unwrap();
        assert!(plan.iter().any(|line| line.contains(index)), "{name}: {plan:#?}");
    }
}

#[test]
fn an_operators_pages_come_sorted_from_their_indexes() {
    let store = Store::new();
    for statement in [
        store::tenants_after(None, 20),
        store::audit_before(None, None, 20),
        store::audit_before(Some(&tenant("acme")), Some(9), 20),
    ] {
        let plan = store.sqlite.plan(&statement).unwrap();
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{plan:?}");
    }
}

#[test]
fn old_jobs_are_found_by_their_age() {
    let store = Store::new();
    let plan = store.sqlite.plan(&store::ended_before(at(9), 1_000)).unwrap();
    let index = "SEARCH jobs USING INDEX jobs_by_status (status=? AND created_at<?)";
    assert_eq!(plan, [index]);
}

#[test]
fn the_sweep_begins_where_it_stopped() {
    let store = Store::with_batch(&[1, 2, 3]);
    let statement = store::unfinished_after(Some(place(2)), at(9), 1_000);
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

/// Lists in JSON are read from end to end, as they should be, and so is the
/// page of a lane.
fn scans_a_table(line: &str) -> bool {
    let list = line.contains("VIRTUAL TABLE") || line.contains("json_each");
    let list = list || line.contains("(subquery-");
    line.starts_with("SCAN") && !list && !line.contains("CONSTANT ROW")
}

/// What a list is of, how it is read, and the index it is read from.
fn lists(acme: &TenantId) -> [(&'static str, Statement, &'static str); 6] {
    let (priority, limit) = (Some(Priority::Batch), 21);
    let place = |second| Some(store::beginning(at(second)));
    let (from, below) = (place(1), place(9));
    let page = Page { tenant: acme, priority, from, below, limit };
    let jobs = |of| store::list_jobs(&page, &of);
    let user = JobsOf { user_id: Some("u"), ..JobsOf::default() };
    let batch = JobsOf { batch: Some(batch_id()), ..JobsOf::default() };
    let batches = |ended| store::list_batches(&page, ended);
    [
        ("jobs", jobs(JobsOf::default()), JOBS_BY_TENANT),
        ("jobs of a label", jobs(user), JOBS_BY_USER),
        ("jobs of a batch", jobs(batch), "INDEX jobs_by_batch (batch_id=?)"),
        ("batches", batches(None), BATCHES_BY_TENANT),
        ("ended batches", batches(Some(true)), BATCHES_BY_TENANT),
        ("processing batches", batches(Some(false)), UNFINISHED),
    ]
}

const JOBS_BY_TENANT: &str = "COVERING INDEX jobs_by_tenant \
    (tenant_id=? AND status=? AND priority=? AND listed>? AND listed<?)";
const JOBS_BY_USER: &str = "COVERING INDEX jobs_by_user \
    (tenant_id=? AND user_id=? AND status=? AND priority=? AND listed>? AND listed<?)";
const BATCHES_BY_TENANT: &str = "COVERING INDEX batches_by_tenant \
    (tenant_id=? AND priority=? AND listed>? AND listed<?)";
const UNFINISHED: &str = "INDEX jobs_by_tenant (tenant_id=? AND status=? AND priority=?)";

fn hot() -> Vec<(&'static str, Statement)> {
    let acme = tenant("acme");
    let (new_batch, jobs) = batch(&[1, 2]);
    let mut hot = vec![
        ("claim", store::claim(&[claim(1, 1, 1)], Entropy(1), at(9))),
        ("finish", store::finish(&[ending(1, 1, JobStatus::Completed)], at(9))),
        ("dead_letter", store::dead_letter(&[job_id(1)], at(9))),
        ("revoke", store::revoke(&[lease(1, 1)])),
        ("standings", store::standings(&[job_id(1)])),
        ("unfinished_after", store::unfinished_after(Some(place(1)), at(9), 10)),
        ("unfinished_after, from the beginning", store::unfinished_after(None, at(9), 10)),
        ("find_job", store::find_job(&acme, job_id(1))),
        ("find_batch", store::find_batch(&acme, batch_id())),
        ("batch_jobs", store::batch_jobs(&acme, batch_id())),
        ("find_key", store::find_key(&acme, "k", at(1))),
        ("forget_keys", store::forget_keys(at(1), 10)),
        ("cancel_job", store::cancel_job(&acme, job_id(1), at(9))),
        ("cancel_batch", store::cancel_batch(&acme, batch_id(), at(9))),
        ("purge_jobs", store::purge_jobs(&acme, &[job_id(1)], at(9))),
        ("purge_batch", store::purge_batch(&acme, batch_id())),
        ("forget_names", store::forget_names(&acme, batch_id(), &[job_id(1)])),
        ("ended_before", store::ended_before(at(9), 1_000)),
        ("unwanted", store::unwanted(&[job_id(1)])),
        ("tenant_of_key", store::tenant_of_key(KeyHash::of("k"))),
    ];
    let key = &key("k", 1);
    let new = NewJobs { key: Some(key), ..all(Some(&new_batch), &jobs) };
    hot.extend(store::insert(new).into_iter().map(|one| ("insert", one)));
    hot.extend(lists(&acme).into_iter().map(|(name, statement, _)| (name, statement)));
    let retire = store::retire(&[job_id(1)], &[batch_id()]);
    hot.extend(retire.into_iter().map(|one| ("retire", one)));
    hot.extend(store::remove(new).into_iter().map(|one| ("remove", one)));
    hot.extend(operators());
    hot
}

fn place(number: u64) -> Listed<JobId> {
    Listed { at: at(1), id: job_id(number) }
}

fn operators() -> Vec<(&'static str, Statement)> {
    let acme = tenant("acme");
    let hash = KeyHash::of("k");
    let changes = [
        ("create_tenant", store::create_tenant(&acme, "{}", at(1))),
        ("change_tenant", store::change_tenant(&acme, r#"{"weight":2}"#, at(1))),
        ("create_key", store::create_key(&acme, r#"{"prefix":"k"}"#, hash, at(1))),
        ("revoke_key", store::revoke_key(&acme, "k", at(1))),
    ];
    let changes = changes.into_iter().flat_map(|(name, statements)| {
        statements.into_iter().map(move |statement| (name, statement))
    });
    let reads = [
        ("tenants_after", store::tenants_after(Some(&acme), 20)),
        ("keys_of", store::keys_of(&acme, "cpk_")),
        ("audit_before", store::audit_before(None, Some(9), 20)),
        ("audit_before, of a tenant", store::audit_before(Some(&acme), None, 20)),
    ];
    changes.chain(reads).collect()
}
