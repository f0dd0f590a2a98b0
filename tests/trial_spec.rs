//! The trials of the scheduler: their workloads, their upstream, their
//! measures, and the policies that they compare with.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
use claude_pipeline::{
    domain::Priority,
    sim::trial::{
        Fate, Job, Kind, OutputMode, Reply, RetryAfter, Run, Scenario, Scenarios, Trial, Tune,
        Upstream, UpstreamSpec, Workload, deviation, jain, percentile, run,
    },
};

#[test]
fn the_workloads_are_those_of_the_file() {
    let scenarios = scenarios();
    for id in ["H1a", "H4", "H5b", "H6a", "H7-0.1", "S2-sizes-normal", "S3-abuser", "S4-1000"] {
        let scenario = scenarios.find(id).unwrap();
        let made = Workload::generate(scenario, scenario.check.seed).check();
        assert_eq!(made, scenario.check, "{id}");
    }
}

#[test]
fn every_policy_meets_the_same_jobs_and_ends_each_once() {
    let scenario = scenario("S5-outage");
    for kind in [ours(), Kind::Fifo, Kind::Strict, Kind::Literal, Kind::Intended] {
        let run = run(&scenario, &kind, 3);
        assert_eq!(run.workload.check(), Workload::generate(&scenario, 3).check());
        for (job, fate) in run.outcomes() {
            assert!(fate.lost != fate.done.is_some(), "{kind:?}: {job:?} {fate:?}");
        }
        let calls: u32 = run.fates.iter().map(|fate| fate.calls).sum();
        assert_eq!(calls as usize, run.reached.len(), "{kind:?}");
    }
}

#[test]
fn a_run_can_be_repeated() {
    let scenario = scenario("H3b");
    for kind in [ours(), Kind::Intended] {
        assert_eq!(run(&scenario, &kind, 1).fates, run(&scenario, &kind, 1).fates);
    }
}

#[test]
fn a_full_bucket_lets_a_minute_of_requests_in_at_once() {
    let mut upstream = Upstream::new(&spec());
    let replies = (0..51).map(|_| upstream.call(&job(10, 10), 0.0));
    let replies: Vec<Reply> = replies.collect();
    assert!(replies[..50].iter().all(|reply| matches!(reply, Reply::Admitted(_))));
    assert_eq!(asked(replies[50]), Some(2.0), "1.2 s, in whole seconds");
}

#[test]
fn a_refusal_can_ask_for_what_fits_or_for_full_buckets() {
    for (retry_after, asked_for) in [(RetryAfter::Exact, 1.2), (RetryAfter::Full, 60.0)] {
        let mut upstream = Upstream::new(&UpstreamSpec { retry_after, ..spec() });
        let refused = (0..51).map(|_| upstream.call(&job(10, 10), 0.0)).last();
        assert!((asked(refused.unwrap()).unwrap() - asked_for).abs() < 1e-9);
    }
}

#[test]
fn a_refused_call_costs_nothing_unless_the_upstream_counts_it() {
    for (count_rejected_in_rpm, admitted) in [(false, true), (true, false)] {
        let mut upstream = Upstream::new(&UpstreamSpec { count_rejected_in_rpm, ..spec() });
        for at in [0.0, 1.1] {
            while matches!(upstream.call(&job(10, 10), at), Reply::Admitted(_)) {}
        }
        let reply = upstream.call(&job(10, 10), 1.3);
        assert_eq!(matches!(reply, Reply::Admitted(_)), admitted);
    }
}

#[test]
fn produced_output_overdraws_its_bucket() {
    let mut upstream = Upstream::new(&spec());
    for _ in 0..10 {
        upstream.call(&job(10, 1_600), 0.0);
    }
    let [_, _, at_first_token] = upstream.levels(1.0);
    let [_, _, halfway] = upstream.levels(3.0);
    let [_, _, end] = upstream.levels(5.0);
    assert!((at_first_token - 8_000.0).abs() < 1e-6);
    assert!((halfway - (8_000.0 - 8_000.0 + 2.0 * 8_000.0 / 60.0)).abs() < 1e-6);
    assert!(end < 0.0);
    assert!(matches!(upstream.call(&job(10, 1), 5.0), Reply::Refused { .. }));
}

#[test]
fn held_output_comes_back_at_the_end() {
    let otpm_mode = OutputMode::ReserveMax;
    let mut upstream = Upstream::new(&UpstreamSpec { otpm_mode, ..spec() });
    let big = Job { max_tokens: 6_000, ..job(10, 600) };
    assert!(matches!(upstream.call(&big, 0.0), Reply::Admitted(_)));
    assert!(matches!(upstream.call(&big, 0.0), Reply::Refused { .. }));
    assert!(matches!(upstream.call(&big, 4.9), Reply::Refused { .. }));
    assert!(matches!(upstream.call(&big, 5.1), Reply::Admitted(_)));
}

#[test]
fn during_an_outage_every_call_fails() {
    let mut upstream = Upstream::new(&UpstreamSpec { outages: vec![(10.0, 20.0)], ..spec() });
    assert!(matches!(upstream.call(&job(10, 10), 9.9), Reply::Admitted(_)));
    assert_eq!(upstream.call(&job(10, 10), 10.0), Reply::Down);
    assert!(matches!(upstream.call(&job(10, 10), 20.0), Reply::Admitted(_)));
}

