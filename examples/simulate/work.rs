//! All runs, on two threads.
use super::options::Options;
use claude_pipeline::sim::trial::{Kind, Run, Scenario, run};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// By scenario, then policy: the runs, in the order of the seeds.
pub(crate) type Results<'a> = Vec<(&'a Scenario, Vec<(String, Vec<Run>)>)>;

/// Runs everything that is asked for.
pub(crate) fn run_all<'a>(options: &Options<'a>) -> Results<'a> {
    let mut tasks: Vec<(&Scenario, &Kind, u64)> = Vec::new();
    for scenario in &options.scenarios {
        for (_, kind) in &options.policies {
            tasks
                .extend(options.seeds.of(scenario).into_iter().map(|seed| (*scenario, kind, seed)));
        }
    }
    let mut runs = in_parallel(&tasks).into_iter();
    let scenarios = options.scenarios.iter().map(|scenario| {
        let seeds = options.seeds.of(scenario).len();
        let of_policy =
            |(name, _): &(String, Kind)| (name.clone(), runs.by_ref().take(seeds).collect());
        (*scenario, options.policies.iter().map(of_policy).collect())
    });
    scenarios.collect()
}

fn in_parallel(tasks: &[(&Scenario, &Kind, u64)]) -> Vec<Run> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((scenario, kind, seed)) = tasks.get(number) else {
                        break;
                    };
                    let run = run(scenario, kind, *seed);
                    if let Ok(mut done) = done.lock() {
                        done.push((number, run));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, run)| run).collect()
}

const THREADS: usize = 2;
