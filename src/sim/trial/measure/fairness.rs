//! How evenly the tenants that had work were served, by Jain's index.
use super::{Trial, mean};
use crate::{
    domain::Priority,
    sim::trial::{run::Run, scenario::Scenario, workload::tier_number},
};

impl Trial<'_> {
    /// Over windows that grow until `jain_per` jobs were served for each
    /// tenant that had work all the time; the mean of all windows, priorities
    /// and seeds. Service is the cost of the jobs let in, per weight.
    #[must_use]
    pub fn jain(&self) -> Option<f64> {
        let windows =
            self.windows(&|_, served, backlogged| served >= self.scenario.jain_per * backlogged);
        mean(windows.into_iter().map(|(_, index)| index))
    }

    /// Over windows of this length: when each began, and its index.
    #[must_use]
    pub fn jain_every(&self, width: f64) -> Vec<(f64, f64)> {
        self.windows(&|length, _, _| length >= width)
    }

    /// Over all tenants: input tokens let in until the end, not by weight.
    #[must_use]
    pub fn jain_of_input(&self) -> Option<f64> {
        self.mean(|run| {
            let mut input = vec![0.0; run.workload.tenants.len()];
            for (job, fate) in run.outcomes() {
                if let (Some(_), Some(sum)) = (fate.admitted(), input.get_mut(job.tenant)) {
                    *sum += job.input as f64;
                }
            }
            jain(input.into_iter())
        })
    }

    fn windows(&self, is_full: &dyn Fn(f64, f64, f64) -> bool) -> Vec<(f64, f64)> {
        let tiers = self.runs.iter().flat_map(|run| Priority::ALL.map(|tier| (run, tier)));
        tiers.flat_map(|(run, tier)| View::new(self.scenario, run, tier).windows(is_full)).collect()
    }
}

/// Jain's index: 1 if all are equal, 1/n if one has all.
#[must_use]
pub fn jain(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, squares, count) = shares.fold((0.0, 0.0, 0.0), |(sum, squares, count), share| {
        (sum + share, squares + share * share, count + 1.0)
    });
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

/// One priority of one run.
struct View {
    from: f64,
    until: f64,
    /// By tenant: the spans in which jobs of it waited.
    backlog: Vec<Vec<(f64, f64)>>,
    /// Admissions in order: when, whose, cost per weight.
    served: Vec<(f64, usize, f64)>,
}

/// What a tenant has had in the window.
#[derive(Clone, Copy, Default)]
struct Share {
    backlogged_until: f64,
    jobs: f64,
    service: f64,
}

impl View {
    fn new(scenario: &Scenario, run: &Run, tier: Priority) -> Self {
        let tenants = run.workload.tenants.len();
        let mut changes = vec![Vec::new(); tenants];
        let mut served = Vec::new();
        for (job, fate) in run.outcomes() {
            if tier_number(job.tier) != tier_number(tier) {
                continue;
            }
            if let Some(changes) = changes.get_mut(job.tenant) {
                changes.push((job.arrival, 1));
                changes.push((fate.left.unwrap_or(f64::INFINITY), -1));
            }
            if let Some(at) = fate.admitted() {
                let cost = scenario.cost(job.input as f64, job.output as f64);
                served.push((at, job.tenant, cost / run.workload.weight(job.tenant)));
            }
        }
        served.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            from: scenario.measure_from_s,
            until: scenario.measured_until(),
            backlog: changes.into_iter().map(spans).collect(),
            served,
        }
    }

    fn windows(&self, is_full: &dyn Fn(f64, f64, f64) -> bool) -> Vec<(f64, f64)> {
        let mut windows = Vec::new();
        let mut start = self.from;
        let mut served = self.served.iter().skip_while(|(at, _, _)| *at < self.from).peekable();
        while start < self.until {
            let mut shares = self.shares(start);
            let mut end = start;
            loop {
                end += STEP;
                while let Some((_, tenant, cost)) = served.next_if(|(at, _, _)| *at < end) {
                    if let Some(share) = shares.get_mut(*tenant) {
                        share.jobs += 1.0;
                        share.service += cost;
                    }
                }
                let all = || shares.iter().filter(|share| share.backlogged_until >= end);
                let count = all().count() as f64;
                if count < 2.0 || end > self.until {
                    break;
                }
                let jobs = all().map(|share| share.jobs).sum();
                if is_full(end - start, jobs, count) {
                    let index = jain(all().map(|share| share.service));
                    windows.extend(index.map(|index| (start, index)));
                    break;
                }
            }
            start = end;
        }
        windows
    }

    /// Fresh shares, for a window that begins now.
    fn shares(&self, now: f64) -> Vec<Share> {
        let until = |spans: &Vec<(f64, f64)>| {
            let next = spans.partition_point(|(from, _)| *from <= now);
            let span = next.checked_sub(1).and_then(|last| spans.get(last));
            span.map_or(0.0, |(_, to)| *to)
        };
        let share = |spans| Share { backlogged_until: until(spans), ..Share::default() };
        self.backlog.iter().map(share).collect()
    }
}

/// The spans in which the sum of the changes is above nothing.
fn spans(mut changes: Vec<(f64, i32)>) -> Vec<(f64, f64)> {
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut spans = Vec::new();
    let (mut waiting, mut since) = (0, 0.0);
    for (at, change) in changes {
        if waiting == 0 {
            since = at;
        }
        waiting += change;
        if waiting == 0 {
            spans.push((since, at));
        }
    }
    spans
}

/// Windows end on whole seconds.
const STEP: f64 = 1.0;
