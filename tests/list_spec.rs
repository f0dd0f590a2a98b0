//! `GET /jobs` and `GET /batches`, over a real `SQLite`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "lists_world/mod.rs"]
mod lists_world;
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::domain::{JobStatus, Priority};
use claude_pipeline::pipeline::list;
use claude_pipeline::pipeline::store::NewJob;
use futures_executor::block_on;
use lists_world::{Stores, body, caller, file, ids, made_at, new_batch, query, tenant};
use serde_json::Value;

use JobStatus::{Canceled, Completed, DeadLettered, Failed, Pending, Running};

fn jobs(stores: &Stores, asked: &str) -> Vec<String> {
    ids(&listed(stores, "acme", asked), "jobs", "jobId")
}

fn listed(stores: &Stores, who: &str, asked: &str) -> Value {
    body(block_on(list::jobs(stores, &caller(who), &query(asked))))
}

fn batches(stores: &Stores, who: &str, asked: &str) -> Value {
    body(block_on(list::batches(stores, &caller(who), &query(asked))))
}

/// Jobs made at seconds 1 to `n`; their ids.
fn with_jobs(n: u64) -> (Stores, Vec<String>) {
    let stores = Stores::new();
    let made: Vec<_> = (1..=n).map(|second| made_at(second, second)).collect();
    stores.insert(&made);
    (stores, made.iter().map(|job| job.job_id.to_string()).collect())
}

#[test]
fn the_newest_come_first_and_a_cursor_leads_on_to_the_end() {
    let (stores, mut ids) = with_jobs(25);
    ids.reverse();
    let first = listed(&stores, "acme", "");
    assert_eq!(first["jobs"].as_array().unwrap().len(), 20);
    let cursor = first["nextCursor"].as_str().unwrap();
    assert_eq!(cursor, format!("{:015}-{}", 6_000, ids[19]));
    let second = listed(&stores, "acme", &format!("cursor={cursor}"));
    assert_eq!(lists_world::ids(&second, "jobs", "jobId"), ids[20..]);
    assert_eq!(second.get("nextCursor"), None);
    assert_eq!(listed(&stores, "acme", "limit=25").get("nextCursor"), None, "nothing is left");
    assert_eq!(jobs(&stores, "limit=1"), ids[..1]);
}

#[test]
fn what_was_long_on_its_way_is_as_new_as_its_acceptance() {
    let stores = Stores::new();
    let slow = NewJob { created_at: lists_world::moment(9), ..made_at(1, 1) };
    let quick = made_at(5, 2);
    stores.insert(std::slice::from_ref(&quick));
    let first = jobs(&stores, "");
    stores.insert(std::slice::from_ref(&slow));
    let [slow, quick] = [slow, quick].map(|job| job.job_id.to_string());
    assert_eq!(first, std::slice::from_ref(&quick));
    assert_eq!(jobs(&stores, ""), [slow.clone(), quick.clone()]);
    let cursor = format!("cursor={:015}-{quick}", 5_000);
    assert_eq!(jobs(&stores, &cursor), [""; 0], "nothing slips in behind what was told");
    assert_eq!(jobs(&stores, "createdAfter=1970-01-01T00:00:06Z"), [slow]);
}

#[test]
fn jobs_are_found_by_status_and_priority() {
    let stores = Stores::new();
    let lane = |second, priority| NewJob { priority, ..made_at(second, second) };
    let made = [lane(1, Priority::Critical), lane(2, Priority::Batch), lane(3, Priority::Critical)];
    stores.insert(&made);
    let id = |at: usize| made[at].job_id.to_string();
    stores.set_status(made[2].job_id, Running);
    assert_eq!(jobs(&stores, "status=pending"), [id(1), id(0)]);
    assert_eq!(jobs(&stores, "priority=critical"), [id(2), id(0)]);
    assert_eq!(jobs(&stores, "priority=critical&status=running"), [id(2)]);
    assert_eq!(jobs(&stores, "priority=standard"), [""; 0]);
    for (second, status) in (4..).zip([Completed, Failed, DeadLettered, Canceled]) {
        let job = made_at(second, second);
        stores.insert(std::slice::from_ref(&job));
        stores.set_status(job.job_id, status);
        let found = jobs(&stores, &format!("status={}", status.as_str()));
        assert_eq!(found, [job.job_id.to_string()]);
    }
}

#[test]
fn jobs_are_found_by_label_and_by_batch() {
    let stores = Stores::new();
    let ann = NewJob { user_id: Some("ann".to_owned()), ..made_at(1, 1) };
    let bob = NewJob { user_id: Some("bob".to_owned()), ..made_at(2, 2) };
    stores.insert(&[ann.clone(), bob, made_at(3, 3)]);
    assert_eq!(jobs(&stores, "userId=ann"), [ann.job_id.to_string()]);
    assert_eq!(jobs(&stores, "userId=ann&status=running"), [""; 0]);
    assert_eq!(jobs(&stores, "userId=carl"), [""; 0]);

    let batch = stores.batch(4, ("acme", Priority::Batch), &[Pending, Completed, Pending]);
    let of = |more: &str| jobs(&stores, &format!("batch={batch}{more}")).len();
    assert_eq!((of(""), of("&status=pending"), of("&priority=critical")), (3, 2, 0));
    assert_eq!((of("&userId=u"), of("&userId=ann"), of("&limit=2")), (3, 0, 2));
    let page = jobs(&stores, &format!("batch={batch}&limit=2"));
    let cursor = format!("{:015}-{}", 4_000, page[1]);
    let rest = jobs(&stores, &format!("batch={batch}&cursor={cursor}"));
    assert_eq!(rest.len(), 1);
}

