//! What a decision costs, by how many tenants have jobs waiting:
//! `cargo bench --bench scheduler`.
//!
//! *decide* is choosing and releasing one job of many that wait: order, lease,
//! tokens. *life* is all of a job's: submitted, released, settled, its rows
//! taken. The steps, which no machine changes, are printed first.
#![allow(missing_docs, reason = "criterion's own items")]

use claude_pipeline::{
    domain::{
        Entropy, JobId, Limits, ModelClass, Outcome, Plan, Priority, Span, TenantId, Timestamp,
        Tokens, Usage,
    },
    scheduler::{Config, DemotionRules, Effect, Scheduler, Settlement, Submission},
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const TENANTS: [u64; 5] = [8, 100, 1_000, 10_000, 100_000];

fn decide(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("decide");
    group.sample_size(10);
    for tenants in TENANTS {
        let jobs = backlog(tenants);
        let decisions = jobs.len() as u64;
        let tenths = 10 * steps(&jobs) / decisions;
        println!("{tenants} tenants: {}.{} steps a decision", tenths / 10, tenths % 10);
        group.throughput(Throughput::Elements(decisions));
        group.bench_function(BenchmarkId::from_parameter(tenants), |bench| {
            bench.iter_batched_ref(
                || filled(&jobs),
                |scheduler| scheduler.dispatch(START),
                BatchSize::PerIteration,
            );
        });
    }
}

fn life(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("life");
    group.sample_size(10);
    for tenants in TENANTS {
        let jobs = backlog(tenants);
        group.throughput(Throughput::Elements(jobs.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(tenants), |bench| {
            bench.iter_batched(
                || (Scheduler::new(config(), START), jobs.clone()),
                |(mut scheduler, jobs)| {
                    for job in jobs {
                        scheduler.submit(job, START);
                    }
                    scheduler.dispatch(START);
                    settle_all(&mut scheduler);
                    while scheduler.poll_change().is_some() {}
                    scheduler
                },
                BatchSize::PerIteration,
            );
        });
    }
}

fn settle_all(scheduler: &mut Scheduler) {
    while let Some(effect) = scheduler.poll_effect() {
        if let Effect::Release(release) = effect {
            let usage = Usage { input: Tokens::new(300), output: Tokens::new(100) };
            let outcome = Outcome::Completed { usage };
            let (job, lease) = (release.job, release.lease);
            let settlement = Settlement { job, lease, outcome, limits: None };
            scheduler.settle(settlement, START, Entropy(0));
        }
    }
}

/// Steps of all the decisions, with those of lining up.
fn steps(jobs: &[Submission]) -> u64 {
    let mut scheduler = filled(jobs);
    scheduler.dispatch(START);
    scheduler.steps()
}

fn filled(jobs: &[Submission]) -> Scheduler {
    let mut scheduler = Scheduler::new(config(), START);
    for job in jobs {
        scheduler.submit(job.clone(), START);
    }
    scheduler
}

/// Jobs of different sizes and priorities, each tenant with some.
fn backlog(tenants: u64) -> Vec<Submission> {
    let jobs = (4 * tenants).max(20_000);
    let class = ModelClass::of("claude-sonnet-4-6");
    let job = |number: u64| {
        let mix = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let tenant = format!("t{}", number % tenants);
        let rank = usize::try_from(mix % 3).ok()?;
        Some(Submission {
            job: JobId::new(Timestamp::from_millis(number), [Entropy(mix), Entropy(mix)]),
            tenant: TenantId::try_from(tenant).ok()?,
            plan: if mix.is_multiple_of(10) { Plan::Pro } else { Plan::Free },
            weight: None,
            daily_input: None,
            priority: *Priority::ALL.get(rank)?,
            class: class.clone(),
            estimate: Usage { input: Tokens::new(100 + mix % 900), output: Tokens::new(1_000) },
            attempts: 0,
            lease: 0,
        })
    };
    (0..jobs).filter_map(job).collect()
}

/// Nothing but the order holds a job back.
fn config() -> Config {
    let most = 1_000_000_000;
    Config {
        slots: u32::MAX,
        limits: Limits { requests: most, input: most, output: most },
        burst: Span::from_secs(3_600),
        demotion: DemotionRules { daily_input: Tokens::ZERO, ..DemotionRules::default() },
        ..Config::default()
    }
}

const START: Timestamp = Timestamp::from_millis(1_000_000_000);

criterion_group!(benches, decide, life);
criterion_main!(benches);
