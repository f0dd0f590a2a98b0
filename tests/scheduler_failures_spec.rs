//! What happens when an attempt does not end well.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use world::*;

#[test]
fn a_failed_attempt_is_used_up_and_the_next_one_waits() {
    let mut world = World::new(Config::default());
    world.submit(job(1));
    let verdict = world.settle(1, transient(None));
    assert_eq!(verdict, Some(retry(Span::from_millis(2_500), true)));
    assert_eq!(
        world.scheduler.next_deadline(),
        Some((world.now + Span::from_millis(2_500), Wake::DelayEnd))
    );
    world.pass(secs(3));
    let release = world.releases[&id(1)];
    assert_eq!((release.attempt, release.lease), (2, 2));
}

#[test]
fn the_upstreams_wish_counts_if_it_is_longer_up_to_ten_minutes() {
    for (wish, wait) in [(1, 2_500), (30, 30_000), (86_400, 600_000)] {
        let mut world = World::new(Config::default());
        world.submit(job(1));
        let verdict = world.settle(1, transient(Some(wish)));
        assert_eq!(verdict, Some(retry(Span::from_millis(wait), true)));
    }
}

#[test]
fn used_up_attempts_end_in_the_dead_letter_queue() {
    for (priority, attempts) in [(Priority::Critical, 5), (Priority::Batch, 3)] {
        let mut world = World::new(Config::default());
        world.submit(of(priority, 1));
        for _ in 1..attempts {
            world.settle(1, transient(None));
            world.pass(secs(600));
        }
        assert_eq!(world.settle(1, transient(None)), Some(Verdict::DeadLetter));
        let job = id(1);
        let last = world.log.last().unwrap().1;
        assert_eq!(last, Effect::DeadLetter { job, attempts });
        assert!(!world.scheduler.knows(job));
        assert!(world.job_rows().is_empty());
    }
}

#[test]
fn a_job_without_attempts_left_is_dead_lettered_when_it_is_submitted() {
    let mut world = World::new(Config::default());
    let spent = Submission { attempts: 5, ..job(1) };
    assert_eq!(world.submit(spent), Submitted::DeadLettered);
    let dead = Effect::DeadLetter { job: id(1), attempts: 5 };
    assert_eq!(world.log, [(world.now, dead)]);
}

#[test]
fn a_lease_that_ends_is_asked_for_until_it_is_answered_and_keeps_its_slot() {
    let mut world = World::new(Config { slots: 1, ..Config::default() });
    world.submit_all([job(1), job(2)]);
    world.pass(Span::from_millis(179_999));
    assert_eq!(world.released(), [1]);
    world.clear();
    world.pass(secs(70));
    let ask = Effect::Reconcile { job: id(1), lease: 1 };
    let asked: Vec<_> = world.log.iter().map(|(_, effect)| *effect).collect();
    assert_eq!(asked, [ask; 3]);
    world.settle(1, Outcome::Lost);
    assert_eq!(world.released(), [2]);
}

#[test]
fn a_lost_attempt_counts_and_one_never_begun_does_not() {
    for (outcome, attempt) in [(Outcome::Lost, 2), (Outcome::NotStarted, 1)] {
        let mut world = World::new(Config::default());
        world.submit(job(1));
        world.settle(1, outcome);
        world.pass(secs(10));
        let release = world.releases[&id(1)];
        assert_eq!((release.attempt, release.lease), (attempt, 2));
    }
}

#[test]
fn an_attempt_never_begun_goes_back_to_the_head_and_costs_nothing() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=61).map(job));
    world.settle(1, Outcome::NotStarted);
    assert_eq!(world.released()[60..], [1]);
}

#[test]
fn a_settlement_of_another_lease_changes_nothing() {
    let mut world = World::new(Config::default());
    world.submit(job(1));
    let old = world.releases[&id(1)];
    world.settle(1, Outcome::NotStarted);
    let (rows, snapshot) = (world.rows.clone(), world.snapshot.clone());
    for (job, lease) in [(id(1), old.lease), (id(1), 3), (id(9), 1)] {
        let settlement = Settlement { job, lease, outcome: completed(), limits: None };
        let verdict = world.scheduler.settle(settlement, world.now, Entropy(0));
        assert_eq!(verdict, None);
        world.turn();
        assert_eq!((&world.rows, &world.snapshot), (&rows, &snapshot));
    }
}

