//! The scheduler object's desk: what it writes down before it acts, and what
//! is left of it when a turn fails or panics.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::domain::{JobStatus, Origin, Span};
use claude_pipeline::sim::{Behaviour, Fault, JobSeen, Op, Plan, Role, Ticket, World};

/// So often a message is sent before its lease is taken back.
const TRIES: u32 = 4;
const FAILURES: [Fault; 3] = [Fault::Undone, Fault::DiesBefore, Fault::Panics];

#[test]
fn nothing_is_sent_that_was_not_written_down() {
    for fault in FAILURES {
        let world = World::new(1);
        no_write_succeeds(&world, fault);
        let ticket = submit(&world, "unwritten");
        world.run_for(Span::from_secs(5));
        assert_eq!(world.asked(Role::Object, Op::Send), 0, "{fault:?}");
        world.peace();
        finish(&world);
        assert_eq!(job(&world, ticket).attempts, 1);
    }
}

#[test]
fn a_turn_that_was_not_written_down_leaves_no_trace_in_memory() {
    for fault in FAILURES {
        let world = World::new(2);
        let ticket = submit(&world, "settled in vain");
        run_until(&world, || !world.statuses().is_empty());
        no_write_succeeds(&world, fault);
        run_until(&world, || job(&world, ticket).status == JobStatus::Completed);
        world.run_for(Span::from_secs(5));
        assert_eq!(world.scheduler().running, 1, "{fault:?}");
        world.peace();
        finish(&world);
        assert_eq!(job(&world, ticket).attempts, 1);
    }
}

#[test]
fn a_panic_while_sending_keeps_no_later_turn_from_sending() {
    let world = World::new(3);
    world.fail(Role::Object, Op::Send, Fault::Panics);
    let first = submit(&world, "unsent");
    world.run_for(Span::from_secs(1));
    let second = submit(&world, "sent");
    world.run_for(Span::from_secs(15));
    assert_eq!(job(&world, second).status, JobStatus::Completed);
    finish(&world);
    assert_eq!(job(&world, first).attempts, 1);
}

#[test]
fn a_queue_that_refuses_holds_up_no_other() {
    let tokens = ["LIMIT_INPUT_TOKENS_PER_MINUTE", "LIMIT_OUTPUT_TOKENS_PER_MINUTE"];
    let world = World::with(11, &tokens.map(|name| (name, "100000000")));
    world.outage(Op::Submit, Span::from_secs(40));
    for number in 0..20 {
        let origin = if number % 2 == 0 { Origin::UserAction } else { Origin::BatchJob };
        world.submit("acme", &format!("number {number}"), origin);
    }
    world.run_for(Span::from_secs(50));
    // The sweep releases them all in one turn; the high queue comes first.
    world.plan(Plan { times: TRIES, ..never(Op::Send, Fault::Undone) });
    world.run_for(Span::from_secs(30));
    assert_eq!((world.all_jobs().len(), world.unfinished()), (20, 0));
    finish(&world);
}

#[test]
fn a_lease_is_taken_back_unless_its_job_runs() {
    let world = World::new(12);
    world.claude_pace(Span::from_secs(8), Span::from_secs(8));
    world.plan(Plan { times: TRIES, ..never(Op::Send, Fault::Unreported) });
    let ticket = submit(&world, "sent after all");
    finish(&world);
    assert_eq!(world.asked(Role::Object, Op::Send), TRIES);
    let job = job(&world, ticket);
    assert_eq!((job.attempts, world.paid(job.job_id)), (1, 1));
}

#[test]
fn what_many_turns_release_goes_out_in_few_batches() {
    let world = World::new(4);
    for number in 0..60 {
        submit(&world, &format!("number {number}"));
    }
    world.run_for(Span::from_millis(400));
    let sends = world.asked(Role::Object, Op::Send);
    assert_eq!(world.asked(Role::Door, Op::Submit), 60);
    assert!(world.scheduler().running > 30);
    assert!(sends < 20, "{sends} sends");
    finish(&world);
}

