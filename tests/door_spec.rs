//! At the door: one request made once, a wait that ends with the job, a job
//! ended by its owner. In the simulated world.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{JobId, JobStatus, Origin, Span};
use claude_pipeline::pipeline::input::result_key;
use claude_pipeline::sim::{Fault, Op, Plan, Role, Ticket, World};

#[test]
fn the_same_request_with_the_same_key_is_made_once() {
    let world = World::new(1);
    let first = world.submit_keyed("acme", "hello", "k");
    finish(&world);
    let again = world.submit_keyed("acme", "hello", "k");
    finish(&world);
    assert_eq!(world.jobs(first).len(), 1);
    assert_eq!(world.jobs(again), world.jobs(first));
    assert_eq!(world.all_jobs().len(), 1);
}

#[test]
fn at_the_same_time_it_is_made_once_too() {
    for seed in 1..=20 {
        let world = World::new(seed);
        let tickets = [(); 5].map(|()| world.submit_keyed("acme", "hello", "k"));
        finish(&world);
        let jobs: Vec<_> = tickets.iter().map(|ticket| world.jobs(*ticket)).collect();
        assert!(jobs.iter().all(|it| it.len() == 1 && *it == jobs[0]), "seed {seed}: {jobs:?}");
        assert_eq!(world.all_jobs().len(), 1);
    }
}

#[test]
fn another_request_with_the_key_is_refused_and_another_tenant_is_not() {
    let world = World::new(1);
    let first = world.submit_keyed("acme", "hello", "k");
    finish(&world);
    let other = world.submit_keyed("acme", "good bye", "k");
    let theirs = world.submit_keyed("bolt", "my own", "k");
    finish(&world);
    assert_eq!(world.refusal(other).unwrap().status, 422);
    assert_ne!(world.jobs(theirs), world.jobs(first));
    assert_eq!(world.all_jobs().len(), 2);
}

#[test]
fn a_refused_request_leaves_its_key_free() {
    let world = World::new(1);
    for _ in 0..2 {
        world.outage(Op::Sql, Span::from_secs(5));
        let refused = world.submit_keyed("acme", "hello", "k");
        world.run_for(Span::from_secs(10));
        assert_eq!(world.refusal(refused).unwrap().status, 503);
    }
    let accepted = world.submit_keyed("acme", "hello", "k");
    finish(&world);
    assert_eq!(world.jobs(accepted).len(), 1);
}

#[test]
fn a_key_outlasts_lost_answers_and_dead_doors() {
    for (seed, fault) in (1..).zip([Fault::Unreported, Fault::DiesAfter, Fault::DiesBefore]) {
        for after in 0..2 {
            let world = World::new(seed);
            world.plan(Plan { role: Role::Door, op: Op::Sql, after, times: 1, fault });
            let first = world.submit_keyed("acme", "hello", "k");
            world.run_for(Span::from_secs(90));
            let again = world.submit_keyed("acme", "hello", "k");
            finish(&world);
            assert_eq!(world.jobs(again).len(), 1, "{fault:?} after {after}");
            assert!(world.jobs(first).is_empty() || world.jobs(first) == world.jobs(again));
            assert_eq!(world.all_jobs().len(), 1, "{fault:?} after {after}");
        }
    }
}

#[test]
fn who_waits_is_told_at_once_when_the_job_ends() {
    let world = World::new(2);
    world.claude_pace(Span::from_secs(7), Span::from_secs(7));
    let job = accepted(&world, "slow");
    let asked = (1..=50).map(|_| world.show("acme", job, Some(Span::from_secs(60))));
    let asked: Vec<_> = asked.collect();
    let reads = world.asked(Role::Door, Op::Sql);
    let begun = world.now();
    world.run_for(Span::from_secs(20));
    for told in asked {
        assert_eq!(told.body().unwrap()["status"], "completed");
        let after = told.at().unwrap().since(begun).as_millis();
        assert!((6_000..8_500).contains(&after), "{after} ms");
    }
    let reads = world.asked(Role::Door, Op::Sql) - reads;
    assert_eq!(reads, 100, "one before and one after, each");
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let world = World::new(2);
    world.claude_pace(Span::from_secs(20), Span::from_secs(20));
    let job = accepted(&world, "slow");
    let (begun, told) = (world.now(), world.show("acme", job, Some(Span::from_secs(5))));
    world.run_for(Span::from_secs(30));
    assert_eq!(told.body().unwrap()["status"], "running");
    let after = told.at().unwrap().since(begun).as_millis();
    assert!((5_000..5_600).contains(&after), "{after} ms");
}