#[test]
fn a_refusal_closes_the_gate_for_the_class_and_uses_no_attempt() {
    let mut world = World::new(Config::default());
    world.submit_all([job(1), on("claude-opus-5", 2)]);
    let verdict = world.settle(1, throttled(Some(10)));
    assert_eq!(verdict, Some(retry(secs(10), false)));
    world.submit_all([job(3), on("claude-opus-5", 4)]);
    assert_eq!(world.released(), [1, 2, 4]);
    assert_eq!(world.waits_for(3).unwrap().reason, Reason::Retry);
    let opens = world.now + secs(10);
    assert_eq!(world.scheduler.next_deadline(), Some((opens, Wake::GateOpens)));
    world.pass(secs(10));
    assert_eq!(world.releases[&id(1)].attempt, 1);
}

#[test]
fn one_probe_goes_first_and_its_success_opens_the_gate() {
    let mut world = World::new(without_headroom());
    world.submit_all((1..=5).map(job));
    for number in [1, 2] {
        world.settle(number, throttled(None));
    }
    world.settle(3, completed());
    world.clear();
    world.pass(secs(2));
    assert_eq!(world.released(), [1]);
    world.settle(1, throttled(None));
    world.pass(Span::from_millis(1_999));
    assert_eq!(world.released(), [1]);
    world.pass(Span::from_millis(1));
    assert_eq!(world.released(), [1, 1]);
    world.settle(1, completed());
    assert_eq!(world.released(), [1, 1, 2]);
}

#[test]
fn a_wait_no_bucket_can_ask_for_holds_back_that_job_alone() {
    let mut world = World::new(Config::default());
    world.submit_all([job(1)]);
    let verdict = world.settle(1, throttled(Some(86_400)));
    assert_eq!(verdict, Some(retry(secs(600), false)));
    world.submit(job(2));
    world.pass(secs(1));
    assert_eq!(world.released(), [1, 2]);
    world.settle(2, completed());
    world.pass(secs(600));
    assert_eq!(world.released(), [1, 2, 1]);
}

#[test]
fn a_job_refused_for_ever_ends_one_day() {
    let mut world = World::new(Config::default());
    world.submit(job(1));
    let mut refusals = 0;
    while world.scheduler.knows(id(1)) {
        world.settle(1, throttled(Some(1)));
        world.pass(secs(1));
        refusals += 1;
    }
    assert_eq!(refusals, 50 + 5);
}

#[test]
fn a_bad_key_fails_one_job_and_pauses_the_rest() {
    let mut world = World::new(Config::default());
    world.submit(job(1));
    let verdict = world.settle(1, account(AccountFault::Credentials));
    assert_eq!(verdict, Some(Verdict::Ended));
    world.submit_all((2..=4).map(job));
    let paused = Paused { fault: AccountFault::Credentials, until: world.now + secs(60) };
    assert_eq!(world.scheduler.state().paused, Some(paused));
    assert_eq!(world.scheduler.next_deadline(), Some((paused.until, Wake::PauseEnds)));
    world.pass(secs(60));
    assert_eq!(world.released(), [1, 2]);
    world.settle(2, account(AccountFault::Credentials));
    world.pass(secs(119));
    assert_eq!(world.released(), [1, 2]);
    world.pass(secs(1));
    world.settle(3, completed());
    assert_eq!(world.released(), [1, 2, 3, 4]);
    assert_eq!(world.scheduler.state().paused, None);
}

#[test]
fn a_spend_limit_costs_no_job_its_place() {
    let mut world = World::new(Config::default());
    world.submit_all([job(1), job(2)]);
    let verdict = world.settle(1, account(AccountFault::SpendLimit));
    assert_eq!(verdict, Some(retry(secs(60), false)));
    world.settle(2, completed());
    world.submit(job(3));
    world.pass(secs(60));
    assert_eq!(world.released(), [1, 2, 1]);
    assert_eq!(world.releases[&id(1)].attempt, 1);
}

#[test]
fn a_canceled_job_is_not_tried_again() {
    let mut world = World::new(Config { slots: 1, ..Config::default() });
    world.submit_all([job(1), job(2), job(3)]);
    assert!(world.cancel(1) && world.cancel(2) && !world.cancel(9));
    assert_eq!(world.released(), [1]);
    assert_eq!(world.settle(1, transient(None)), Some(Verdict::Ended));
    assert_eq!(world.released(), [1, 3]);
    assert!(!world.scheduler.knows(id(1)));
}

fn retry(after: Span, attempt_used: bool) -> Verdict {
    Verdict::Retry { after, attempt_used }
}