#[test]
fn an_alarm_is_set_anew_before_anything_can_go_wrong() {
    for fault in FAILURES {
        let world = World::new(5);
        world.claude_will(Behaviour::Overloaded(Some(4)));
        let ticket = submit(&world, "tried again");
        run_until(&world, || world.scheduler().delayed == 1);
        world.run_for(Span::from_secs(1));
        no_write_succeeds(&world, fault);
        let counts = || [Op::Alarm, Op::Write].map(|op| world.asked(Role::Object, op));
        let [alarms, writes] = counts();
        run_until(&world, || counts()[1] > writes);
        assert_eq!(counts(), [alarms + 1, writes + 1], "{fault:?}");
        world.peace();
        world.run_for(Span::from_secs(45));
        let seen = job(&world, ticket);
        assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 2), "{fault:?}");
        finish(&world);
    }
}

#[test]
fn an_object_with_nothing_to_do_sleeps() {
    let world = World::new(9);
    submit(&world, "the only one");
    finish(&world);
    world.run_for(Span::from_secs(600));
    let alarms = world.asked(Role::Object, Op::Alarm);
    world.run_for(Span::from_secs(600));
    assert_eq!(world.asked(Role::Object, Op::Alarm), alarms);
}

#[test]
fn an_alarm_that_could_not_be_set_is_set_by_the_next_turn() {
    let world = World::new(6);
    world.claude_will(Behaviour::Overloaded(Some(4)));
    let ticket = submit(&world, "forgotten");
    run_until(&world, || !world.statuses().is_empty());
    world.plan(Plan { times: 1, ..never(Op::Alarm, Fault::Undone) });
    world.run_for(Span::from_secs(20));
    assert_eq!(job(&world, ticket).status, JobStatus::Completed);
    finish(&world);
}

#[test]
fn leases_from_before_a_restart_of_the_machine_are_ended_at_once() {
    let world = World::new(7);
    world.restart_machine();
    world.claude_will(Behaviour::Hang);
    let ticket = submit(&world, "cut off");
    run_until(&world, || !world.statuses().is_empty());
    world.restart_machine();
    submit(&world, "the first since");
    world.run_for(Span::from_secs(15));
    let seen = job(&world, ticket);
    assert_eq!((seen.status, seen.attempts), (JobStatus::Completed, 2));
    finish(&world);
}

#[test]
fn leases_from_before_an_eviction_live_on() {
    let world = World::new(10);
    world.restart_machine();
    world.claude_pace(Span::from_secs(8), Span::from_secs(8));
    for number in 1..3 {
        let ticket = submit(&world, &format!("number {number}"));
        run_until(&world, || world.statuses().len() == 2 * number - 1);
        world.run_for(Span::from_secs(1));
        assert!(world.evict_object());
        submit(&world, &format!("after eviction {number}"));
        finish(&world);
        assert_eq!(job(&world, ticket).attempts, 1);
    }
}

#[test]
fn the_sweep_goes_on_where_it_was() {
    let open = [("QUEUE_CAPACITY", "2000"), ("TENANT_SHARE_PERCENT", "100")];
    let world = World::with(8, &[("SLOTS", "1"), ("RATE_FREE_PER_MINUTE", "0"), open[0], open[1]]);
    world.claude_pace(Span::from_secs(20), Span::from_secs(20));
    world.outage(Op::Submit, Span::from_secs(40));
    for number in 0..1_100 {
        submit(&world, &format!("number {number}"));
    }
    world.run_for(Span::from_secs(190));
    let state = world.scheduler();
    assert!(world.unfinished() > 1_050);
    assert_eq!(state.waiting.critical + state.delayed + state.running, world.unfinished());
}

/// From now on, until there is peace.
fn no_write_succeeds(world: &World, fault: Fault) {
    world.plan(never(Op::Write, fault));
}

fn never(op: Op, fault: Fault) -> Plan {
    Plan { role: Role::Object, op, after: 0, times: u32::MAX, fault }
}

fn submit(world: &World, prompt: &str) -> Ticket {
    world.submit("acme", prompt, Origin::UserAction)
}

fn job(world: &World, ticket: Ticket) -> JobSeen {
    world.job(world.jobs(ticket)[0]).unwrap()
}

fn run_until(world: &World, reached: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if reached() {
            return;
        }
        world.run_for(Span::from_millis(1));
    }
    assert!(reached(), "it never came to be");
}

fn finish(world: &World) {
    assert!(world.run_until_idle(Span::from_secs(4 * 3_600)), "{:?}", world.all_jobs());
    world.assert_laws();
}
