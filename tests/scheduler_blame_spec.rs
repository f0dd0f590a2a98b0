//! Who pays when the upstream refuses or is down: the tenant that used too
//! much, and nobody.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use world::*;

#[test]
fn the_tenant_that_used_too_much_is_to_blame_whoever_met_the_refusal() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=20).map(|number| by("heavy", job(number))));
    world.submit_all((21..=26).map(|number| by("light", job(number))));
    for number in 21..=25 {
        assert_eq!(world.scheduler.demotion(&tenant_of("heavy")), None);
        world.settle(number, throttled(None));
    }
    let demoted = world.scheduler.demotion(&tenant_of("heavy")).unwrap();
    assert_eq!(demoted.reason, DemotionReason::Throttles);
    assert_eq!(demoted.until, world.now + secs(300));
    assert_eq!(world.scheduler.demotion(&tenant_of("light")), None);
    assert_eq!(world.scheduler.poll_demotion(), Some((tenant_of("heavy"), demoted)));
    assert_eq!(world.scheduler.poll_demotion(), None);
}

#[test]
fn nobody_is_to_blame_where_all_used_the_same() {
    let mut world = World::new(one_a_second());
    for tenant in 1..=4 {
        let jobs = (0..5).map(|number| by(&format!("t{tenant}"), job(10 * tenant + number)));
        world.submit_all(jobs);
    }
    for number in (10..15).chain(20..25) {
        world.settle(number, throttled(None));
    }
    assert_eq!(world.scheduler.state().demoted, 0);
}

#[test]
fn a_demotion_changes_the_order_at_once_and_lifts_by_itself() {
    let mut world = World::new(Config { demotion: budget(5_000), slots: 4, ..one_a_second() });
    let urgent = |tenant, number| by(tenant, of(Priority::Critical, number));
    world.submit_all((1..=3).map(|number| urgent("greedy", number)));
    world.submit_all((4..=9).map(|number| urgent("greedy", number)));
    world.submit_all([by("calm", job(20)), by("calm", job(21))]);
    assert_eq!(world.released(), [1, 2, 3, 20]);
    world.settle(1, Outcome::Completed { usage: usage(7_501, 0) });
    assert_eq!(world.waits_for(5).unwrap().demotion.unwrap().reason, DemotionReason::DailyInput);
    assert_eq!(world.scheduler.state().waiting.critical, 0);
    assert_eq!(world.released().last(), Some(&21), "a standard job goes before them now");
    world.pass(secs(300));
    assert_eq!(world.waits_for(5).unwrap().demotion, None);
    assert_eq!(world.scheduler.state().waiting.batch, 0);
}

#[test]
fn a_demotion_survives_a_restart() {
    let mut world = World::new(Config { demotion: budget(5_000), ..one_a_second() });
    world.submit_all([job(1), job(2)]);
    world.settle(1, Outcome::Completed { usage: usage(7_501, 0) });
    let before = world.scheduler.demotion(&tenant_of("acme"));
    assert!(before.is_some());
    world.restart();
    assert_eq!(world.scheduler.demotion(&tenant_of("acme")), before);
    world.pass(secs(300));
    assert_eq!(world.scheduler.demotion(&tenant_of("acme")), None);
}

#[test]
fn a_days_budget_is_new_on_the_next_day() {
    let mut world = World::new(Config { demotion: budget(5_000), ..one_a_second() });
    for number in 1..=3 {
        world.submit(job(number));
        world.settle(number, Outcome::Completed { usage: usage(7_000, 0) });
        assert_eq!(world.scheduler.state().demoted, 0, "day {number}");
        world.pass(secs(86_400));
    }
}

#[test]
fn a_tenants_own_budget_counts_more_than_the_setting() {
    let mut world = World::new(Config { demotion: budget(5_000), ..one_a_second() });
    let own = |tenant: &str, number, budget| {
        by(tenant, Submission { daily_input: Some(Tokens::new(budget)), ..job(number) })
    };
    world.submit_all([own("large", 1, 50_000), own("none", 2, 0), own("small", 3, 2_000)]);
    for number in 1..=3 {
        world.settle(number, Outcome::Completed { usage: usage(7_501, 0) });
    }
    let demoted = |tenant| world.scheduler.demotion(&tenant_of(tenant)).is_some();
    assert_eq!(["large", "none", "small"].map(demoted), [false, false, true]);
}

#[test]
fn an_outage_costs_few_calls_and_no_attempts() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=40).map(|number| by(&format!("t{number}"), job(number))));
    for number in 1..=3 {
        world.settle(number, overloaded());
    }
    world.clear();
    for number in 4..=40 {
        world.settle(number, overloaded());
    }
    let mut probes = 0;
    for _ in 0..200 {
        let before = world.released().len();
        world.pass(Span::from_millis(500));
        if world.released().len() > before {
            assert_eq!(world.released().len(), before + 1, "one at a time");
            let probe = *world.released().last().unwrap();
            world.settle(probe, overloaded());
            probes += 1;
        }
    }
    assert!((30..=50).contains(&probes), "{probes} in 100 s");
    assert!(!world.log.iter().any(|(_, effect)| matches!(effect, Effect::DeadLetter { .. })));
}

#[test]
fn after_an_outage_calls_come_back_a_few_at_a_time() {
    let mut world = World::new(Config { slots: 20, ..one_a_second() });
    world.submit_all((1..=40).map(|number| by(&format!("t{number}"), job(number))));
    for number in 1..=20 {
        world.settle(number, overloaded());
    }
    world.clear();
    world.pass(secs(3));
    let mut waves = vec![world.released().len()];
    for _ in 0..4 {
        let wave: Vec<_> = world.released();
        world.clear();
        for number in wave {
            world.settle(number, completed());
        }
        waves.push(world.released().len());
    }
    assert_eq!(waves[..4], [1, 4, 8, 16]);
}

#[test]
fn one_job_that_always_fails_closes_nothing() {
    let mut world = World::new(one_a_second());
    world.submit(job(1));
    for _ in 0..4 {
        world.settle(1, overloaded());
        world.submit(job(100 + world.log.len() as u64));
        assert_eq!(world.scheduler.state().waiting.standard, 0, "others go on");
        world.pass(secs(600));
    }
}

#[test]
fn a_job_larger_than_the_real_limit_holds_up_nobody_and_ends() {
    let mut world = World::new(one_a_second());
    world.submit(by("large", Submission { estimate: usage(30_000, 0), ..job(1) }));
    let level = BucketLevel { limit: 20_000, remaining: 20_000, reset: None };
    let told = RateLimits { input: Some(level), ..RateLimits::default() };
    for attempt in 1..=5 {
        assert_eq!(world.releases[&id(1)].attempt, attempt);
        world.settle_told(1, throttled(Some(5)), Some(told));
        world.clear();
        world.submit(by("small", job(100 + u64::from(attempt))));
        assert_eq!(world.released(), [100 + u64::from(attempt)], "the gate is open");
        world.pass(secs(300));
    }
    assert!(!world.scheduler.knows(id(1)));
    assert_eq!(world.scheduler.state().demoted, 0);
}

/// An error in place of an answer.
fn overloaded() -> Outcome {
    let error = JobError::new("overloaded_error", "Overloaded");
    Outcome::Transient { error, retry_after: None, begun: false }
}

fn budget(daily_input: u64) -> DemotionRules {
    DemotionRules { daily_input: Tokens::new(daily_input), ..DemotionRules::default() }
}
