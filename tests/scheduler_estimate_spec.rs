//! When a waiting job will start, and how far that comes true: within a factor
//! of two, or two seconds, for 95 of 100 jobs at least, both of what was said
//! when they were submitted and of what was said half-way through their wait.
//!
//! The rest is what nobody can know: calls that take longer than others, what
//! comes later, and in which order tenants use up the credit they begin with.
//! `MEASURE=1 cargo test --test scheduler_estimate_spec -- --nocapture` prints
//! how far off the estimates are.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_precision_loss)]

mod estimate_world;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use estimate_world::{Load, Said, first_and_midway, loads, run};
use world::*;

#[test]
fn one_tenants_backlog_waits_for_tokens() {
    comes_true(loads::one_tenant);
}

#[test]
fn tenants_of_both_plans_with_unequal_backlogs() {
    comes_true(loads::many_tenants);
}

#[test]
fn tenants_with_large_jobs_and_with_small_ones() {
    comes_true(loads::large_and_small);
}

#[test]
fn more_urgent_jobs_keep_coming() {
    comes_true(loads::urgent_arrivals);
}

#[test]
fn all_priorities_have_a_backlog() {
    comes_true(loads::three_backlogs);
}

#[test]
fn tenants_without_a_backlog_keep_coming() {
    comes_true(loads::light_tenants);
}

#[test]
fn slow_calls_hold_the_few_slots() {
    comes_true(loads::few_slots);
}

#[test]
fn the_last_slot_is_not_for_the_only_tenant() {
    comes_true(loads::few_slots_one_tenant);
}

#[test]
fn two_model_classes_share_the_slots() {
    comes_true(loads::slots_shared);
}

#[test]
fn some_calls_take_ten_times_as_long_as_others() {
    comes_true(loads::uneven_calls);
}

#[test]
fn requests_are_scarcer_than_tokens() {
    comes_true(loads::request_bound);
}

#[test]
fn large_jobs_are_set_aside_beside_a_stream_of_small_ones() {
    comes_true(loads::giants);
}

#[test]
fn large_jobs_are_set_aside_in_a_crowd() {
    comes_true(loads::giants_in_a_crowd);
}

/// Of what is said from then on: nobody knew of the 429 before.
#[test]
fn a_refusal_closes_the_gate() {
    comes_true(loads::gate_closed);
}

#[test]
fn a_demoted_tenant_waits_as_batch() {
    comes_true(loads::demoted);
}

#[test]
fn positions_fall_and_the_next_job_is_the_first() {
    for load in [loads::many_tenants, loads::three_backlogs, loads::few_slots] {
        let said = run(&load(1));
        let [first, midway] = first_and_midway(&said);
        let falls = |(first, later): (&Said, &Said)| later.position <= first.position;
        let falling = first.iter().zip(&midway).filter(|pair| falls(*pair)).count();
        assert!(falling * 100 >= first.len() * 95, "{falling} of {}", first.len());
        for second in (130..200).map(|second| 1_000 * second) {
            let places = said.iter().filter(|it| it.at == second).map(|it| it.position);
            assert_eq!(places.min(), Some(1), "after {second} ms");
        }
    }
}

#[test]
fn only_calls_that_ran_tell_how_long_calls_take() {
    let unbegun = Outcome::Transient {
        error: JobError::new("overloaded_error", "Overloaded"),
        retry_after: None,
        begun: false,
    };
    for (outcome, known) in [
        (completed(), true),
        (permanent(), true),
        (transient(Some(60)), true),
        (unbegun, false),
        (throttled(Some(20)), false),
        (Outcome::NotStarted, false),
        (Outcome::Lost, false),
    ] {
        let mut world = World::new(Config { slots: 1, ..one_a_second() });
        world.submit(job(1));
        world.pass(secs(7));
        world.settle(1, outcome);
        assert_eq!(world.snapshot.contains(r#""meanDuration":112000"#), known);
        assert_eq!(world.snapshot.contains("meanDuration"), known);
    }
}

#[test]
fn what_was_learned_of_calls_survives_a_restart() {
    let mut world = World::new(Config { slots: 1, ..one_a_second() });
    world.submit(job(1));
    world.pass(secs(30));
    world.settle(1, completed());
    world.submit_all([job(2), job(3), job(4)]);
    world.pass(secs(10));
    let starts = |world: &World| {
        [3, 4].map(|number| world.waits_for(number).unwrap().estimated_start.since(world.now))
    };
    assert_eq!(starts(&world), [secs(20), secs(50)]);
    world.restart();
    assert_eq!(starts(&world), [secs(20), secs(50)]);
    world.snapshot = world.snapshot.replace(r#""meanDuration":480000,"#, "");
    world.restart();
    assert_eq!(starts(&world), [secs(0); 2], "as before anything was learned");
}

#[test]
fn large_jobs_that_are_set_aside_wait_for_one_another() {
    let mut world = World::new(one_a_second());
    let large = |number| Submission { estimate: usage(40_000, 0), ..job(number) };
    world.submit(job(50));
    world.submit_all((1..=3).map(|number| by("large", large(number))));
    assert_eq!(world.released(), [50, 1]);
    world.submit_all((100..=400).map(job));
    let waits = [2, 3].map(|number| world.waits_for(number).unwrap());
    assert_eq!(waits.map(|it| it.position), [1, 2]);
    let [first, second] = waits.map(|it| it.estimated_start.since(world.now));
    assert!(first >= secs(60), "others flow around it for a minute: {first:?}");
    assert!(second >= first.saturating_add(secs(40)), "{second:?}");
}

/// Runs the load of five seeds.
fn comes_true(load: fn(u64) -> Load) {
    let seed = std::env::var("SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds: Vec<u64> = seed.map_or_else(|| (1..=5).collect(), |seed| vec![seed]);
    let (mut first, mut midway) = (Vec::new(), Vec::new());
    for seed in &seeds {
        let [early, later] = first_and_midway(&run(&load(*seed)));
        first.extend(early);
        midway.extend(later);
    }
    for (when, said) in [("at first", &first), ("midway", &midway)] {
        if std::env::var("MEASURE").is_ok() {
            println!("{when}: {}", spread(said));
        }
        let true_ones = said.iter().filter(|it| it.holds()).count();
        let share = true_ones * 100 / said.len();
        let wrong: Vec<_> = said.iter().filter(|it| !it.holds()).take(9).collect();
        assert!(share >= 95, "{when}: {share} % of seeds {seeds:?}, such as {wrong:#?}");
    }
}

/// How much longer the estimates are than the waits, of those that count.
fn spread(said: &[Said]) -> String {
    let mut ratios: Vec<f64> = said.iter().filter(|it| it.real > 2_000).map(Said::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |percent: usize| ratios[(ratios.len() - 1) * percent / 100];
    let holds = 100.0 * said.iter().filter(|it| it.holds()).count() as f64 / said.len() as f64;
    let [p1, p5, p50, p95, p99] = [1, 5, 50, 95, 99].map(at);
    let jobs = said.len();
    format!("{jobs} jobs, {holds:.1} %; {p1:.2} {p5:.2} {p50:.2} {p95:.2} {p99:.2}")
}
