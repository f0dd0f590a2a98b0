//! Who is let in, and what those are told who are not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "model/door.rs"]
mod door;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::domain::*;
use claude_pipeline::scheduler::*;
use door::{enter, house, knock, wish};
use world::{World, completed, id, job, tenant_of};

#[test]
fn nobody_is_let_in_above_nine_tenths() {
    let mut world = house(100, 100);
    for number in 1..=90 {
        assert_eq!(knock(&mut world, "acme", number, 1).refused, None, "{number}");
    }
    let refusal = knock(&mut world, "bolt", 91, 1).refused.unwrap();
    assert_eq!((refusal.limit, refusal.most, refusal.used), (Limit::Capacity, 90, 90));
    assert_eq!((refusal.asked, refusal.largest), (1, Some(100)));
    assert!(refusal.retry_after.unwrap() > Span::ZERO);
    assert_eq!(world.scheduler.depth(), 90);
}

#[test]
fn a_batch_is_let_in_whole_or_not_at_all() {
    let mut world = house(100, 100);
    assert_eq!(knock(&mut world, "acme", 1, 89).refused, None);
    let refusal = knock(&mut world, "acme", 2, 12).refused.unwrap();
    assert_eq!((refusal.limit, world.scheduler.depth()), (Limit::Capacity, 89));
    assert_eq!(knock(&mut world, "acme", 3, 11).refused, None, "just fits");
    assert_eq!(world.scheduler.depth(), 100);
}

#[test]
fn a_request_that_could_never_fit_is_told_so() {
    let mut world = house(100, 50);
    let refusal = knock(&mut world, "acme", 1, 51).refused.unwrap();
    assert_eq!((refusal.limit, refusal.most, refusal.used), (Limit::Request, 50, 51));
    assert_eq!(refusal.retry_after, None);
    assert_eq!(knock(&mut world, "acme", 2, 50).refused, None);
}

#[test]
fn one_tenant_cannot_fill_the_house() {
    let mut world = house(1_000, 50);
    assert_eq!(let_in(&mut world, "greedy", 1_000), 500);
    assert_eq!(let_in(&mut world, "second", 1_000), 250, "half of what is free");
    let refusal = knock(&mut world, "second", 9_999, 1).refused.unwrap();
    assert_eq!((refusal.limit, refusal.most, refusal.used), (Limit::Share, 250, 250));
    assert!(let_in(&mut world, "third", 1_000) >= 125, "there is room for who comes late");
}

#[test]
fn a_job_that_ends_makes_room() {
    let mut world = house(10, 100);
    world.config.slots = 2;
    world.restart();
    for number in 1..=9 {
        enter(&mut world, "acme", number);
    }
    assert!(knock(&mut world, "acme", 10, 1).refused.is_some());
    world.settle(1, completed());
    assert_eq!(knock(&mut world, "acme", 10, 1).refused, None);
    world.cancel(9);
    assert_eq!(knock(&mut world, "acme", 11, 1).refused, None);
}

#[test]
fn places_are_given_back_or_end_by_themselves() {
    let mut world = house(10, 100);
    knock(&mut world, "acme", 1, 4);
    knock(&mut world, "bolt", 2, 4);
    world.scheduler.vacate(&tenant_of("acme"), id(1));
    assert_eq!(world.scheduler.depth(), 4);
    world.pass(Span::from_secs(601));
    assert_eq!(world.scheduler.depth(), 0);
    assert_eq!(world.rows.len(), 0, "nothing is remembered");
}

#[test]
fn a_hold_grows_and_is_one_request() {
    let mut world = house(100, 100);
    let grow = |world: &mut World, jobs| {
        let wish = Wish { per_minute: Some(60), ..wish("acme", 1, jobs) };
        world.scheduler.admit(&wish, world.now, Entropy(0))
    };
    assert_eq!(grow(&mut world, 1).quota.unwrap().remaining, 14);
    assert_eq!(grow(&mut world, 40).quota.unwrap().remaining, 14);
    assert_eq!(grow(&mut world, 4).refused, None);
    assert_eq!(world.scheduler.depth(), 40, "it does not shrink");
    assert!(grow(&mut world, 101).refused.is_some());
    assert_eq!(world.scheduler.depth(), 40, "a refusal changes nothing");
}

#[test]
fn places_survive_a_restart_once_anything_was_written() {
    let mut world = house(10, 100);
    knock(&mut world, "acme", 1, 4);
    enter(&mut world, "acme", 2);
    world.restart();
    assert_eq!(world.scheduler.depth(), 5);
    world.pass(Span::from_secs(601));
    assert_eq!(world.scheduler.depth(), 1);
}

