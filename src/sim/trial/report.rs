//! A trial as a row of text.
use super::{
    figure::{Figure, Promises},
    measure::{Abuse, Recovery, Trial, percentile},
};
use crate::domain::Priority;

/// The columns of a [`row`].
pub const HEADER: [&str; 11] = [
    "policy",
    "critical",
    "standard",
    "batch",
    "Jain",
    "refused",
    "util",
    "completion",
    "starvation",
    "ops",
    "figure",
];

/// A trial in numbers: latencies as p50 / p95 / p99 in seconds.
#[must_use]
pub fn row(policy: &str, trial: Trial<'_>) -> Vec<String> {
    let mut cells = vec![policy.to_owned()];
    cells.extend(Priority::ALL.map(|tier| tier_cell(trial, tier)));
    cells.extend([
        number(trial.jain(), 3),
        percent(trial.refused()),
        number(trial.utilization(), 3),
        number(trial.completion(), 3),
        trial.starvation().map_or_else(dash, seconds),
        number(trial.operations(), 1),
        figure(trial).unwrap_or_default(),
    ]);
    cells
}

/// The headline of a scenario, if it has one.
#[must_use]
pub fn figure(trial: Trial<'_>) -> Option<String> {
    Some(match trial.scenario.figure.as_ref()? {
        Figure::TenantLatency { tenant, percentiles } => {
            let values = listed(&trial.tenant(tenant), percentiles);
            let makespan = trial.makespan().map_or_else(dash, seconds);
            format!("{tenant}: {values}; makespan {makespan}")
        }
        Figure::JainAllTenants { .. } => {
            let (fair, plain) = (trial.jain(), trial.jain_of_input());
            format!("per weight {}, input alone {}", number(fair, 3), number(plain, 3))
        }
        Figure::Recurrence { .. } => {
            let share = trial.recurrence().map_or_else(|| "no 429".to_owned(), percent);
            format!("recurrence {share}, 429s {}", trial.refusals())
        }
        Figure::TierPercentiles { tier, percentiles } => {
            format!("{tier}: {}", listed(&trial.tier(*tier), percentiles))
        }
        Figure::RpsSd { .. } => {
            format!("sd {} (bound {:.2})", number(trial.rps_sd(), 3), trial.rps_bound())
        }
        Figure::Abuse { .. } => abuse(trial.abuse()?),
        Figure::Slo { p99_s } => promises(trial, *p99_s),
        Figure::BySize { .. } => by_size(trial)?,
        Figure::Victims { abuser } => victims(trial, abuser)?,
        Figure::Recovery { .. } => recovery(trial.recovery()?),
    })
}

fn abuse(it: Abuse) -> String {
    let (loss, late) = (percent(it.loss), percent(it.late));
    format!("loss {loss}, late {late}, recovery {} s", it.recovery)
}

fn promises(trial: Trial<'_>, promised: Promises) -> String {
    let most = [promised.critical, promised.standard, promised.batch];
    let kept = Priority::ALL
        .into_iter()
        .zip(most)
        .map(|(tier, most)| if trial.p99(tier) <= most { "kept" } else { "broken" });
    format!("SLOs {}", kept.collect::<Vec<_>>().join(" / "))
}

fn victims(trial: Trial<'_>, abuser: &str) -> Option<String> {
    let victims = Priority::ALL.map(|tier| trial.victims(tier));
    let abuser = listed(&trial.tenant(abuser), &ENDS);
    Some(format!("victims {}; abuser {abuser}", all_listed(&victims)?))
}

fn recovery(it: Recovery) -> String {
    let (first, done) = (seconds(it.first), seconds(it.done));
    format!("first {first}, done {done}, failed {}, lost {}", it.failed, it.lost)
}

fn by_size(trial: Trial<'_>) -> Option<String> {
    let small = Priority::ALL.map(|tier| trial.sized(tier, false));
    let big = [Priority::Standard, Priority::Batch].map(|tier| trial.sized(tier, true));
    Some(format!("small {}; big {}", all_listed(&small)?, all_listed(&big)?))
}

fn all_listed(groups: &[Option<Vec<f64>>]) -> Option<String> {
    let cells = groups.iter().map(|group| Some(listed(group.as_ref()?, &ENDS)));
    Some(cells.collect::<Option<Vec<_>>>()?.join(", "))
}

fn tier_cell(trial: Trial<'_>, tier: Priority) -> String {
    let cell = listed(&trial.tier(tier), &[0.5, 0.95, 0.99]);
    match trial.lost(tier) {
        0 => cell,
        lost => format!("{cell} ({lost} lost)"),
    }
}

fn listed(ordered: &[f64], shares: &[f64]) -> String {
    if ordered.is_empty() {
        return dash();
    }
    let values = shares.iter().map(|share| percentile(ordered, *share).map_or_else(dash, seconds));
    values.collect::<Vec<_>>().join(" / ")
}

/// Three digits, as the reader needs them.
#[must_use]
pub fn seconds(span: f64) -> String {
    if span >= 99.95 {
        format!("{span:.0}")
    } else if span >= 9.995 {
        format!("{span:.1}")
    } else {
        format!("{span:.2}")
    }
}

/// A share as a percentage.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A number, if there is one.
#[must_use]
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(dash, |value| format!("{value:.digits$}"))
}

fn dash() -> String {
    "–".to_owned()
}

/// The middle, and the end that promises are about.
const ENDS: [f64; 2] = [0.5, 0.99];
