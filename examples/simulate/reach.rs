//! What is to be reached, and what was.
use crate::work::Results;
use claude_pipeline::{
    domain::Priority::{Batch, Critical, Standard},
    sim::trial::{Figure, Trial, percentile},
};

/// One thing to be reached.
pub(crate) struct Goal {
    pub(crate) what: &'static str,
    sense: Sense,
    least: f64,
    aim: f64,
    /// What another simulator's best policy reached.
    best: &'static str,
    digits: usize,
    measure: Measure,
}

#[derive(Clone, Copy)]
enum Sense {
    Low,
    High,
}

type Measure = fn(Seen<'_>) -> Option<f64>;

/// One policy's runs.
#[derive(Clone, Copy)]
struct Seen<'a> {
    results: &'a Results<'a>,
    policy: &'a str,
}

impl<'a> Seen<'a> {
    fn trial(self, id: &str) -> Option<Trial<'a>> {
        let (scenario, policies) = self.results.iter().find(|(scenario, _)| scenario.id == id)?;
        let (_, runs) = policies.iter().find(|(name, _)| name == self.policy)?;
        Some(Trial { scenario, runs })
    }

    fn all(self, prefix: &'a str) -> impl Iterator<Item = Trial<'a>> {
        let ids = self.results.iter().map(|(scenario, _)| scenario.id.as_str());
        ids.filter(move |id| id.starts_with(prefix)).filter_map(move |id| self.trial(id))
    }

    /// The highest load up to which these priorities keep their promises.
    fn highest_load(self, kept: [bool; 3]) -> Option<f64> {
        let keeps = |trial: &Trial<'_>| {
            let Some(Figure::Slo { p99_s }) = &trial.scenario.figure else {
                return false;
            };
            let promises = [p99_s.critical, p99_s.standard, p99_s.batch];
            let tiers = [Critical, Standard, Batch].into_iter().zip(promises).zip(kept);
            tiers.into_iter().all(|((tier, most), asked)| {
                !asked || (trial.p99(tier) <= most && trial.lost(tier) == 0)
            })
        };
        let reached = self.all("H7-").take_while(keeps).last()?;
        reached.scenario.id.strip_prefix("H7-")?.parse().ok()
    }
}

/// The table: what, at least, aim, another's best, then each policy.
pub(crate) fn table(results: &Results<'_>, policies: &[String]) -> Vec<Vec<String>> {
    let mut head: Vec<String> =
        ["what", "at least", "aim", "best elsewhere"].map(str::to_owned).to_vec();
    head.extend(policies.iter().cloned());
    let mut rows = vec![head];
    for goal in goals() {
        let mut row = vec![
            goal.what.to_owned(),
            goal.bound(goal.least),
            goal.bound(goal.aim),
            goal.best.to_owned(),
        ];
        row.extend(policies.iter().map(|policy| {
            (goal.measure)(Seen { results, policy })
                .map_or_else(|| "–".to_owned(), |value| goal.cell(value))
        }));
        rows.push(row);
    }
    rows
}

impl Goal {
    fn bound(&self, bound: f64) -> String {
        let sign = match self.sense {
            Sense::Low => "≤",
            Sense::High => "≥",
        };
        format!("{sign} {bound:.*}", self.digits)
    }

    fn cell(&self, value: f64) -> String {
        let tiny = 0.5 * 0.1_f64.powi(i32::try_from(self.digits).unwrap_or(0)) - 1e-9;
        let meets = |bound: f64| match self.sense {
            Sense::Low => value <= bound + tiny,
            Sense::High => value >= bound - tiny,
        };
        let mark = match (meets(self.aim), meets(self.least)) {
            (true, _) => "++",
            (false, true) => "+",
            (false, false) => "-",
        };
        format!("{value:.*} {mark}", self.digits)
    }
}