#[test]
fn percentiles_are_of_the_nearest_rank() {
    let ordered: Vec<f64> = (1..=200).map(f64::from).collect();
    assert_eq!(percentile(&ordered, 0.5), Some(100.0));
    assert_eq!(percentile(&ordered, 0.99), Some(198.0));
    assert_eq!(percentile(&ordered[..1], 0.99), Some(1.0));
    assert_eq!(percentile(&[], 0.5), None);
}

#[test]
fn jain_is_one_if_all_are_equal_and_one_nth_if_one_has_all() {
    assert_eq!(jain([3.0, 3.0, 3.0].into_iter()), Some(1.0));
    assert_eq!(jain([8.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
    assert_eq!(jain([0.0, 0.0].into_iter()), None);
    assert_eq!(deviation(&[1.0, 3.0]), Some(1.0));
}

#[test]
fn fairness_counts_only_tenants_that_had_work_and_weighs_them() {
    let scenario = Scenario { horizon_s: 60.0, measure_until_s: None, ..scenario("H2p1") };
    // The first tenant weighs 3 and gets 30 jobs; the second gets 10 of its
    // 1,000; the third had one job only.
    let served = |tenant, count| (0..count).map(move |n| (tenant, Some(1.0 + f64::from(n))));
    let waiting = (0..1_000).map(|n| (n % 2, None));
    let all = served(0, 30).chain(served(1, 10)).chain(served(2, 1)).chain(waiting);
    let run = by_hand(&scenario, &all.collect::<Vec<_>>());
    let runs = [run];
    let trial = Trial { scenario: &scenario, runs: &runs };
    let windows = trial.jain_every(31.0);
    assert_eq!(windows.len(), 1);
    assert!((windows[0].1 - 1.0).abs() < 1e-9);
}

#[test]
fn an_unfinished_job_is_as_old_as_it_is_and_a_lost_one_does_not_count() {
    let scenario = Scenario { horizon_s: 60.0, ..scenario("H2p1") };
    let mut run = by_hand(&scenario, &[(0, Some(2.0)), (0, None), (0, Some(9.0))]);
    run.fates[2].lost = true;
    let runs = [run];
    let trial = Trial { scenario: &scenario, runs: &runs };
    assert_eq!(trial.tier(Priority::Standard), [3.0, 60.0]);
    assert_eq!(trial.lost(Priority::Standard), 1);
}

/// What another simulator measured, written independently from the same
/// description.
#[test]
fn the_compared_policies_reach_the_published_figures() {
    let b = |id, kind, expected| near(id, &kind, expected, |it| percentile(&it.tenant("B"), 0.99));
    b("H1a", Kind::Fifo, 9.58);
    b("H1a", Kind::Strict, 9.58);
    b("H1a", Kind::Literal, 10.1);
    b("H1a", Kind::Intended, 1.69);
    b("H1b", Kind::Fifo, 54.0);
    b("H1b", Kind::Strict, 50.8);
    b("H1b", Kind::Intended, 45.4);
    near("H3a", &Kind::Fifo, 0.411, |it| it.recurrence());
    near("H3a", &Kind::Strict, 0.639, |it| it.recurrence());
    near("S1-1.5x", &Kind::Fifo, 874.0, |it| Some(it.p99(Priority::Critical)));
    near("S1-1.5x", &Kind::Strict, 170.0, |it| Some(it.p99(Priority::Critical)));
    near("S1-1.5x", &Kind::Intended, 0.849, |it| Some(it.refused()));
}

fn near(id: &str, kind: &Kind, expected: f64, measure: impl Fn(Trial<'_>) -> Option<f64>) {
    let scenario = scenario(id);
    let runs: Vec<Run> = scenario.seeds.iter().map(|seed| run(&scenario, kind, *seed)).collect();
    let measured = measure(Trial { scenario: &scenario, runs: &runs }).unwrap();
    assert!((measured / expected - 1.0).abs() < 0.02, "{id}, {kind:?}: {measured}, not {expected}");
}

/// A run in which standard jobs that arrived at once were let in at these
/// moments, and done a second later.
fn by_hand(scenario: &Scenario, jobs: &[(usize, Option<f64>)]) -> Run {
    let mut run = run(scenario, &Kind::Fifo, 1);
    let fate = |left: Option<f64>| Fate { left, done: left.map(|at| at + 1.0), ..Fate::default() };
    run.fates = jobs.iter().map(|(_, left)| fate(*left)).collect();
    let made = jobs.iter().map(|(tenant, _)| Job { tenant: *tenant, ..job(100, 10) });
    run.workload.jobs = made.collect();
    run
}

/// A job that starts to write after a second, and writes for four.
fn job(input: u64, output: u64) -> Job {
    let (ttft, service) = (1.0, 5.0);
    Job {
        index: 0,
        tenant: 0,
        tier: Priority::Standard,
        arrival: 0.0,
        input,
        output,
        max_tokens: output,
        ttft,
        service,
        chars: input * 4,
    }
}

fn asked(reply: Reply) -> Option<f64> {
    match reply {
        Reply::Refused { retry_after, .. } => Some(retry_after),
        Reply::Admitted(_) | Reply::Down => None,
    }
}

fn ours() -> Kind {
    Kind::Ours(Tune::default())
}

/// 50 requests, 40,000 input and 8,000 output tokens a minute.
fn spec() -> UpstreamSpec {
    scenario("H1b").upstream
}

fn scenario(id: &str) -> Scenario {
    scenarios().find(id).unwrap().clone()
}

fn scenarios() -> Scenarios {
    Scenarios::read(include_str!("../benches/scheduling/scenarios.json")).unwrap()
}
