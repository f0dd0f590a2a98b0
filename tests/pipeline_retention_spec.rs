//! Old jobs go, whatever fails meanwhile, and nothing goes too early.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{Origin, Span};
use claude_pipeline::sim::{Behaviour, Fault, Op, Role, World};

const DAY: u64 = 86_400;

#[test]
fn jobs_batches_and_objects_go_a_day_after_the_end_and_not_before() {
    let world = world_with_jobs(1);
    world.run_for(Span::from_secs(DAY - 600));
    assert_eq!((world.all_jobs().len(), count(&world, "batches")), (4, 1));
    world.assert_laws();
    world.run_for(Span::from_secs(700));
    assert_gone(&world);
}

#[test]
fn a_job_that_has_not_ended_stays_however_old_it_is() {
    let world = World::with(2, &[("RETENTION_DAYS", "1")]);
    world.claude_odds(Behaviour::OutOfCredit, 1_000);
    world.submit("acme", "waits for days", Origin::BatchJob);
    world.run_for(Span::from_secs(DAY + 3_600));
    assert_eq!((world.all_jobs().len(), world.unfinished()), (1, 1));
    world.peace();
    assert!(world.run_until_idle(Span::from_secs(DAY / 2)));
    assert_eq!(world.all_jobs().len(), 1, "it is kept for a day from its end");
    world.assert_laws();
    world.run_for(Span::from_secs(DAY + 120));
    assert_gone(&world);
}

#[test]
fn what_a_store_would_not_give_up_goes_later_and_the_sweep_goes_on() {
    for op in [Op::Delete, Op::Sql] {
        let world = world_with_jobs(3);
        world.run_for(Span::from_secs(DAY - 600));
        world.outage(op, Span::from_secs(3_600));
        world.run_for(Span::from_secs(1_800));
        assert_eq!(world.all_jobs().len(), 4, "{op:?}");
        if op == Op::Delete {
            let ticket = world.submit("acme", "meanwhile", Origin::UserAction);
            world.run_for(Span::from_secs(60));
            assert_eq!(world.jobs(ticket).len(), 1);
        }
        // The one that came meanwhile is young still.
        world.run_for(Span::from_secs(if op == Op::Delete { DAY + 120 } else { 3_600 }));
        assert_gone(&world);
    }
}

#[test]
fn a_crash_between_objects_and_rows_leaves_rows_that_are_found_again() {
    for fault in [Fault::DiesBefore, Fault::DiesAfter, Fault::Panics, Fault::Unreported] {
        let world = world_with_jobs(4);
        world.run_for(Span::from_secs(DAY - 60));
        while world.asked(Role::Object, Op::Delete) == 0 {
            world.run_for(Span::from_millis(1));
        }
        world.fail(Role::Object, Op::Sql, fault);
        world.run_for(Span::from_secs(600));
        assert_gone(&world);
    }
}

#[test]
fn a_crash_before_the_objects_are_gone_loses_nothing_of_the_work() {
    for fault in [Fault::DiesBefore, Fault::DiesAfter, Fault::Panics] {
        let world = world_with_jobs(5);
        world.run_for(Span::from_secs(DAY - 60));
        world.fail(Role::Object, Op::Delete, fault);
        world.run_for(Span::from_secs(600));
        assert!(world.asked(Role::Object, Op::Delete) > 1, "{fault:?}");
        assert_gone(&world);
    }
}

/// Three jobs, one of which fails, and a batch; all have ended.
fn world_with_jobs(seed: u64) -> World {
    let world = World::with(seed, &[("RETENTION_DAYS", "1")]);
    world.claude_always("number 2", Behaviour::Refused);
    for number in 0..3 {
        world.submit("acme", &format!("number {number}"), Origin::UserAction);
    }
    world.submit_batch("bolt", "sum up", &[("a.pdf", pdf())]);
    assert!(world.run_until_idle(Span::from_secs(600)), "{:?}", world.all_jobs());
    assert!(world.keys().len() >= 4, "{:?}", world.keys());
    world
}

fn assert_gone(world: &World) {
    assert_eq!(world.all_jobs(), []);
    assert_eq!(count(world, "batches"), 0);
    assert_eq!(world.keys(), [""; 0]);
    assert_eq!(world.database().broken_laws().unwrap(), [""; 0]);
}

fn count(world: &World, table: &str) -> usize {
    let sql = format!("SELECT count(*) FROM {table}");
    world.database().look(&sql, &[]).unwrap()[0].parse().unwrap()
}

fn pdf() -> Vec<u8> {
    include_bytes!("fixtures/upload/good-1page.pdf").to_vec()
}
