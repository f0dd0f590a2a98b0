//! Who runs next, and how many at once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use world::*;

#[test]
fn within_a_priority_the_first_in_is_the_first_out() {
    let mut world = World::new(one_slot());
    world.submit_all([job(1), job(3), job(2)]);
    for number in [1, 3, 2] {
        world.settle(number, completed());
    }
    assert_eq!(world.released(), [1, 3, 2]);
}

#[test]
fn a_more_urgent_job_goes_before_all_that_wait() {
    let mut world = World::new(one_slot());
    world.submit_all([job(1), of(Priority::Batch, 2), job(3)]);
    world.submit(of(Priority::Critical, 4));
    for number in [1, 4, 3, 2] {
        world.settle(number, completed());
    }
    assert_eq!(world.released(), [1, 4, 3, 2]);
}

#[test]
fn a_release_says_all_that_a_consumer_needs() {
    let mut world = World::new(Config::default());
    world.submit(Submission { attempts: 2, lease: 7, ..of(Priority::Batch, 1) });
    let release = Release {
        job: id(1),
        lease: 8,
        attempt: 3,
        until: world.now + secs(660),
        queue: Queue::Bulk,
    };
    assert_eq!(world.log, [(world.now, Effect::Release(release))]);
}

#[test]
fn submitting_a_known_job_changes_nothing() {
    let mut world = World::new(Config::default());
    assert_eq!(world.submit(job(1)), Submitted::New);
    let before = world.snapshot.clone();
    assert_eq!(world.submit(job(1)), Submitted::AlreadyKnown);
    assert_eq!(world.released(), [1]);
    assert_eq!(world.snapshot, before);
}

#[test]
fn no_more_run_at_once_than_there_are_slots() {
    let mut world = World::new(Config { slots: 2, ..Config::default() });
    world.submit_all((1..=5).map(job));
    assert_eq!(world.released(), [1, 2]);
    world.settle(2, completed());
    assert_eq!(world.released(), [1, 2, 3]);
}

#[test]
fn a_class_without_tokens_does_not_stand_in_the_way_of_another() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=61).map(|number| on("claude-opus-5", number)));
    world.submit(on("claude-haiku-4-5", 100));
    assert_eq!(world.released().len(), 61);
    assert_eq!(world.released().last(), Some(&100));
}

#[test]
fn after_the_burst_the_bucket_paces() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=70).map(job));
    assert_eq!(world.released().len(), 60);
    let next = world.now + secs(1);
    assert_eq!(world.scheduler.next_deadline(), Some((next, Wake::Tokens)));
    world.pass(secs(4));
    assert_eq!(world.released().len(), 64);
}

#[test]
fn callers_on_both_sides_of_a_full_minute_get_no_second_burst() {
    let mut world = World::new(one_a_second());
    world.pass(Span::from_millis(59_800));
    world.submit_all((1..=60).map(job));
    world.pass(Span::from_millis(400));
    world.submit_all((61..=120).map(job));
    assert_eq!(world.released().len(), 60);
}

#[test]
fn a_job_larger_than_the_bucket_waits_for_a_full_one_and_is_paid_back() {
    let mut world = World::new(one_a_second());
    let large = Submission { estimate: usage(150_000, 0), ..job(2) };
    world.submit_all([job(1), large, job(3)]);
    assert_eq!(world.released(), [1, 3], "others flow around it");
    assert_eq!(world.waits_for(2).unwrap().reason, Reason::Tokens);
    world.pass(secs(2));
    assert_eq!(world.released(), [1, 3, 2]);
    world.submit(job(4));
    world.pass(secs(88));
    assert_eq!(world.released(), [1, 3, 2]);
    world.pass(secs(1));
    assert_eq!(world.released(), [1, 3, 2, 4]);
}

#[test]
fn the_output_is_reserved_by_what_such_calls_produce() {
    let mut world = World::new(one_a_second());
    let wordy = |number| Submission { estimate: usage(0, 64_000), ..job(number) };
    world.submit(wordy(1));
    world.settle(1, Outcome::Completed { usage: usage(0, 20_000) });
    world.submit_all((2..=5).map(wordy));
    assert_eq!(world.released(), [1, 2, 3]);
}