#[test]
fn a_range_of_time_begins_with_its_first_moment_and_ends_before_its_last() {
    let (stores, ids) = with_jobs(4);
    let at = |second| format!("1970-01-01T00:00:0{second}Z");
    let asked = format!("createdAfter={}&createdBefore={}", at(2), at(4));
    assert_eq!(jobs(&stores, &asked), [ids[2].clone(), ids[1].clone()]);
    let created = listed(&stores, "acme", &asked)["jobs"][1]["createdAt"].clone();
    let since = jobs(&stores, &format!("createdAfter={}", created.as_str().unwrap()));
    assert_eq!(since.last(), Some(&ids[1]), "what an answer said can be asked for");
    let paged = format!("createdBefore={}&cursor={:015}-{}", at(4), 2_000, ids[1]);
    assert_eq!(jobs(&stores, &paged), ids[..1], "the cursor and the range both bound");
}

#[test]
fn what_is_not_understood_is_named() {
    let stores = Stores::new();
    for (asked, field) in [
        ("colour=red", "colour"),
        ("status=done", "status"),
        ("status=ended", "status"),
        ("priority=high", "priority"),
        ("batch=7", "batch"),
        ("createdAfter=yesterday", "createdAfter"),
        ("createdBefore=1796000000", "createdBefore"),
        ("limit=101", "limit"),
        ("cursor=abc", "cursor"),
        ("limit=1&limit=2", "limit"),
    ] {
        let problem = block_on(list::jobs(&stores, &caller("acme"), &query(asked))).unwrap_err();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some(field)), "{asked}");
    }
    for (asked, field) in
        [("status=pending", "status"), ("userId=u", "userId"), ("cursor=x", "cursor")]
    {
        let problem = block_on(list::batches(&stores, &caller("acme"), &query(asked))).unwrap_err();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some(field)), "{asked}");
    }
}

#[test]
fn batches_are_listed_with_their_counts() {
    let stores = Stores::new();
    let old = stores.batch(1, ("acme", Priority::Batch), &[Completed, Failed]);
    let new = stores.batch(2, ("acme", Priority::Critical), &[Pending, Running, Completed]);
    let all = batches(&stores, "acme", "");
    assert_eq!(ids(&all, "batches", "batchId"), [new.to_string(), old.to_string()]);
    let rows = all["batches"].as_array().unwrap();
    let said = r#"{"batchId":"ID","status":"ended","total":2,"template":"general@1","counts":{"canceled":0,"completed":1,"dead-lettered":0,"failed":1,"pending":0,"running":0},"createdAt":"1970-01-01T00:00:01.000Z","endedAt":"1970-01-01T00:00:02.000Z"}"#;
    let said: Value = serde_json::from_str(&said.replace("ID", &old.to_string())).unwrap();
    assert_eq!(rows[1], said);
    assert_eq!((rows[0]["status"].as_str(), rows[0].get("endedAt")), (Some("processing"), None));
    assert_eq!(rows[0]["counts"]["running"], 1);

    let found = |asked: &str| ids(&batches(&stores, "acme", asked), "batches", "batchId");
    assert_eq!(found("status=ended"), [old.to_string()]);
    assert_eq!(found("status=processing"), [new.to_string()]);
    assert_eq!(found("priority=critical"), [new.to_string()]);
    assert_eq!(found("priority=critical&status=ended"), [""; 0]);
    assert_eq!(found("priority=batch&status=processing"), [""; 0]);
    assert_eq!(found("createdAfter=1970-01-01T00:00:02Z"), [new.to_string()]);
    assert_eq!(found("createdBefore=1970-01-01T00:00:02Z&status=processing"), [""; 0]);
    assert_eq!(found("limit=1"), [new.to_string()]);
    assert_eq!(found(&format!("cursor={:015}-{new}", 2_000)), [old.to_string()]);
}

#[test]
fn pages_of_batches_lead_to_the_end_whatever_their_status() {
    let stores = Stores::new();
    for second in 1..=7 {
        stores.batch(second, ("acme", Priority::Batch), &[Completed, Completed]);
        stores.batch(second + 10, ("acme", Priority::Standard), &[Completed, Pending]);
    }
    for (status, count) in [("", 14), ("status=ended&", 7), ("status=processing&", 7)] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = batches(&stores, "acme", &format!("{status}limit=3{cursor}"));
            seen.extend(ids(&page, "batches", "batchId"));
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
        assert_eq!(seen.len(), count, "{status}");
    }
}

#[test]
fn tenants_are_walls() {
    let (stores, ids) = with_jobs(3);
    let theirs = new_batch(9, "bolt", Priority::Batch, 1);
    let file = NewJob { user_id: Some("ann".to_owned()), ..file(&theirs, 0) };
    let batch = stores.batch(9, ("bolt", Priority::Batch), &[Completed]);
    stores.insert(&[NewJob { tenant_id: tenant("bolt"), batch_id: None, ..made_at(8, 8) }]);
    assert_eq!(file.tenant_id, tenant("bolt"));
    assert_eq!(jobs(&stores, "").len(), ids.len());
    assert_eq!(jobs(&stores, &format!("batch={batch}")), [""; 0], "a foreign batch has no jobs");
    assert_eq!(listed(&stores, "bolt", "")["jobs"].as_array().unwrap().len(), 2);
    let cursor = format!("{:015}-{}", 3_000, ids[2]);
    let behind = listed(&stores, "bolt", &format!("cursor={cursor}"));
    assert_eq!(behind["jobs"].as_array().unwrap().len(), 0, "a foreign cursor opens nothing");
    for asked in ["", "status=ended", "status=processing"] {
        assert_eq!(batches(&stores, "acme", asked)["batches"].as_array().unwrap().len(), 0);
    }
}
