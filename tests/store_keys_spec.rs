//! Requests that name a key, as the database tells them apart.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "store_world/mod.rs"]
mod store_world;

use claude_pipeline::pipeline::store::{self, Earlier, NewJobs, NewKey};
use store_world::{Store, all, at, batch, batch_id, job, job_id, key, tenant};

#[test]
fn the_first_request_with_a_key_makes_its_job_and_the_second_none() {
    let store = Store::new();
    let first = insert(&store, 1, &key("k", 1));
    assert_eq!(first.location, format!("/jobs/{}", job_id(1)));
    assert_eq!(insert(&store, 2, &key("k", 2)), first);
    assert_eq!(store.count("jobs"), 1);
}

#[test]
fn a_request_whose_answer_was_lost_finds_its_own_key() {
    let store = Store::new();
    let once = insert(&store, 1, &key("k", 1));
    assert_eq!(insert(&store, 1, &key("k", 1)), once);
    assert_eq!(store.count("jobs"), 1);
}

#[test]
fn another_key_and_another_tenant_are_independent() {
    let store = Store::new();
    let other = NewKey { tenant_id: tenant("bolt"), ..key("k", 3) };
    for (number, key) in [(1, key("k", 1)), (2, key("l", 2)), (3, other)] {
        assert_eq!(insert(&store, number, &key).location, key.location);
    }
    assert_eq!(store.count("jobs"), 3);
}

#[test]
fn a_key_is_free_again_after_a_day() {
    let store = Store::new();
    insert(&store, 1, &key("k", 1));
    assert_eq!(find(&store, 100).unwrap().location, key("k", 1).location);
    assert_eq!(find(&store, 101), None);
    let later = NewKey { created_at: at(200), expired_before: at(101), ..key("k", 2) };
    assert_eq!(insert(&store, 2, &later).location, later.location);
    assert_eq!((store.count("jobs"), store.count("idempotency")), (2, 1));
}

#[test]
fn a_batch_comes_with_its_key_or_not_at_all() {
    let store = Store::new();
    insert(&store, 9, &key("k", 9));
    let (batch, jobs) = batch(&[1, 2]);
    let location = format!("/batches/{}", batch_id());
    let new = NewKey { location, ..key("k", 1) };
    let before = store.run(store::insert(NewJobs { key: Some(&new), ..all(Some(&batch), &jobs) }));
    assert_eq!(before[1].read::<Earlier>().unwrap()[0].location, key("k", 9).location);
    assert_eq!((store.count("jobs"), store.count("batches")), (1, 0));
    let new = NewKey { key: "l".to_owned(), ..new };
    store.run(store::insert(NewJobs { key: Some(&new), ..all(Some(&batch), &jobs) }));
    assert_eq!((store.count("jobs"), store.count("batches")), (3, 1));
}

#[test]
fn what_is_taken_back_gives_its_key_back_and_no_other() {
    let store = Store::new();
    let (mine, theirs) = (key("k", 1), key("k", 2));
    insert(&store, 1, &mine);
    let jobs = [job(2)];
    store.run(store::remove(NewJobs { key: Some(&theirs), ..all(None, &jobs) }));
    assert_eq!(store.count("idempotency"), 1, "the key of another request");
    let jobs = [job(1)];
    store.run(store::remove(NewJobs { key: Some(&mine), ..all(None, &jobs) }));
    assert_eq!((store.count("jobs"), store.count("idempotency")), (0, 0));
}

#[test]
fn a_job_that_has_begun_keeps_its_key() {
    let store = Store::new();
    let mine = key("k", 1);
    insert(&store, 1, &mine);
    store.claims(&[store_world::claim(1, 1, 1)]);
    let jobs = [job(1)];
    store.run(store::remove(NewJobs { key: Some(&mine), ..all(None, &jobs) }));
    assert_eq!((store.count("jobs"), store.count("idempotency")), (1, 1));
}

#[test]
fn old_keys_are_forgotten_so_many_at_a_time() {
    let store = Store::new();
    for number in 1..=5 {
        insert(&store, number, &key(&number.to_string(), number));
    }
    store.run(vec![store::forget_keys(at(100), 9)]);
    assert_eq!(store.count("idempotency"), 5, "not old enough");
    store.run(vec![store::forget_keys(at(101), 3)]);
    assert_eq!(store.count("idempotency"), 2);
}

/// Inserts a job under a key; gives the answer that the key stands for.
fn insert(store: &Store, number: u64, key: &NewKey) -> Earlier {
    let jobs = [job(number)];
    let rows = store.run(store::insert(NewJobs { key: Some(key), ..all(None, &jobs) }));
    rows[1].read::<Earlier>().unwrap().pop().unwrap()
}

fn find(store: &Store, since: u64) -> Option<Earlier> {
    let rows = store.run(vec![store::find_key(&tenant("acme"), "k", at(since))]);
    rows[0].read::<Earlier>().unwrap().pop()
}
