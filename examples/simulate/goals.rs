//! The goals. "Best elsewhere" is what an earlier, separate simulator's best
//! policy reached on the same work.
use crate::reach::{Goal, Seen};
use claude_pipeline::{
    domain::Priority::{self, Batch, Critical, Standard},
    sim::trial::{Run, percentile},
};

pub(crate) fn goals() -> Vec<Goal> {
    [fairness(), smoothness(), abuse(), promises(), mixes(), trouble()]
        .into_iter()
        .flatten()
        .collect()
}

fn fairness() -> Vec<Goal> {
    let jain = (0.99, 0.997);
    vec![
        Goal::low("H1a B's p99, s", (1.2, 1.1), ("1.12", 2), |it| b_p99(it, "H1a")),
        Goal::low("H1b B's p99, s", (1.2, 1.1), ("1.12", 2), |it| b_p99(it, "H1b")),
        Goal::high("H2a Jain per weight", jain, ("0.997", 3), |it| it.trial("H2a")?.jain()),
        Goal::high("H2b Jain per weight", jain, ("0.997", 3), |it| it.trial("H2b")?.jain()),
        Goal::high("H2p0–8 Jain, least", jain, ("0.995", 3), |it| {
            it.all("H2p").filter_map(|trial| trial.jain()).min_by(f64::total_cmp)
        }),
    ]
}

fn smoothness() -> Vec<Goal> {
    vec![
        Goal::low("H3a 429s", (0.0, 0.0), ("0", 0), |it| refusals(it, "H3a")),
        Goal::low("H3b 429s", (0.0, 0.0), ("0", 0), |it| refusals(it, "H3b")),
        Goal::low("H4 critical p99, s", (3.3, 3.2), ("3.28 ¹", 2), |it| p99(it, "H4", Critical)),
        Goal::low("H4 standard p50, s", (3.7, 3.6), ("3.63 ¹", 2), |it| {
            percentile(&it.trial("H4")?.tier(Standard), 0.5)
        }),
        Goal::low("H5a sd of requests/s", (0.55, 0.5), ("0.50", 2), |it| it.trial("H5a")?.rps_sd()),
        Goal::low("H5b sd of requests/s", (0.42, 0.373), ("0.37", 2), |it| {
            it.trial("H5b")?.rps_sd()
        }),
    ]
}

fn abuse() -> Vec<Goal> {
    vec![
        Goal::low("H6a others' loss, %", (0.5, 0.1), ("0.1", 2), |it| {
            Some(100.0 * it.trial("H6a")?.abuse()?.loss)
        }),
        Goal::low("H6a jobs later than 6 s, %", (10.0, 5.0), ("10.3", 1), |it| {
            Some(100.0 * it.trial("H6a")?.abuse()?.late)
        }),
        Goal::low("H6b others' loss, %", (0.5, 0.1), ("0.0", 2), |it| {
            Some(100.0 * it.trial("H6b")?.abuse()?.loss)
        }),
        Goal::low("H6b recovery, s", (0.0, 0.0), ("0", 0), |it| {
            Some(it.trial("H6b")?.abuse()?.recovery)
        }),
    ]
}

fn promises() -> Vec<Goal> {
    vec![
        Goal::high("H7 load, all SLOs", (0.7, 0.8), ("0.7", 2), |it| it.highest_load([true; 3])),
        Goal::high("H7 load, critical and standard", (0.95, 0.97), ("0.95", 2), |it| {
            it.highest_load([true, true, false])
        }),
        Goal::high("H7 load, critical", (1.5, 1.5), ("1.5", 2), |it| {
            it.highest_load([true, false, false])
        }),
    ]
}

