//! What a scenario's headline measures.
use super::{Trial, mean, percentile};
use crate::{
    domain::Priority,
    sim::trial::{figure::Figure, run::Run},
};

/// What an abuser did to the others.
#[derive(Clone, Copy, Debug)]
pub struct Abuse {
    /// The share of the others' throughput that was lost.
    pub loss: f64,
    /// The share of the others' jobs that was late.
    pub late: f64,
    /// How long until no window was bad any more, in seconds.
    pub recovery: f64,
}

/// How an outage was got over.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// The first answer after it, in seconds.
    pub first: f64,
    /// When all jobs from before its end were done.
    pub done: f64,
    /// Calls that failed, over all seeds.
    pub failed: u64,
    /// Jobs lost, over all seeds.
    pub lost: usize,
}

/// When abuse happens, and what counts as late.
#[derive(Clone, Copy, Debug)]
struct Abused<'a> {
    abuser: &'a str,
    span: (f64, f64),
    window: f64,
    late: f64,
    share: f64,
}

impl Trial<'_> {
    /// What the scenario's abuser did to the others, if it has one.
    #[must_use]
    pub fn abuse(&self) -> Option<Abuse> {
        let Some(Figure::Abuse { abuser, from_s, to_s, window_s, late_s, late_share }) =
            &self.scenario.figure
        else {
            return None;
        };
        let span = (*from_s, *to_s);
        let (window, late, share) = (*window_s, *late_s, *late_share);
        Some(self.abused(Abused { abuser, span, window, late, share }))
    }

    fn abused(&self, abused: Abused<'_>) -> Abuse {
        let (from, to) = abused.span;
        let span = from..to;
        let (mut arrived, mut done, mut late) = (0.0_f64, 0.0, 0.0);
        for run in self.runs {
            for (arrival, latency) in self.others(run, abused.abuser) {
                if span.contains(&arrival) {
                    arrived += 1.0;
                    late += f64::from(u8::from(latency > abused.late));
                }
                done += f64::from(u8::from(span.contains(&(arrival + latency))));
            }
        }
        let recovery = self.mean(|run| Some(self.recovery_of(run, abused)));
        Abuse {
            loss: 1.0 - done / arrived.max(1.0),
            late: late / arrived.max(1.0),
            recovery: recovery.unwrap_or_default(),
        }
    }

    /// The others' jobs: when each arrived, and how long it took.
    fn others(&self, run: &Run, abuser: &str) -> Vec<(f64, f64)> {
        let abuser = run.workload.tenant(abuser);
        let others = run.outcomes().filter(|(job, _)| Some(job.tenant) != abuser);
        let horizon = self.scenario.horizon_s;
        let latency = |done: Option<f64>, arrival| match done {
            Some(done) => done - arrival,
            None => f64::max(horizon - arrival, 0.0) + horizon,
        };
        others.map(|(job, fate)| (job.arrival, latency(fate.done, job.arrival))).collect()
    }

    /// The end of the last bad window.
    fn recovery_of(&self, run: &Run, abused: Abused<'_>) -> f64 {
        let (from, to) = abused.span;
        let count = ((to - from) / abused.window).ceil().max(0.0) as usize;
        let mut windows = vec![(0.0, 0.0_f64); count];
        for (arrival, latency) in self.others(run, abused.abuser) {
            if (from..to).contains(&arrival)
                && let Some((late, all)) =
                    windows.get_mut(((arrival - from) / abused.window) as usize)
            {
                *late += f64::from(u8::from(latency > abused.late));
                *all += 1.0;
            }
        }
        let bad = windows.iter().rposition(|(late, all)| *late > abused.share * all);
        bad.map_or(0.0, |window| (window + 1) as f64 * abused.window)
    }

    /// How the scenario's outage was got over, if it has one.
    #[must_use]
    pub fn recovery(&self) -> Option<Recovery> {
        let Some(Figure::Recovery { from_s }) = self.scenario.figure else {
            return None;
        };
        Some(self.recovered(from_s))
    }

    fn recovered(&self, from: f64) -> Recovery {
        let first = self.mean(|run| {
            let ends = run.fates.iter().filter_map(|fate| fate.done);
            ends.filter(|at| *at >= from).min_by(f64::total_cmp).map(|at| at - from)
        });
        let done = self.mean(|run| {
            let before = run.outcomes().filter(|(job, fate)| job.arrival < from && !fate.lost);
            let ends = before.map(|(_, fate)| fate.done.unwrap_or(self.scenario.horizon_s) - from);
            ends.max_by(f64::total_cmp).map(|span| span.max(0.0))
        });
        Recovery {
            first: first.unwrap_or(f64::INFINITY),
            done: done.unwrap_or(f64::INFINITY),
            failed: self.failures(),
            lost: Priority::ALL.iter().map(|tier| self.lost(*tier)).sum(),
        }
    }

    /// Latencies of one tenant.
    #[must_use]
    pub fn tenant(&self, name: &str) -> Vec<f64> {
        self.latencies(|run, job| Some(job.tenant) == run.workload.tenant(name))
    }

    /// Latencies of one priority of all but the scenario's bursty tenant, if it
    /// has one.
    #[must_use]
    pub fn victims(&self, tier: Priority) -> Option<Vec<f64>> {
        let Some(Figure::Victims { abuser }) = &self.scenario.figure else {
            return None;
        };
        Some(self.latencies(|run, job| {
            job.tier == tier && Some(job.tenant) != run.workload.tenant(abuser)
        }))
    }

    /// Latencies of the big or the small jobs of one priority, if the scenario
    /// tells them apart.
    #[must_use]
    pub fn sized(&self, tier: Priority, big: bool) -> Option<Vec<f64>> {
        let Some(Figure::BySize { threshold_tok }) = self.scenario.figure else {
            return None;
        };
        Some(self.latencies(|_, job| job.tier == tier && (job.input >= threshold_tok) == big))
    }

    /// The 99th percentile of one priority.
    #[must_use]
    pub fn p99(&self, tier: Priority) -> f64 {
        percentile(&self.tier(tier), 0.99).unwrap_or_default()
    }

    /// The mean time of the last completion.
    #[must_use]
    pub fn makespan(&self) -> Option<f64> {
        let ends = self
            .runs
            .iter()
            .filter_map(|run| run.fates.iter().filter_map(|fate| fate.done).max_by(f64::total_cmp));
        mean(ends)
    }
}
