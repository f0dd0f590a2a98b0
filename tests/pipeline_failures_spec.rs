//! Failure, point by point: the table of the design's section 6, and what
//! building it has taught.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{JobId, JobStatus, Origin, Queue, Span};
use claude_pipeline::pipeline::input::result_key;
use claude_pipeline::sim::{Behaviour, Fault, JobSeen, Op, Plan, Role, Ticket, World};

#[test]
fn a_job_the_scheduler_was_not_told_of_is_found_by_the_sweep() {
    for fault in [Fault::Undone, Fault::DiesBefore] {
        let world = World::new(1);
        world.plan(Plan { role: Role::Door, op: Op::Submit, after: 0, times: 4, fault });
        world.submit("acme", "forgotten", Origin::UserAction);
        world.run_for(Span::from_secs(5));
        assert_eq!(world.scheduler().waiting.critical + world.scheduler().running, 0);
        finish(&world);
        assert_eq!(world.all_jobs()[0].status, JobStatus::Completed);
    }
}

#[test]
fn a_release_that_was_never_sent_is_released_again_without_an_attempt() {
    let world = World::new(2);
    world.fail(Role::Object, Op::Send, Fault::DiesBefore);
    let job = one(&world, world.submit("acme", "unsent", Origin::UserAction));
    finish(&world);
    assert_eq!(attempts(&world, job), 1);
}

#[test]
fn a_send_that_failed_is_tried_again_at_once_without_an_attempt() {
    let world = World::new(3);
    world.fail(Role::Object, Op::Send, Fault::Undone);
    let job = one(&world, world.submit("acme", "refused by the queue", Origin::UserAction));
    world.run_for(Span::from_secs(20));
    assert_eq!(attempts(&world, job), 1);
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
    finish(&world);
}

