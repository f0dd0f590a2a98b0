//! What becomes of a job: from the door to its end, with everything in
//! working order but Claude.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{JobId, JobStatus, Origin, Queue, Span};
use claude_pipeline::pipeline::input::{input_key, result_key};
use claude_pipeline::sim::{Behaviour, JobSeen, Op, Role, Ticket, World, answer_to};

#[test]
fn a_prompt_is_answered_and_its_message_acknowledged_once() {
    let world = World::new(1);
    let job = one(&world, world.submit("acme", "what is 2 + 2?", Origin::UserAction));
    finish(&world);
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
    let result = world.object(&result_key(job)).unwrap();
    assert_eq!(String::from_utf8(result.body).unwrap(), answer_to("what is 2 + 2?"));
    assert_eq!(world.receipts(), (1, 0));
    assert_eq!(world.statuses(), [200]);
}

#[test]
fn a_small_job_costs_few_operations() {
    let world = World::new(2);
    world.claude_pace(Span::from_secs(1), Span::from_secs(1));
    one(&world, world.submit("acme", "cheap", Origin::UserAction));
    finish(&world);
    let asked = |role, op| world.asked(role, op);
    assert_eq!((asked(Role::Door, Op::Sql), asked(Role::Consumer, Op::Sql)), (1, 2));
    assert_eq!((asked(Role::Door, Op::Put), asked(Role::Consumer, Op::Put)), (0, 1));
    assert_eq!((asked(Role::Door, Op::Admit), asked(Role::Door, Op::Submit)), (1, 1));
    assert_eq!((asked(Role::Consumer, Op::Settle), asked(Role::Consumer, Op::Ask)), (1, 0));
    assert_eq!((asked(Role::Object, Op::Send), asked(Role::Consumer, Op::Head)), (1, 0));
}

#[test]
fn a_large_request_waits_in_r2() {
    let world = World::new(3);
    let prompt = "word ".repeat(10_000);
    let job = one(&world, world.submit("acme", &prompt, Origin::UserAction));
    assert!(world.object(&input_key(job)).is_some());
    finish(&world);
    assert_eq!(seen(&world, job).status, JobStatus::Completed);
}

#[test]
fn a_form_of_pdfs_becomes_a_job_each() {
    let world = World::new(4);
    let files = ["a.pdf", "ß.pdf", "c.pdf"].map(|name| (name, pdf(name)));
    let ticket = world.submit_batch("acme", "sum this up", &files);
    world.run_for(Span::from_secs(2));
    let jobs = world.jobs(ticket);
    assert_eq!(jobs.len(), 3);
    finish(&world);
    assert!(jobs.iter().all(|job| seen(&world, *job).status == JobStatus::Completed));
}

#[test]
fn a_refused_request_leaves_nothing() {
    let world = World::new(5);
    let large = "x".repeat(50_000);
    for body in [
        "{}".to_owned(),
        r#"{"prompt":"p","colour":1}"#.to_owned(),
        format!(r#"{{"prompt":"{large}","maxTokens":0}}"#),
        format!(r#"{{"request":{{"model":"m","messages":["{large}"]}}}}"#),
        r#"{"prompt":"cut off"#.to_owned(),
    ] {
        let ticket = world.submit_json("acme", "never", body);
        world.run_for(Span::from_secs(5));
        assert_eq!(world.refusal(ticket).map(|problem| problem.status), Some(400));
    }
    assert_eq!((world.all_jobs().len(), world.keys().len()), (0, 0));
    finish(&world);
}

#[test]
fn a_429_is_waited_out_without_using_an_attempt() {
    let world = World::new(6);
    for _ in 0..7 {
        world.claude_will(Behaviour::Throttled(Some(2)));
    }
    let job = one(&world, world.submit("acme", "patience", Origin::UserAction));
    finish(&world);
    let seen = seen(&world, job);
    assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 1));
    assert_eq!(world.statuses(), [429, 429, 429, 429, 429, 429, 429, 200]);
    assert_eq!(world.receipts(), (8, 0), "waiting is not the queue's business");
}

#[test]
fn retry_after_is_waited_out() {
    let world = World::new(7);
    world.claude_will(Behaviour::Throttled(Some(40)));
    one(&world, world.submit("acme", "later", Origin::UserAction));
    world.run_for(Span::from_secs(39));
    assert_eq!(world.statuses(), [429]);
    finish(&world);
    assert_eq!(world.statuses(), [429, 200]);
}

#[test]
fn a_400_acknowledges_the_message_and_fails_the_job() {
    let world = World::new(8);
    world.claude_will(Behaviour::Refused);
    let job = one(&world, world.submit("acme", "not like this", Origin::UserAction));
    finish(&world);
    let seen = seen(&world, job);
    assert_eq!(seen.status, JobStatus::Failed);
    assert_eq!(seen.error_type.as_deref(), Some("invalid_request_error"));
    assert_eq!(world.receipts(), (1, 0));
    assert_eq!((world.statuses(), world.notices(job)), (vec![400], 1));
}