#[test]
fn the_upstreams_limits_are_believed_at_once() {
    let mut world = World::new(one_a_second());
    world.submit(job(1));
    let half = BucketLevel { limit: 30, remaining: 10, reset: None };
    let told = RateLimits { requests: Some(half), ..RateLimits::default() };
    world.settle_told(1, completed(), Some(told));
    world.submit_all((2..=60).map(job));
    assert_eq!(world.released().len(), 1 + 10);
    world.pass(secs(10));
    assert_eq!(world.released().len(), 1 + 15);
}

#[test]
fn absurd_costs_end_like_others() {
    let mut world = World::new(one_a_second());
    for (number, tokens) in [(1, 0), (2, u64::MAX), (3, 1)] {
        world.submit(Submission { estimate: usage(tokens, tokens), ..job(number) });
    }
    world.pass(secs(700));
    assert_eq!(world.released(), [1, 2, 3]);
    for number in [1, 2, 3] {
        world.settle(number, Outcome::Completed { usage: usage(u64::MAX, u64::MAX) });
    }
    assert_eq!(world.scheduler.next_deadline(), None);
}

#[test]
fn a_waiting_job_can_say_what_for() {
    let mut world = World::new(Config { slots: 61, ..one_a_second() });
    world.submit_all((1..=62).map(job));
    let start = world.now;
    let waits = |world: &World, number| {
        let found = world.waits_for(number)?;
        let seconds = found.estimated_start.since(start).as_secs_rounded_up();
        Some((found.reason, found.position, seconds))
    };
    assert_eq!(waits(&world, 1), None);
    assert_eq!(waits(&world, 61), Some((Reason::Tokens, 1, 1)));
    assert_eq!(waits(&world, 62), Some((Reason::Turn, 2, 2)));
    world.pass(secs(1));
    assert_eq!(waits(&world, 61), Some((Reason::Slot, 1, 1)));
    world.settle(1, transient(Some(60)));
    assert_eq!(waits(&world, 1), Some((Reason::Retry, 1, 61)));
    world.settle(2, account(AccountFault::SpendLimit));
    assert_eq!(waits(&world, 62).unwrap().0, Reason::Paused);
}

#[test]
fn nothing_waits_without_a_deadline_and_no_deadline_without_need() {
    let mut world = World::new(Config::default());
    assert_eq!(world.scheduler.next_deadline(), None);
    world.submit(job(1));
    let end = world.now + secs(180);
    assert_eq!(world.scheduler.next_deadline(), Some((end, Wake::LeaseEnd)));
    world.settle(1, completed());
    assert_eq!(world.scheduler.next_deadline(), None);
}

#[test]
fn an_hour_back_or_a_day_ahead_stops_nothing() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=61).map(job));
    world.now = Timestamp::from_millis(world.now.as_millis() - 3_600_000);
    world.turn();
    assert_eq!(world.released().len(), 60);
    world.pass(secs(1));
    assert_eq!(world.released().len(), 61);
    world.now = world.now + secs(86_400);
    world.turn();
    let asked = world.log.len();
    world.now = Timestamp::from_millis(world.now.as_millis() - 86_400_000);
    world.turn();
    assert_eq!(world.log.len(), asked);
    assert_eq!(world.settle(61, completed()), Some(Verdict::Ended));
}

#[test]
fn a_hundred_thousand_jobs_wait_as_easily_as_ten() {
    let mut world = World::new(one_slot());
    for number in 1..=100_000 {
        world.scheduler.submit(job(number), world.now);
    }
    world.scheduler.dispatch(world.now);
    for number in (2..=100_000).step_by(100) {
        assert!(world.scheduler.cancel(id(number), world.now));
    }
    assert_eq!(world.scheduler.state().waiting.standard, 98_999);
    assert_eq!(world.waits_for(50_001).unwrap().position, 49_500);
    world.scheduler.assert_consistent();
}

fn one_slot() -> Config {
    Config { slots: 1, ..Config::default() }
}
