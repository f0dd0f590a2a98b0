//! What the runs of a scenario under one policy come to.
mod fairness;
mod headline;
mod latency;
mod load;

pub use fairness::jain;
pub use headline::{Abuse, Recovery};
pub use latency::{percentile, sorted};
pub use load::deviation;

use super::{run::Run, scenario::Scenario};

/// A scenario's runs under one policy, one for each seed.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its runs.
    pub runs: &'a [Run],
}

impl Trial<'_> {
    /// The mean over the runs that have a value.
    fn mean(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        mean(self.runs.iter().filter_map(value))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