#[test]
fn every_transient_failure_is_tried_again() {
    for (seed, behaviour) in (20..).zip([
        Behaviour::Overloaded(Some(1)),
        Behaviour::Overloaded(None),
        Behaviour::Reset,
        Behaviour::Hang,
        Behaviour::Silent,
        Behaviour::CutShort,
        Behaviour::Broken,
        Behaviour::ErrorInStream,
        Behaviour::Panic,
        Behaviour::Slow(Span::from_secs(26)),
    ]) {
        let world = World::new(seed);
        world.claude_will(behaviour);
        let job = one(&world, world.submit("acme", "again", Origin::UserAction));
        finish(&world);
        let seen = seen(&world, job);
        assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 2), "{behaviour:?}");
        assert_eq!(world.receipts(), (2, 0), "{behaviour:?}");
    }
}

#[test]
fn a_job_that_never_succeeds_is_dead_lettered_after_its_attempts() {
    for (seed, origin, most) in [(9, Origin::UserAction, 5), (10, Origin::BatchJob, 3)] {
        let world = World::new(seed);
        world.claude_always("hopeless", Behaviour::Overloaded(None));
        let job = one(&world, world.submit("acme", "hopeless", origin));
        finish(&world);
        let seen = seen(&world, job);
        assert_eq!((seen.status, seen.attempts), (JobStatus::DeadLettered, most));
        assert_eq!(seen.error_type.as_deref(), Some("overloaded_error"));
        assert_eq!(world.statuses().len(), usize::try_from(most).unwrap());
        assert_eq!(world.notices(job), 1);
    }
}

#[test]
fn a_poisonous_job_hurts_no_neighbour() {
    let world = World::new(11);
    world.claude_always("poison", Behaviour::Panic);
    let poison = world.submit("acme", "poison", Origin::UserAction);
    let neighbours: Vec<_> = (0..8)
        .map(|number| world.submit("acme", &format!("neighbour {number}"), Origin::UserAction))
        .collect();
    finish(&world);
    assert_eq!(seen(&world, world.jobs(poison)[0]).status, JobStatus::DeadLettered);
    for neighbour in neighbours {
        let seen = seen(&world, world.jobs(neighbour)[0]);
        assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 1));
    }
}

#[test]
fn a_slow_job_holds_up_no_neighbour_of_its_batch() {
    let world = World::new(12);
    world.claude_pace(Span::from_millis(500), Span::from_secs(1));
    world.claude_always("slow", Behaviour::Slow(Span::from_secs(20)));
    world.submit("acme", "slow", Origin::UserAction);
    let quick: Vec<_> = (0..4)
        .map(|number| world.submit("acme", &format!("quick {number}"), Origin::UserAction))
        .collect();
    world.run_for(Span::from_secs(4));
    let ended = |ticket: &Ticket| seen(&world, world.jobs(*ticket)[0]).status.ended();
    assert!(quick.iter().all(ended));
    finish(&world);
}

#[test]
fn wrong_credentials_fail_their_job_and_pause_the_others() {
    let world = World::with(13, &[("SLOTS", "1")]);
    world.claude_will(Behaviour::Unauthorized);
    let first = world.submit("acme", "first", Origin::UserAction);
    let second = world.submit("acme", "second", Origin::UserAction);
    world.run_for(Span::from_secs(30));
    assert_eq!(world.statuses(), [401]);
    assert!(world.scheduler().paused.is_some());
    world.change_key();
    world.run_for(Span::from_secs(1));
    world.submit("acme", "third", Origin::UserAction);
    finish(&world);
    let failed = [first, second].map(|ticket| seen(&world, world.jobs(ticket)[0]).status);
    let failed = failed.iter().filter(|status| **status == JobStatus::Failed).count();
    assert_eq!(failed, 1);
}

#[test]
fn without_credit_jobs_wait_and_use_up_nothing() {
    let world = World::new(14);
    world.claude_will(Behaviour::OutOfCredit);
    world.claude_will(Behaviour::OutOfCredit);
    let job = one(&world, world.submit("acme", "poor", Origin::UserAction));
    finish(&world);
    let seen = seen(&world, job);
    assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 1));
    assert_eq!(world.statuses(), [402, 402, 200]);
}

#[test]
fn calls_keep_to_the_slots_and_to_the_limits() {
    let limits = [("SLOTS", "6"), ("LIMIT_REQUESTS_PER_MINUTE", "30")];
    let world = World::with(15, &limits);
    for number in 0..120 {
        let tenant = ["acme", "globex"][number % 2];
        world.submit(tenant, &format!("one of many {number}"), Origin::BatchJob);
    }
    finish(&world);
    assert_eq!(world.most_calls_at_once(), 6, "and no slot idles");
    assert_eq!(world.over_limit(), 0);
    assert_eq!(world.statuses(), vec![200; 120]);
}

#[test]
fn messages_that_are_none_are_dropped() {
    let world = World::new(16);
    for body in ["", "{}", r#"{"v":1,"jobId":"7","lease":1}"#] {
        world.deliver(Queue::High, body);
        world.deliver(Queue::Dlq, body);
    }
    finish(&world);
}

/// The job of a request, once it is accepted.
fn one(world: &World, ticket: Ticket) -> JobId {
    world.run_for(Span::from_millis(150));
    world.jobs(ticket)[0]
}

fn seen(world: &World, job: JobId) -> JobSeen {
    world.job(job).unwrap()
}

fn finish(world: &World) {
    assert!(world.run_until_idle(Span::from_secs(4 * 3_600)), "{:?}", world.all_jobs());
    world.assert_laws();
}

fn pdf(text: &str) -> Vec<u8> {
    format!("%PDF-1.7\n1 0 obj<</Type/Page>>endobj\n% {text}\n%%EOF\n").into_bytes()
}
