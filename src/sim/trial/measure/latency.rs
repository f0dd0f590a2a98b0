//! From arrival to completion.
use super::Trial;
use crate::{
    domain::Priority,
    sim::trial::{run::Run, workload::Job},
};

impl Trial<'_> {
    /// The latencies of some jobs, all seeds together, in order. An unfinished
    /// job counts with the age it has at the end; a lost one does not count.
    #[must_use]
    pub fn latencies(&self, which: impl Fn(&Run, &Job) -> bool) -> Vec<f64> {
        let horizon = self.scenario.horizon_s;
        let all = self.runs.iter().flat_map(|run| {
            let which = &which;
            let counted = run
                .outcomes()
                .filter(move |(job, fate)| !fate.lost && job.arrival <= horizon && which(run, job));
            counted.map(move |(job, fate)| fate.done.unwrap_or(horizon) - job.arrival)
        });
        sorted(all)
    }

    /// The latencies of one priority.
    #[must_use]
    pub fn tier(&self, tier: Priority) -> Vec<f64> {
        self.latencies(|_, job| job.tier == tier)
    }

    /// How many jobs of a priority were lost.
    #[must_use]
    pub fn lost(&self, tier: Priority) -> usize {
        let all = self.runs.iter().flat_map(Run::outcomes);
        all.filter(|(job, fate)| job.tier == tier && fate.lost).count()
    }

    /// The longest wait of a batch job until it was let in.
    #[must_use]
    pub fn starvation(&self) -> Option<f64> {
        let horizon = self.scenario.horizon_s;
        let all = self.runs.iter().flat_map(Run::outcomes);
        let batch = all.filter(|(job, fate)| job.tier == Priority::Batch && !fate.lost);
        let waits = batch.map(|(job, fate)| fate.left.unwrap_or(horizon) - job.arrival);
        waits.max_by(f64::total_cmp)
    }
}

/// The nearest-rank percentile of values in order.
#[must_use]
pub fn percentile(ordered: &[f64], share: f64) -> Option<f64> {
    let rank = (share * ordered.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    ordered.get(rank - 1).copied()
}

/// The values in order.
#[must_use]
pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