fn goals() -> Vec<Goal> {
    use Sense::{High, Low};
    let goal = |what, sense, (least, aim), best, digits, measure| Goal {
        what,
        sense,
        least,
        aim,
        best,
        digits,
        measure,
    };
    vec![
        goal("H1a B's p99, s", Low, (1.2, 1.1), "1.12", 2, |it| b_p99(it, "H1a")),
        goal("H1b B's p99, s", Low, (1.2, 1.1), "1.12", 2, |it| b_p99(it, "H1b")),
        goal("H2a Jain per weight", High, (0.99, 0.997), "0.997", 3, |it| it.trial("H2a")?.jain()),
        goal("H2b Jain per weight", High, (0.99, 0.997), "0.997", 3, |it| it.trial("H2b")?.jain()),
        goal("H2p0–8 Jain, least", High, (0.99, 0.997), "0.995", 3, |it| {
            it.all("H2p").filter_map(|trial| trial.jain()).min_by(f64::total_cmp)
        }),
        goal("H3a 429s", Low, (0.0, 0.0), "0", 0, |it| refusals(it, "H3a")),
        goal("H3b 429s", Low, (0.0, 0.0), "0", 0, |it| refusals(it, "H3b")),
        goal("H4 critical p99, s", Low, (3.3, 3.2), "3.28 ¹", 2, |it| p99(it, "H4", Critical)),
        goal("H4 standard p50, s", Low, (3.7, 3.6), "3.63 ¹", 2, |it| {
            percentile(&it.trial("H4")?.tier(Standard), 0.5)
        }),
        goal("H5a sd of requests/s", Low, (0.55, 0.5), "0.50", 2, |it| it.trial("H5a")?.rps_sd()),
        goal("H5b sd of requests/s", Low, (0.42, 0.373), "0.37", 2, |it| it.trial("H5b")?.rps_sd()),
        goal("H6a others' loss, %", Low, (0.5, 0.1), "0.1", 2, |it| {
            Some(100.0 * it.trial("H6a")?.abuse()?.loss)
        }),
        goal("H6a jobs later than 6 s, %", Low, (10.0, 5.0), "10.3", 1, |it| {
            Some(100.0 * it.trial("H6a")?.abuse()?.late)
        }),
        goal("H6b others' loss, %", Low, (0.5, 0.1), "0.0", 2, |it| {
            Some(100.0 * it.trial("H6b")?.abuse()?.loss)
        }),
        goal("H6b recovery, s", Low, (0.0, 0.0), "0", 0, |it| {
            Some(it.trial("H6b")?.abuse()?.recovery)
        }),
        goal("H7 load, all SLOs", High, (0.7, 0.8), "0.7", 2, |it| it.highest_load([true; 3])),
        goal("H7 load, critical and standard", High, (0.95, 0.97), "0.95", 2, |it| {
            it.highest_load([true, true, false])
        }),
        goal("H7 load, critical", High, (1.5, 1.5), "1.5", 2, |it| {
            it.highest_load([true, false, false])
        }),
        goal("S1-1.5x critical p99, s", Low, (1.8, 1.75), "1.8", 2, |it| {
            p99(it, "S1-1.5x", Critical)
        }),
        goal("S1-1.5x refused, %", Low, (0.1, 0.0), "0.0", 2, |it| refused(it, "S1-1.5x")),
        goal("S1-1.5x completion ÷ bound", Low, (1.1, 1.05), "1.098", 3, |it| {
            it.trial("S1-1.5x")?.completion()
        }),
        goal("S2-normal critical p99, s", Low, (1.7, 1.7), "1.7", 2, |it| {
            p99(it, "S2-sizes-normal", Critical)
        }),
        goal("S2-normal small standard p99, s", Low, (5.0, 4.5), "4.5", 2, |it| sized(it, false)),
        goal("S2-normal big standard p99, s", Low, (175.0, 172.0), "172", 0, |it| sized(it, true)),
        goal("S3 victims' standard p99, s", Low, (11.5, 6.0), "11.5", 2, |it| {
            percentile(&it.trial("S3-abuser")?.victims("t3", Standard), 0.99)
        }),
        goal("S4 Jain per weight", High, (0.98, 0.98), "0.947", 3, |it| {
            it.trial("S4-1000")?.jain()
        }),
        goal("S4 longest wait in batch, s", Low, (630.0, 600.0), "597", 0, |it| {
            it.trial("S4-1000")?.starvation()
        }),
        goal("S5 failed calls, five seeds", Low, (125.0, 125.0), "125", 0, |it| {
            Some(it.trial("S5-outage")?.failures() as f64)
        }),
        goal("S5 jobs lost", Low, (0.0, 0.0), "0", 0, |it| {
            Some(it.trial("S5-outage")?.recovery(660.0).lost as f64)
        }),
        goal("S5 backlog done after, s", Low, (13.0, 13.0), "12.2", 1, |it| {
            Some(it.trial("S5-outage")?.recovery(660.0).done)
        }),
        goal("S6 ×4 util, least", High, (0.99, 0.99), "0.984", 3, |it| {
            least_util(it, "S6-", 99_999)
        }),
        goal("S6 ×4 refused, most, %", Low, (0.2, 0.2), "0.0", 2, |it| {
            let refused = it.all("S6-").map(|trial| 100.0 * trial.refused());
            refused.max_by(f64::total_cmp)
        }),
        goal("R-actual util, max_tokens ≤ 2,048", High, (0.99, 0.99), "0.995", 3, |it| {
            least_util(it, "R-actual-", 2_048)
        }),
        goal("R-reserve_max util, ≤ 2,048", High, (0.99, 0.99), "0.994", 3, |it| {
            least_util(it, "R-reserve_max-", 2_048)
        }),
    ]
}

fn b_p99(seen: Seen<'_>, id: &str) -> Option<f64> {
    let trial = seen.trial(id)?;
    let lost = trial.runs.iter().flat_map(|run| run.outcomes().map(move |it| (run, it)));
    let b_lost =
        lost.filter(|(run, (job, fate))| fate.lost && Some(job.tenant) == run.workload.tenant("B"));
    if b_lost.count() > 0 {
        return None;
    }
    percentile(&trial.tenant("B"), 0.99)
}

fn p99(seen: Seen<'_>, id: &str, tier: claude_pipeline::domain::Priority) -> Option<f64> {
    Some(seen.trial(id)?.p99(tier))
}

fn refusals(seen: Seen<'_>, id: &str) -> Option<f64> {
    Some(seen.trial(id)?.refusals() as f64)
}

fn refused(seen: Seen<'_>, id: &str) -> Option<f64> {
    Some(100.0 * seen.trial(id)?.refused())
}

fn sized(seen: Seen<'_>, big: bool) -> Option<f64> {
    percentile(&seen.trial("S2-sizes-normal")?.sized(Standard, 10_000, big), 0.99)
}

/// Of the scenarios whose jobs may write no more than this.
fn least_util<'a>(seen: Seen<'a>, prefix: &'a str, most: u64) -> Option<f64> {
    let all = seen
        .all(prefix)
        .filter(|trial| trial.scenario.sources.iter().all(|source| source.max_tokens <= most));
    all.filter_map(|trial| trial.utilization()).min_by(f64::total_cmp)
}
