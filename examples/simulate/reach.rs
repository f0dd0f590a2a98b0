//! What is to be reached, and what was.
use crate::{goals::goals, work::Results};
use claude_pipeline::{
    domain::Priority::{Batch, Critical, Standard},
    sim::trial::{Figure, Trial},
};

/// One thing to be reached.
pub(crate) struct Goal {
    what: &'static str,
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
    /// Less is better.
    Low,
    /// More is better.
    High,
}

pub(crate) type Measure = fn(Seen<'_>) -> Option<f64>;

/// One policy's runs.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) results: &'a Results<'a>,
    pub(crate) policy: &'a str,
}

impl<'a> Seen<'a> {
    pub(crate) fn trial(self, id: &str) -> Option<Trial<'a>> {
        let (scenario, policies) = self.results.iter().find(|(scenario, _)| scenario.id == id)?;
        let (_, runs) = policies.iter().find(|(name, _)| name == self.policy)?;
        Some(Trial { scenario, runs })
    }

    pub(crate) fn all(self, prefix: &'a str) -> impl Iterator<Item = Trial<'a>> {
        let ids = self.results.iter().map(|(scenario, _)| scenario.id.as_str());
        ids.filter(move |id| id.starts_with(prefix)).filter_map(move |id| self.trial(id))
    }

    /// The highest load up to which these priorities keep their promises.
    pub(crate) fn highest_load(self, kept: [bool; 3]) -> Option<f64> {
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
    /// The less the better: `bounds` are what is asked at least, and the aim.
    pub(crate) const fn low(
        what: &'static str,
        (least, aim): (f64, f64),
        (best, digits): (&'static str, usize),
        measure: Measure,
    ) -> Self {
        Self { what, sense: Sense::Low, least, aim, best, digits, measure }
    }

    /// The more the better.
    pub(crate) const fn high(
        what: &'static str,
        (least, aim): (f64, f64),
        (best, digits): (&'static str, usize),
        measure: Measure,
    ) -> Self {
        Self { what, sense: Sense::High, least, aim, best, digits, measure }
    }

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