#[test]
fn a_send_that_only_seemed_to_fail_does_not_cut_a_running_attempt_short() {
    let world = World::new(4);
    world.claude_pace(Span::from_secs(8), Span::from_secs(8));
    world.fail(Role::Object, Op::Send, Fault::Unreported);
    world.fail(Role::Object, Op::Sql, Fault::Undone);
    let job = one(&world, world.submit("acme", "sent after all", Origin::UserAction));
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_lease_taken_back_twice_costs_no_attempt() {
    let world = World::new(5);
    world.fail(Role::Object, Op::Send, Fault::Undone);
    world.fail(Role::Object, Op::Sql, Fault::Unreported);
    let job = one(&world, world.submit("acme", "taken back", Origin::UserAction));
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_429_whose_settlement_was_lost_costs_no_attempt() {
    let world = World::new(6);
    world.claude_will(Behaviour::Throttled(Some(1)));
    let lost =
        Plan { role: Role::Consumer, op: Op::Settle, after: 0, times: 4, fault: Fault::Undone };
    world.plan(lost);
    let job = one(&world, world.submit("acme", "unlucky", Origin::UserAction));
    finish(&world);
    assert_eq!(world.statuses(), [429, 200]);
    assert_eq!(attempts(&world, job), 1);
}

#[test]
fn a_claim_whose_answer_was_lost_is_repeated_and_runs_once() {
    let world = World::new(18);
    world.fail(Role::Consumer, Op::Sql, Fault::Unreported);
    let job = one(&world, world.submit("acme", "claimed unheard", Origin::UserAction));
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_message_that_comes_twice_runs_once() {
    let world = World::new(7);
    world.duplicates(1_000);
    let jobs: Vec<_> = (0..20)
        .map(|number| world.submit("acme", &format!("twin {number}"), Origin::UserAction))
        .collect();
    finish(&world);
    for ticket in jobs {
        let job = world.jobs(ticket)[0];
        assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
    }
}

#[test]
fn a_message_that_comes_again_after_the_end_changes_nothing() {
    let world = World::new(8);
    let ticket = world.submit("acme", "over", Origin::UserAction);
    world.run_for(Span::from_millis(110));
    let job = world.jobs(ticket)[0];
    let body = format!(
        r#"{{"v":1,"jobId":"{job}","lease":1,"attempt":1,"until":{}}}"#,
        world.now().as_millis() + 80_000
    );
    finish(&world);
    world.deliver(Queue::High, &body);
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_consumer_that_dies_in_mid_call_loses_one_attempt() {
    let world = World::new(9);
    world.claude_pace(Span::from_secs(10), Span::from_secs(10));
    let job = one(&world, world.submit("acme", "cut", Origin::UserAction));
    world.run_for(Span::from_secs(5));
    assert_eq!(world.crash_consumers(), 1);
    world.run_for(Span::from_secs(30));
    assert_eq!(world.statuses().len(), 1, "its lease is still valid");
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (2, 2));
}

/// A prompt of two thirds of a minute's input: two do not fit into one.
#[test]
fn an_attempt_that_panics_is_taken_to_have_used_all_it_held() {
    let world = World::with(22, &[("LIMIT_INPUT_TOKENS_PER_MINUTE", "6000")]);
    let text = "a word or two ".repeat(1_100);
    world.claude_will(Behaviour::Panic);
    let first = one(&world, world.submit("acme", &format!("{text}first"), Origin::UserAction));
    assert_eq!(attempts(&world, first), 1);
    let next = one(&world, world.submit("globex", &text, Origin::UserAction));
    world.run_for(Span::from_secs(5));
    assert_eq!(attempts(&world, next), 0, "its tokens may be gone");
    finish(&world);
    assert_eq!(seen(&world, next).status, JobStatus::Completed);
}

#[test]
fn an_answer_that_could_not_be_stored_at_once_is_stored_in_the_same_attempt() {
    for fault in [Fault::Undone, Fault::Unreported] {
        let world = World::new(10);
        world.plan(Plan { role: Role::Consumer, op: Op::Put, after: 0, times: 3, fault });
        let job = one(&world, world.submit("acme", "stubborn store", Origin::UserAction));
        finish(&world);
        assert_eq!((attempts(&world, job), world.paid(job)), (1, 1), "{fault:?}");
    }
}

#[test]
fn an_answer_that_could_not_be_stored_is_asked_for_again() {
    let world = World::new(11);
    let fault = Fault::Undone;
    world.plan(Plan { role: Role::Consumer, op: Op::Put, after: 0, times: 4, fault });
    let job = one(&world, world.submit("acme", "lost answer", Origin::UserAction));
    finish(&world);
    assert_eq!((attempts(&world, job), world.paid(job)), (2, 2));
}

#[test]
fn a_stored_answer_completes_its_job_whatever_dies_after_it() {
    let deaths = [
        (Op::Put, 0, Fault::DiesAfter),
        (Op::Sql, 1, Fault::DiesBefore),
        (Op::Sql, 1, Fault::DiesAfter),
        (Op::Settle, 0, Fault::DiesBefore),
        (Op::Settle, 0, Fault::DiesAfter),
    ];
    for (op, after, fault) in deaths {
        let world = World::new(12);
        world.plan(Plan { role: Role::Consumer, op, after, times: 1, fault });
        let job = one(&world, world.submit("acme", "kept", Origin::UserAction));
        finish(&world);
        assert!(world.object(&result_key(job)).is_some());
        assert_eq!((attempts(&world, job), world.paid(job)), (1, 1), "{op:?} {fault:?}");
    }
}

#[test]
fn a_stored_answer_is_found_even_if_its_message_never_comes_again() {
    let world = World::new(19);
    world.fail(Role::Consumer, Op::Put, Fault::DiesAfter);
    let job = one(&world, world.submit("acme", "orphaned", Origin::UserAction));
    for _ in 0..300 {
        world.run_for(Span::from_millis(100));
        world.lose_queue(Queue::High);
    }
    assert_eq!(seen(&world, job).status, JobStatus::Running);
    finish(&world);
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_late_answer_is_used_and_no_second_is_paid_for() {
    let variables = [("HANDOVER_MS", "1"), ("BACKOFF_CRITICAL_MS", "30000")];
    let world = World::with(20, &variables);
    world.claude_will(Behaviour::Slow(Span::from_millis(24_700)));
    let fault = Fault::Undone;
    world.plan(Plan { role: Role::Consumer, op: Op::Put, after: 0, times: 3, fault });
    let job = one(&world, world.submit("acme", "late", Origin::UserAction));
    world.run_for(Span::from_millis(25_000));
    let lost = seen(&world, job);
    assert_eq!(
        (lost.status, lost.error_type.as_deref()),
        (JobStatus::Pending, Some("attempt_lost"))
    );
    finish(&world);
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
    assert_eq!((attempts(&world, job), world.paid(job)), (1, 1));
}

#[test]
fn a_consumer_ends_its_job_while_the_scheduler_is_away() {
    let world = World::new(13);
    let job = one(&world, world.submit("acme", "alone", Origin::UserAction));
    world.outage(Op::Settle, Span::from_secs(60));
    world.run_for(Span::from_secs(30));
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
    assert_eq!(world.scheduler().running, 1, "it has not heard");
    finish(&world);
}

#[test]
fn an_attempt_whose_end_could_not_be_written_is_found_out() {
    let world = World::new(14);
    let job = one(&world, world.submit("acme", "unwritten", Origin::UserAction));
    world.outage(Op::Sql, Span::from_secs(40));
    finish(&world);
    assert_eq!((seen(&world, job).status, world.paid(job)), (JobStatus::Completed, 1));
}

#[test]
fn a_database_that_is_away_refuses_at_the_door_and_keeps_nothing() {
    let world = World::new(15);
    world.outage(Op::Sql, Span::from_secs(20));
    let small = world.submit("acme", "small", Origin::UserAction);
    let large = world.submit("acme", &"large ".repeat(9_000), Origin::UserAction);
    let form = world.submit_batch("acme", "form", &[("a.pdf", b"%PDF-1.7\n%%EOF\n".to_vec())]);
    world.run_for(Span::from_secs(15));
    for ticket in [small, large, form] {
        let problem = world.refusal(ticket).unwrap();
        assert_eq!(problem.status, 503);
        assert!(problem.retry_after.is_some());
    }
    assert!(world.keys().is_empty());
    finish(&world);
}

#[test]
fn an_insert_whose_answer_is_lost_counts_once() {
    let world = World::new(16);
    world.fail(Role::Door, Op::Sql, Fault::Unreported);
    let ticket = world.submit("acme", "once", Origin::UserAction);
    finish(&world);
    assert_eq!((world.jobs(ticket).len(), world.all_jobs().len()), (1, 1));
}

#[test]
fn an_insert_that_stays_unknown_is_taken_back() {
    let world = World::new(17);
    let fault = Fault::Unreported;
    world.plan(Plan { role: Role::Door, op: Op::Sql, after: 0, times: 4, fault });
    let ticket = world.submit("acme", "taken back", Origin::UserAction);
    finish(&world);
    assert_eq!(world.refusal(ticket).unwrap().status, 503);
    assert!(world.all_jobs().is_empty());
}

/// The job of a request, once it is accepted.
fn one(world: &World, ticket: Ticket) -> JobId {
    world.run_for(Span::from_millis(150));
    world.jobs(ticket)[0]
}

fn seen(world: &World, job: JobId) -> JobSeen {
    world.job(job).unwrap()
}

fn attempts(world: &World, job: JobId) -> u32 {
    seen(world, job).attempts
}

fn finish(world: &World) {
    assert!(world.run_until_idle(Span::from_secs(4 * 3_600)), "{:?}", world.all_jobs());
    world.assert_laws();
}