#[test]
fn a_rate_lets_its_burst_through_and_tells_the_rest_when_to_come() {
    let mut world = house(1_000, 100);
    let waits = (1..=65).map(|number| {
        let wish = Wish { per_minute: Some(60), ..wish("acme", number, 1) };
        let admission = world.scheduler.admit(&wish, world.now, Entropy(0));
        admission.refused.map(|refusal| {
            assert_eq!((refusal.limit, refusal.most, refusal.used), (Limit::Rate, 15, 15));
            refusal.retry_after.unwrap().as_secs_rounded_up()
        })
    });
    let waits: Vec<_> = waits.collect();
    assert!(waits[..15].iter().all(Option::is_none));
    let told: Vec<_> = waits[15..].iter().map(|wait| wait.unwrap()).collect();
    assert_eq!(told, (1..=50).collect::<Vec<_>>(), "one after another");
}

#[test]
fn who_obeys_is_let_in() {
    let mut world = house(1_000, 100);
    let mut waiting: Vec<_> = (1..=65).map(|number| (0, number)).collect();
    let mut refused = 0;
    while let Some((due, number)) = waiting.pop() {
        world.now = world.now.max(beginning() + Span::from_millis(due));
        let wish = Wish { per_minute: Some(60), ..wish("acme", number, 1) };
        let chance = Entropy(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        if let Some(refusal) = world.scheduler.admit(&wish, world.now, chance).refused {
            refused += 1;
            let wait = refusal.retry_after.unwrap().as_secs_rounded_up() * 1_000;
            waiting.push((world.now.since(beginning()).as_millis() + wait, number));
            waiting.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
    assert_eq!(refused, 50, "each was sent away once");
}

#[test]
fn a_full_house_tells_when_by_how_fast_jobs_end() {
    let mut world = house(10, 100);
    for number in 1..=9 {
        enter(&mut world, "acme", number);
    }
    for number in 1..=6 {
        world.pass(Span::from_secs(10));
        world.settle(number, completed());
        enter(&mut world, "acme", 100 + number);
    }
    let wait = |world: &mut World, chance| {
        let wish = wish("acme", 200, 1);
        let refused = world.scheduler.admit(&wish, world.now, Entropy(chance)).refused;
        refused.unwrap().retry_after.unwrap().as_millis()
    };
    let first = wait(&mut world, 0);
    assert!((8_000..=12_000).contains(&first), "six a minute: {first}");
    let second = wait(&mut world, 0);
    assert!((16_000..=24_000).contains(&second), "behind the first: {second}");
    assert!(wait(&mut world, u64::MAX) > second, "and scattered");
}

#[test]
fn a_quiet_time_does_not_make_the_house_look_slow() {
    let mut world = house(10, 100);
    for number in 1..=6 {
        world.pass(Span::from_secs(10));
        enter(&mut world, "acme", number);
        world.pass(Span::from_millis(20));
        world.settle(number, completed());
    }
    for number in 11..=19 {
        enter(&mut world, "acme", number);
    }
    let wait = knock(&mut world, "acme", 20, 1).refused.unwrap().retry_after.unwrap();
    assert!(wait < Span::from_secs(1), "six jobs took a tenth of a second: {wait:?}");
}

#[test]
fn a_pause_is_waited_out() {
    let mut world = house(10, 100);
    for number in 1..=9 {
        enter(&mut world, "acme", number);
    }
    let error = JobError::new("authentication_error", "No");
    world.settle(1, Outcome::Account { fault: AccountFault::SpendLimit, error });
    let refusal = knock(&mut world, "acme", 10, 1).refused.unwrap();
    assert!(refusal.retry_after.unwrap() >= Span::from_secs(60));
}

#[test]
fn a_demoted_tenant_is_told_at_the_door() {
    let rules = DemotionRules { daily_input: Tokens::new(5_000), ..DemotionRules::default() };
    let mut world = World::new(Config { demotion: rules, ..Config::default() });
    world.submit(job(1));
    world.settle(1, Outcome::Completed { usage: world::usage(7_501, 0) });
    let demotion = knock(&mut world, "acme", 2, 1).demotion.unwrap();
    assert_eq!(demotion.reason, DemotionReason::DailyInput);
    assert_eq!(knock(&mut world, "bolt", 3, 1).demotion, None);
}

/// How many of so many single requests are let in.
fn let_in(world: &mut World, tenant: &str, requests: u64) -> usize {
    let base = 10_000 * u64::from(tenant.as_bytes()[0]);
    let knocks = (1..=requests).map(|number| knock(world, tenant, base + number, 1).refused);
    knocks.filter(Option::is_none).count()
}

fn beginning() -> Timestamp {
    World::new(Config::default()).now
}
