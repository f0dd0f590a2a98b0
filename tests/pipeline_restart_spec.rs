//! The scheduler object's instances come and go, queues lose what they hold,
//! and jobs end all the same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{JobStatus, Origin, Queue, Span};
use claude_pipeline::sim::{Behaviour, Fault, Op, Role, World};

#[test]
fn an_evicted_object_goes_on_where_it_was() {
    let world = World::with(1, &[("SLOTS", "2")]);
    submit(&world, 30);
    for _ in 0..40 {
        world.run_for(Span::from_secs(2));
        world.evict_object();
    }
    finish(&world);
    assert!(world.all_jobs().iter().all(|job| job.attempts == 1));
}

#[test]
fn an_object_that_crashes_again_and_again_loses_no_job() {
    let world = World::with(2, &[("SLOTS", "4")]);
    submit(&world, 40);
    for step in 0..60 {
        world.run_for(Span::from_millis(700 + step * 13));
        world.crash_object();
    }
    finish(&world);
    assert!(world.all_jobs().iter().all(|job| job.status == JobStatus::Completed));
}

#[test]
fn an_object_that_lost_its_storage_is_rebuilt_from_the_database() {
    let world = World::with(3, &[("SLOTS", "3")]);
    submit(&world, 30);
    world.run_for(Span::from_secs(1));
    world.claude_outage(Span::from_secs(20));
    world.run_for(Span::from_secs(40));
    while world.scheduler().running > 0 {
        world.run_for(Span::from_millis(100));
        world.claude_outage(Span::from_secs(1));
    }
    world.wipe_object();
    finish(&world);
}

#[test]
fn messages_lost_by_a_queue_cost_time_and_no_attempt() {
    let world = World::new(4);
    let tickets = submit(&world, 10);
    world.run_for(Span::from_millis(10));
    let mut lost = 0;
    for _ in 0..300 {
        world.run_for(Span::from_millis(1));
        lost += world.lose_queue(Queue::High);
    }
    assert!(lost > 0);
    finish(&world);
    for ticket in tickets {
        let job = world.job(world.jobs(ticket)[0]).unwrap();
        assert_eq!((job.status, job.attempts), (JobStatus::Completed, 1));
    }
}

#[test]
fn a_lost_dead_letter_is_written_again() {
    for fault in [Fault::Undone, Fault::DiesBefore] {
        let world = World::new(5);
        world.claude_always("number 0", Behaviour::Reset);
        let ticket = submit(&world, 1)[0];
        while world.statuses().len() < 5 {
            world.run_for(Span::from_millis(1));
        }
        world.fail(Role::Object, Op::Send, fault);
        finish(&world);
        let job = world.job(world.jobs(ticket)[0]).unwrap();
        assert_eq!((job.status, job.attempts), (JobStatus::DeadLettered, 5), "{fault:?}");
        assert_eq!(world.notices(job.job_id), 1);
    }
}

#[test]
fn a_dead_letter_whose_consumer_dies_is_told_of_at_most_once() {
    for fault in [Fault::DiesBefore, Fault::DiesAfter] {
        let world = World::new(6);
        world.claude_always("number 0", Behaviour::Reset);
        let ticket = submit(&world, 1)[0];
        while world.waiting(Queue::Dlq).is_empty() {
            world.run_for(Span::from_millis(1));
        }
        world.fail(Role::Consumer, Op::Sql, fault);
        finish(&world);
        let job = world.jobs(ticket)[0];
        assert_eq!(world.job(job).unwrap().status, JobStatus::DeadLettered);
        assert_eq!(world.notices(job), u32::from(fault == Fault::DiesBefore));
    }
}

#[test]
fn a_message_given_up_by_the_platform_ends_no_job() {
    let world = World::new(7);
    let ticket = submit(&world, 1)[0];
    while world.waiting(Queue::High).is_empty() {
        world.run_for(Span::from_millis(1));
    }
    let body = world.waiting(Queue::High)[0].clone();
    world.lose_queue(Queue::High);
    world.deliver(Queue::Dlq, &body);
    finish(&world);
    let job = world.job(world.jobs(ticket)[0]).unwrap();
    assert_eq!((job.status, job.attempts), (JobStatus::Completed, 1));
}

#[test]
fn limits_that_were_set_too_high_are_learned_from_the_answers() {
    let world = World::with(8, &[("LIMIT_REQUESTS_PER_MINUTE", "600")]);
    let mut limits = claude_pipeline::scheduler::Config::default().limits;
    limits.requests = 60;
    world.claude_limits(limits);
    submit(&world, 300);
    finish(&world);
    assert!(world.all_jobs().iter().all(|job| job.attempts == 1));
    assert!(world.over_limit() < 60, "{} of 300 calls met the limit", world.over_limit());
}

fn submit(world: &World, jobs: u32) -> Vec<claude_pipeline::sim::Ticket> {
    let submit = |number| world.submit("acme", &format!("number {number}"), Origin::UserAction);
    (0..jobs).map(submit).collect()
}

fn finish(world: &World) {
    assert!(world.run_until_idle(Span::from_secs(4 * 3_600)), "{:?}", world.all_jobs());
    world.assert_laws();
}
