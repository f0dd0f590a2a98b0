//! What survives a restart, and in which form.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use world::*;

#[test]
fn a_restart_changes_nothing() {
    let (mut kept, mut restarted) = (eventful(), eventful());
    restarted.restart();
    for world in [&mut kept, &mut restarted] {
        world.clear();
        world.pass(secs(100));
        world.settle(3, completed());
        world.pass(secs(1_000));
    }
    assert_eq!(kept.log, restarted.log);
    assert_eq!(kept.snapshot, restarted.snapshot);
    assert_eq!(kept.rows, restarted.rows);
}

#[test]
fn an_unreadable_snapshot_loses_no_job_but_all_budget() {
    for text in ["", "{}", "null", r#"{"v":1}"#, r#"{"v":2}"#, "\u{0}"] {
        let mut world = World::new(one_a_second());
        world.submit_all((1..=70).map(job));
        world.snapshot = text.to_owned();
        world.clear();
        world.restart();
        assert_eq!(world.scheduler.state().running, 60);
        assert!(world.released().is_empty());
        world.pass(secs(5));
        assert_eq!(world.released(), [61, 62, 63, 64, 65]);
        world.settle(1, Outcome::NotStarted);
        assert_eq!(world.released().len(), 5, "nobody knows what may come back");
    }
}

#[test]
fn rows_without_a_snapshot_are_not_taken_for_a_first_start() {
    let mut world = World::new(one_a_second());
    world.submit_all((1..=61).map(job));
    let rows = world.stored();
    let mut scheduler = Scheduler::restore(world.config, None, rows, world.now);
    scheduler.dispatch(world.now);
    assert_eq!(scheduler.poll_effect(), None);
}

#[test]
fn an_unreadable_row_is_no_row() {
    let mut world = World::new(Config::default());
    world.submit(job(1));
    assert_eq!(world.stored().len(), 2, "one of the job, one of its tenant");
    for (key, row) in &world.rows {
        assert_eq!(Row::read(key, row).unwrap().key(), *key);
        for wrong in [row.replace("\"v\":2", "\"v\":1"), row.replace("\"v\":2", ""), String::new()]
        {
            assert_eq!(Row::read(key, &wrong), None);
        }
    }
}

#[test]
fn nothing_is_written_for_a_restart_alone() {
    let mut world = eventful();
    let rows = world.stored();
    world.scheduler = Scheduler::restore(world.config, Some(&world.snapshot), rows, world.now);
    assert_eq!(world.scheduler.poll_change(), None);
}

#[test]
fn other_credentials_end_a_pause_at_once() {
    let mut world = World::new(Config::default());
    world.submit_all([job(1), job(2)]);
    world.settle(1, account(AccountFault::Credentials));
    world.submit(job(3));
    world.restart();
    assert_eq!(world.released(), [1, 2]);
    world.config.credentials = 1;
    world.restart();
    assert_eq!(world.released(), [1, 2, 3]);
}

#[test]
fn new_settings_apply_but_learned_limits_stay() {
    let mut world = World::new(one_a_second());
    world.submit(job(1));
    let told = RateLimits {
        requests: Some(BucketLevel { limit: 30, remaining: 30, reset: None }),
        ..RateLimits::default()
    };
    world.settle_told(1, completed(), Some(told));
    world.config.limits.requests = 600;
    world.config.limits.output = 6_000;
    world.restart();
    world.submit_all((2..=100).map(job));
    assert_eq!(world.released().len(), 1 + 6_000 / 500);
}

#[test]
fn idle_classes_are_forgotten_and_learned_ones_are_kept() {
    let mut world = World::new(Config::default());
    world.submit_all([on("claude-opus-5", 1), on("no-such-model", 2)]);
    world.settle(1, completed());
    world.settle(2, permanent());
    world.pass(secs(599));
    assert!(world.snapshot.contains("no-such-model"));
    world.pass(secs(1));
    assert!(world.snapshot.contains("claude-opus-5"));
    assert!(!world.snapshot.contains("no-such-model"));
}

#[test]
fn a_job_that_came_and_went_leaves_no_row() {
    let mut world = World::new(Config::default());
    world.scheduler.submit(job(1), world.now);
    world.scheduler.cancel(id(1), world.now);
    let change = world.scheduler.poll_change();
    assert_eq!(change, Some(Change::Delete(format!("job/{}", id(1)))));
}

#[test]
fn the_rows_keep_their_shape() {
    let world = eventful();
    let rows: Vec<_> = world.rows.values().map(String::as_str).collect();
    assert_eq!(rows, [DELAYED, WAITING, LEASED, PAUSED, TENANT]);
}

#[test]
fn the_snapshot_keeps_its_shape() {
    assert_eq!(eventful().snapshot, SNAPSHOT);
}

#[test]
fn what_is_sent_keeps_its_shape() {
    let settlement =
        Settlement { job: id(1), lease: 2, outcome: Outcome::NotStarted, limits: None };
    assert_eq!(
        serde_json::to_string(&settlement).unwrap(),
        r#"{"job":"00000000-0001-7000-8000-000000000000","lease":2,"outcome":"not_started","limits":null}"#
    );
    assert_eq!(
        serde_json::to_string(&job(1)).unwrap(),
        r#"{"job":"00000000-0001-7000-8000-000000000000","tenant":"acme","plan":"free","priority":"standard","class":"claude-sonnet-4","estimate":{"input":100,"output":500},"attempts":0,"lease":0}"#
    );
    assert_eq!(
        serde_json::to_string(&World::new(Config::default()).scheduler.state()).unwrap(),
        r#"{"waiting":{"critical":0,"standard":0,"batch":0},"delayed":0,"running":0,"slots":32,"depth":0,"capacity":1000,"demoted":0,"paused":null}"#
    );
}