fn mixes() -> Vec<Goal> {
    vec![
        Goal::low("S1-1.5x critical p99, s", (1.8, 1.75), ("1.8", 2), |it| {
            p99(it, "S1-1.5x", Critical)
        }),
        Goal::low("S1-1.5x refused, %", (0.1, 0.0), ("0.0", 2), |it| {
            Some(100.0 * it.trial("S1-1.5x")?.refused())
        }),
        Goal::low("S1-1.5x completion ÷ bound", (1.1, 1.05), ("1.098", 3), |it| {
            it.trial("S1-1.5x")?.completion()
        }),
        Goal::low("S2-normal critical p99, s", (1.7, 1.7), ("1.7", 2), |it| {
            p99(it, "S2-sizes-normal", Critical)
        }),
        Goal::low("S2-normal small standard p99, s", (5.0, 4.5), ("4.5", 2), |it| sized(it, false)),
        Goal::low("S2-normal big standard p99, s", (175.0, 172.0), ("172", 0), |it| {
            sized(it, true)
        }),
        Goal::low("S3 victims' standard p99, s", (11.5, 6.0), ("11.5", 2), |it| {
            percentile(&it.trial("S3-abuser")?.victims(Standard)?, 0.99)
        }),
        Goal::high("S4 Jain per weight", (0.98, 0.98), ("0.947", 3), |it| {
            it.trial("S4-1000")?.jain()
        }),
        Goal::low("S4 batch jobs never served", (0.0, 0.0), ("0", 0), |it| {
            let runs = it.trial("S4-1000")?.runs.iter();
            let jobs = runs.flat_map(Run::outcomes);
            let starved = jobs.filter(|(job, fate)| job.tier == Batch && fate.admitted().is_none());
            Some(starved.count() as f64)
        }),
    ]
}

fn trouble() -> Vec<Goal> {
    vec![
        Goal::low("S5 failed calls, five seeds", (125.0, 125.0), ("125", 0), |it| {
            Some(it.trial("S5-outage")?.failures() as f64)
        }),
        Goal::low("S5 jobs lost", (0.0, 0.0), ("0", 0), |it| {
            Some(it.trial("S5-outage")?.recovery()?.lost as f64)
        }),
        Goal::low("S5 backlog done after, s", (13.0, 13.0), ("12.2", 1), |it| {
            Some(it.trial("S5-outage")?.recovery()?.done)
        }),
        Goal::high("S6 ×4 util, least", (0.99, 0.99), ("0.984", 3), |it| {
            least_util(it, "S6-", u64::MAX)
        }),
        Goal::low("S6 ×4 refused, most, %", (0.2, 0.2), ("0.0", 2), |it| {
            let refused = it.all("S6-").map(|trial| 100.0 * trial.refused());
            refused.max_by(f64::total_cmp)
        }),
        Goal::high("R-actual util, max_tokens ≤ 2,048", (0.99, 0.99), ("0.995", 3), |it| {
            least_util(it, "R-actual-", 2_048)
        }),
        Goal::high("R-reserve_max util, ≤ 2,048", (0.99, 0.99), ("0.994", 3), |it| {
            least_util(it, "R-reserve_max-", 2_048)
        }),
    ]
}

/// None if one of its jobs was lost.
fn b_p99(seen: Seen<'_>, id: &str) -> Option<f64> {
    let trial = seen.trial(id)?;
    let whole = trial.tenant("B");
    (whole.len() == trial.runs.len()).then(|| percentile(&whole, 0.99))?
}

fn p99(seen: Seen<'_>, id: &str, tier: Priority) -> Option<f64> {
    Some(seen.trial(id)?.p99(tier))
}

fn refusals(seen: Seen<'_>, id: &str) -> Option<f64> {
    Some(seen.trial(id)?.refusals() as f64)
}

fn sized(seen: Seen<'_>, big: bool) -> Option<f64> {
    percentile(&seen.trial("S2-sizes-normal")?.sized(Standard, big)?, 0.99)
}

/// Of the scenarios whose jobs may write no more than this.
fn least_util<'a>(seen: Seen<'a>, prefix: &'a str, most: u64) -> Option<f64> {
    let all = seen
        .all(prefix)
        .filter(|trial| trial.scenario.sources.iter().all(|source| source.max_tokens <= most));
    all.filter_map(|trial| trial.utilization()).min_by(f64::total_cmp)
}