#[test]
fn a_wait_outlives_the_object_it_waits_at() {
    let world = World::new(3);
    world.claude_pace(Span::from_secs(10), Span::from_secs(10));
    let job = accepted(&world, "slow");
    let told = world.show("acme", job, Some(Span::from_secs(60)));
    world.run_for(Span::from_secs(2));
    world.crash_object();
    world.run_for(Span::from_secs(40));
    assert_eq!(told.body().unwrap()["status"], "completed");
}

#[test]
fn a_waiting_job_is_canceled_at_once_and_never_called() {
    let world = World::with(4, &[("SLOTS", "1")]);
    world.claude_pace(Span::from_secs(20), Span::from_secs(20));
    let running = accepted(&world, "first");
    let waiting = accepted(&world, "second");
    let waiter = world.show("acme", waiting, Some(Span::from_secs(60)));
    let canceled = world.cancel("acme", waiting);
    world.run_for(Span::from_secs(1));
    assert_eq!((canceled.status(), world.scheduler().depth), (Some(200), 1));
    assert_eq!(waiter.body().unwrap()["status"], "canceled");
    finish(&world);
    assert_eq!((status(&world, waiting), world.paid(waiting)), (JobStatus::Canceled, 0));
    assert_eq!(status(&world, running), JobStatus::Completed);
}

#[test]
fn a_running_job_is_canceled_and_its_answer_thrown_away() {
    let world = World::new(5);
    world.claude_pace(Span::from_secs(2), Span::from_secs(2));
    let job = accepted(&world, "answered soon");
    let canceled = world.cancel("acme", job);
    finish(&world);
    assert_eq!((canceled.status(), status(&world, job)), (Some(200), JobStatus::Canceled));
    assert!(world.object(&result_key(job)).is_none(), "its answer came after two seconds");
}

#[test]
fn a_long_call_is_given_up_when_its_job_is_canceled() {
    let world = World::new(6);
    world.claude_pace(Span::from_secs(24), Span::from_secs(24));
    let job = accepted(&world, "long");
    world.cancel("acme", job);
    world.run_for(Span::from_secs(6));
    assert_eq!(world.scheduler().depth, 0, "its slot is free long before the call would end");
    finish(&world);
    assert_eq!(status(&world, job), JobStatus::Canceled);
}

#[test]
fn what_has_ended_is_not_canceled() {
    let world = World::new(7);
    let job = accepted(&world, "short");
    finish(&world);
    let late = world.cancel("acme", job);
    let foreign = world.cancel("bolt", job);
    finish(&world);
    assert_eq!((late.status(), foreign.status()), (Some(409), Some(404)));
    assert_eq!(late.body().unwrap()["jobStatus"], "completed");
}

#[test]
fn a_cancellation_the_scheduler_never_heard_of_still_counts() {
    let world = World::with(8, &[("SLOTS", "1")]);
    world.claude_pace(Span::from_secs(20), Span::from_secs(20));
    accepted(&world, "first");
    let job = accepted(&world, "second");
    world.outage(Op::Ask, Span::from_secs(15));
    let canceled = world.cancel("acme", job);
    finish(&world);
    assert_eq!((canceled.status(), status(&world, job)), (Some(200), JobStatus::Canceled));
    assert_eq!(world.paid(job), 0);
}

#[test]
fn a_cancellation_whose_answer_was_lost_is_told_as_done() {
    let world = World::with(9, &[("SLOTS", "1")]);
    world.claude_pace(Span::from_secs(20), Span::from_secs(20));
    accepted(&world, "first");
    let job = accepted(&world, "second");
    world.fail(Role::Door, Op::Sql, Fault::Unreported);
    let canceled = world.cancel("acme", job);
    finish(&world);
    assert_eq!(canceled.status(), Some(200));
}

fn accepted(world: &World, prompt: &str) -> JobId {
    let ticket: Ticket = world.submit("acme", prompt, Origin::UserAction);
    world.run_for(Span::from_millis(900));
    world.jobs(ticket)[0]
}

fn finish(world: &World) {
    assert!(world.run_until_idle(Span::from_secs(3_600)), "{} are left", world.unfinished());
    world.assert_laws();
}

fn status(world: &World, job: JobId) -> JobStatus {
    world.job(job).unwrap().status
}