/// A world with a job in each place, a closed gate, a pause, and something
/// learned.
fn eventful() -> World {
    let mut world =
        World::new(Config { slots: 5, demotion: DemotionRules::default(), ..one_a_second() });
    world.submit_all([job(1), job(2), on("claude-opus-5", 3), job(4)]);
    world.pass(secs(1));
    world.settle(4, completed());
    world.settle(1, transient(Some(300)));
    world.settle(2, throttled(Some(20)));
    world.submit(on("claude-haiku-4-5", 5));
    world.settle(5, account(AccountFault::SpendLimit));
    world
}

const DELAYED: &str = r#"{"v":2,"job":{"submission":{"job":"00000000-0001-7000-8000-000000000000","tenant":"acme","plan":"free","priority":"standard","class":"claude-sonnet-4","estimate":{"input":100,"output":500},"attempts":1,"lease":1},"order":0,"throttled":0,"place":{"delayed":1000301000}}}"#;
const WAITING: &str = r#"{"v":2,"job":{"submission":{"job":"00000000-0002-7000-8000-000000000000","tenant":"acme","plan":"free","priority":"standard","class":"claude-sonnet-4","estimate":{"input":100,"output":500},"attempts":0,"lease":1},"order":1,"throttled":1,"place":"waiting"}}"#;
const LEASED: &str = r#"{"v":2,"job":{"submission":{"job":"00000000-0003-7000-8000-000000000000","tenant":"acme","plan":"free","priority":"standard","class":"claude-opus-5","estimate":{"input":100,"output":500},"attempts":0,"lease":1},"order":2,"throttled":0,"place":{"leased":{"since":1000000000,"until":1000180000,"held":{"requests":{"amount":1,"end":60000},"input":{"amount":100,"end":6000000},"output":{"amount":500,"end":30000000}},"rank":"standard","price":1000,"canceled":false}}}}"#;
const TENANT: &str = r#"{"v":2,"tenant":"acme","conduct":{"day":11,"input":100,"throttles":[],"demotion":null},"lanes":[{"class":"claude-sonnet-4","rank":"standard","account":{"weight":1,"credit":1660,"seat":{"fresh":{"seq":4}},"spent":{"minute":16666,"now":3000,"before":0}}},{"class":"claude-opus-5","rank":"standard","account":{"weight":1,"credit":0,"seat":{"idle":{"since":1000000000,"mark":0}},"spent":{"minute":16666,"now":1000,"before":0}}},{"class":"claude-haiku-4-5","rank":"standard","account":{"weight":1,"credit":1660,"seat":{"round":{"round":720720,"seq":6,"due":0}},"spent":{"minute":16666,"now":1000,"before":0}}}]}"#;
const PAUSED: &str = r#"{"v":2,"job":{"submission":{"job":"00000000-0005-7000-8000-000000000000","tenant":"acme","plan":"free","priority":"standard","class":"claude-haiku-4-5","estimate":{"input":100,"output":500},"attempts":0,"lease":1},"order":4,"throttled":0,"place":"waiting"}}"#;
const SNAPSHOT: &str = r#"{"v":2,"clock":{"now":1000001000,"wall":1000001000},"credentials":0,"account":{"fault":"spend_limit","until":1000061000,"wait":60000,"probe":null},"limits":{"requests":60,"input":60000,"output":60000},"unknownBefore":null,"floors":[0,0,0],"classes":{"claude-haiku-4-5":{"budget":{"requests":{"limit":60,"level":3540000,"at":1000001000,"taken":60000,"lapsed":0},"input":{"limit":60000,"level":3600000000,"at":1000001000,"taken":6000000,"lapsed":6000000},"output":{"limit":60000,"level":3600000000,"at":1000001000,"taken":30000000,"lapsed":30000000}},"gate":{"open":{"count":0,"jobs":[null,null,null,null]}},"meanOutput":null,"served":5,"memory":{"meanCost":64000,"floors":[0,0,0],"draws":0,"rounds":{"critical":0,"standard":720720,"batch":0},"savedUntil":0,"earned":{"critical":0,"standard":675840,"batch":0}}},"claude-opus-5":{"budget":{"requests":{"limit":60,"level":3540000,"at":1000000000,"taken":60000,"lapsed":0},"input":{"limit":60000,"level":3594000000,"at":1000000000,"taken":6000000,"lapsed":0},"output":{"limit":60000,"level":3570000000,"at":1000000000,"taken":30000000,"lapsed":0}},"gate":{"open":{"count":0,"jobs":[null,null,null,null]}},"meanOutput":null,"served":2,"memory":{"meanCost":64000,"floors":[0,0,0],"draws":0,"rounds":{"critical":0,"standard":0,"batch":0},"savedUntil":0,"earned":{"critical":0,"standard":675840,"batch":0}}},"claude-sonnet-4":{"budget":{"requests":{"limit":60,"level":0,"at":1000001000,"taken":180000,"lapsed":180000},"input":{"limit":60000,"level":0,"at":1000001000,"taken":18000000,"lapsed":18000000},"output":{"limit":60000,"level":0,"at":1000001000,"taken":90000000,"lapsed":90000000}},"gate":{"closed":{"until":1000021000,"refusals":1}},"meanOutput":8000,"meanDuration":16000,"served":4,"memory":{"meanCost":64000,"floors":[0,0,0],"draws":0,"rounds":{"critical":0,"standard":1441440,"batch":0},"savedUntil":0,"earned":{"critical":0,"standard":2027520,"batch":0}}}}}"#;
