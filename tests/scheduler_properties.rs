//! The scheduler against a model of it, over any order of steps: the same
//! effects, and the laws. A failing run is shrunk, printed, and kept in
//! `proptest-regressions/`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "model/backlog.rs"]
mod backlog;
mod model;
#[path = "model/steps.rs"]
mod steps;
#[path = "model/trial.rs"]
mod trial;
#[path = "model/world.rs"]
mod world;

use claude_pipeline::{domain::*, scheduler::*};
use model::{Entry, Model};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use std::collections::BTreeMap;
use steps::{Draw, Step};
use trial::Trial;

/// Together a million steps and more: each run has `MOST / 2` on average.
const CASES: u32 = 9_000;
const MOST: usize = 240;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES / 2,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/scheduler.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_does_what_the_model_does(config in config(), steps in steps()) {
        run(&config, steps).finish();
    }

    #[test]
    fn it_stays_within_the_limits(config in config(), steps in steps()) {
        let mut trial = run(&config, steps.into_iter().map(Step::untold));
        trial.finish();
        assert_within_limits(&trial.model);
    }
}

/// What the runs above reach. They are drawn like this one.
#[test]
fn the_runs_reach_every_rule() {
    let mut seen = BTreeMap::new();
    let mut draw = Draw(7);
    for run_of in 0..CONFIGS * 50 {
        let steps = (0..150).map(|_| Step::of(draw.next()));
        let mut trial = run(&config_of(run_of % CONFIGS), steps);
        trial.finish();
        for (what, times) in &trial.model.seen {
            *seen.entry(*what).or_insert(0) += times;
        }
    }
    for what in RULES {
        let times = seen.get(what).copied().unwrap_or(0);
        assert!(times >= 10, "{what}: only {times} times in {seen:#?}");
    }
}

fn run(config: &Config, steps: impl IntoIterator<Item = Step>) -> Trial {
    let mut trial = Trial::new(config);
    for step in steps {
        trial.take(step);
    }
    trial
}

/// Law 5: in no window more than its refill and one burst, unless a single
/// call is larger than nine tenths of that: it need not wait for the last one.
fn assert_within_limits(model: &Model) {
    let Limits { requests, input, output } = model.config.limits;
    let ledger: &[Entry] = &model.ledger;
    for (first, begin) in ledger.iter().enumerate() {
        let (mut sum, mut oversize) = ([0; 3], [0; 3]);
        for entry in ledger[first..].iter().filter(|entry| entry.class == begin.class) {
            for (bucket, limit) in [requests, input, output].into_iter().enumerate() {
                sum[bucket] += entry.charged[bucket];
                let over = entry.reserved[bucket].saturating_sub(limit * 9 / 10);
                oversize[bucket] = over.max(oversize[bucket]);
                let refill = limit * (entry.at - begin.at) / 60_000;
                assert!(
                    sum[bucket] <= refill + limit + oversize[bucket],
                    "bucket {bucket} overrun"
                );
            }
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any::<u64>().no_shrink().prop_map(Step::of), 0..MOST)
}

fn config() -> impl Strategy<Value = Config> {
    (0..CONFIGS).prop_map(config_of)
}

fn config_of(number: usize) -> Config {
    let (slow, quick) = (slow(), quick());
    let ordered = |config: &Config, change: fn(&mut Ordering)| {
        let mut config = *config;
        change(&mut config.order);
        config
    };
    match number {
        0 => slow,
        1 => quick,
        2 => {
            let config = ordered(&slow, |order| order.policy = Policy::Weights);
            Config { slots: 1, outage_after: 1, ..config }
        }
        3 => ordered(&quick, |order| order.policy = Policy::Weights),
        4 => ordered(&slow, |order| order.policy = Policy::Draw { critical_percent: 60 }),
        5 => ordered(&quick, |order| {
            order.policy = Policy::Draw { critical_percent: 40 };
            order.quantum = Some(Tokens::new(300));
        }),
        6 => {
            let config = ordered(&slow, |order| {
                order.quantum = Some(Tokens::new(300));
                order.burst_quanta = 1;
                order.park = Span::ZERO;
            });
            Config { slots: 2, ..config }
        }
        _ => ordered(&quick, |order| {
            order.quantum = Some(Tokens::new(300));
            order.burst_quanta = 0;
            order.headroom_percent = 0;
            order.fresh_percent = 30;
        }),
    }
}

/// Little of everything, so that all of it runs out.
fn slow() -> Config {
    Config {
        slots: 3,
        limits: Limits { requests: 20, input: 10_000, output: 5_000 },
        free_throttles: 3,
        order: Ordering { lead: lead(6, 2), ..Ordering::default() },
        ..Config::default()
    }
}

/// More of it, but less patience.
fn quick() -> Config {
    let slow = slow();
    Config {
        slots: 8,
        limits: Limits { requests: 60, input: 30_000, output: 30_000 },
        order: Ordering { lead: lead(3, 1), park: Span::from_secs(5), ..slow.order },
        demotion: DemotionRules {
            throttles: 2,
            daily_input: Tokens::new(3_000),
            lasts: Span::from_secs(30),
            ..slow.demotion
        },
        ..slow
    }
}

fn lead(critical: u64, standard: u64) -> PerPriority<Span> {
    let [critical, standard] = [critical, standard].map(Span::from_secs);
    PerPriority { critical, standard, batch: Span::ZERO }
}

const CONFIGS: usize = 8;

const RULES: [&str; 19] = [
    "capped lane skipped",
    "credit did not last",
    "demoted culprit",
    "demoted for a day's input",
    "demoted for throttles",
    "demotion lifted",
    "draw",
    "fresh release",
    "fully saved, and waits",
    "moved between lanes",
    "outage",
    "over its lead",
    "over its lead between classes",
    "overloaded probe",
    "parked",
    "parked job canceled",
    "parked release",
    "ramp",
    "ring release",
];
