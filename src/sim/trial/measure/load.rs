//! What the upstream was asked, what it refused, and how well it was used.
use super::{Trial, mean};
use crate::sim::trial::{
    run::{Run, Stretch},
    scenario::Scenario,
    workload::Job,
};

impl Trial<'_> {
    /// Refused calls.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.runs.iter().map(|run| run.refused).sum()
    }

    /// Failed calls.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.runs.iter().map(|run| run.failed).sum()
    }

    /// The share of the calls that was refused.
    #[must_use]
    pub fn refused(&self) -> f64 {
        let calls: usize = self.runs.iter().map(|run| run.reached.len()).sum();
        self.refusals() as f64 / calls.max(1) as f64
    }

    /// Of the calls right after a refusal, the share refused again; none if
    /// there was no such call.
    #[must_use]
    pub fn recurrence(&self) -> Option<f64> {
        let again: u64 = self.runs.iter().map(|run| run.again).sum();
        let refused: u64 = self.runs.iter().map(|run| run.refused_again).sum();
        (again > 0).then(|| refused as f64 / again as f64)
    }

    /// While jobs waited for 30 s or longer, the use of the limit that bound,
    /// in windows of about 300 s.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        let mut used = (0.0, 0.0);
        for run in self.runs {
            for stretch in run.stretches.iter().filter(|it| it.to - it.from >= 30.0) {
                for (weight, share) in windows(self.scenario, run, *stretch) {
                    used = (used.0 + weight * share, used.1 + weight);
                }
            }
        }
        (used.1 > 0.0).then(|| used.0 / used.1)
    }

    /// The last completion over its lower bound.
    #[must_use]
    pub fn completion(&self) -> Option<f64> {
        self.mean(|run| {
            let horizon = self.scenario.horizon_s;
            let ends = run.outcomes().filter(|(_, fate)| !fate.lost);
            let last = ends.map(|(_, fate)| fate.done.unwrap_or(horizon));
            Some(last.max_by(f64::total_cmp)? / bound(self.scenario, &run.workload.jobs))
        })
    }

    /// The deviation of the requests that reach the upstream in a second.
    #[must_use]
    pub fn rps_sd(&self) -> Option<f64> {
        self.mean(|run| deviation(&requests_per_second(self.scenario, run)))
    }

    /// The least deviation at this mean rate: between two whole numbers.
    #[must_use]
    pub fn rps_bound(&self) -> f64 {
        let rate = self.scenario.upstream.rpm / 60.0;
        (rate.fract() * (1.0 - rate.fract())).sqrt()
    }

    /// The requests of each second of the first run.
    #[must_use]
    pub fn requests_each_second(&self) -> Vec<f64> {
        self.runs.first().map(|run| requests_per_second(self.scenario, run)).unwrap_or_default()
    }

    /// Elementary operations of the scheduler for each job.
    #[must_use]
    pub fn operations(&self) -> Option<f64> {
        self.mean(|run| Some(run.operations? as f64 / run.fates.len().max(1) as f64))
    }
}

/// The standard deviation of all values.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values.iter().copied())?;
    mean(values.iter().map(|value| (value - middle).powi(2))).map(f64::sqrt)
}

fn requests_per_second(scenario: &Scenario, run: &Run) -> Vec<f64> {
    let (from, until) = (scenario.measure_from_s, scenario.measured_until());
    let mut seconds = vec![0.0; (until - from).max(0.0) as usize];
    for at in run.reached.iter().filter(|at| (from..until).contains(at)) {
        if let Some(second) = seconds.get_mut((at - from) as usize) {
            *second += 1.0;
        }
    }
    seconds
}

/// The windows of a stretch: how long each, and its use.
fn windows(scenario: &Scenario, run: &Run, stretch: Stretch) -> Vec<(f64, f64)> {
    let length = stretch.to - stretch.from;
    let count = (length / 300.0).round().max(1.0);
    let width = length / count;
    let starts = (0..count as u32).map(|n| stretch.from + f64::from(n) * width);
    let rows = starts.enumerate().filter_map(|(n, from)| {
        let to = from + width;
        let down = scenario.upstream.outages.iter();
        let down: f64 = down.map(|(a, b)| (b.min(to) - a.max(from)).max(0.0)).sum();
        let levels = if n == 0 { stretch.levels } else { [0.0; 3] };
        let upstream = &scenario.upstream;
        let limits = [upstream.rpm, upstream.itpm, upstream.otpm];
        let shares = used(run, from, to).into_iter().zip(limits).zip(levels);
        let shares = shares
            .map(|((used, limit), level)| used / (limit / 60.0 * (width - down) + level.max(0.0)));
        (width > down).then(|| (width - down, shares.fold(0.0, f64::max)))
    });
    rows.collect()
}

/// Requests and input let in, and output produced, in a window.
fn used(run: &Run, from: f64, to: f64) -> [f64; 3] {
    let [mut requests, mut input, mut output] = [0.0; 3];
    for (job, fate) in run.outcomes() {
        let Some(at) = fate.admitted() else {
            continue;
        };
        if (from..to).contains(&at) {
            requests += 1.0;
            input += job.input as f64;
        }
        let (first, end) = (at + job.ttft, at + job.service);
        let within = (end.min(to) - first.max(from)).max(0.0);
        output += job.output as f64 * within / (end - first);
    }
    [requests, input, output]
}

/// No policy is done before: as if jobs could be divided at will among the
/// buckets, or among the workers.
fn bound(scenario: &Scenario, jobs: &[Job]) -> f64 {
    let upstream = &scenario.upstream;
    let bucket = |limit: f64, need: &dyn Fn(&Job) -> f64| {
        let (rate, capacity) = (limit / 60.0, limit / 60.0 * upstream.burst_s);
        fluid(jobs, rate, (capacity * upstream.initial_fill, capacity), need)
    };
    let workers = f64::from(scenario.workers);
    let bounds = [
        bucket(upstream.rpm, &|_| 1.0),
        bucket(upstream.itpm, &|job| job.input as f64),
        bucket(upstream.otpm, &|job| job.output as f64),
        fluid(jobs, workers, (0.0, 0.0), &|job| job.service),
    ];
    let alone = jobs.iter().map(|job| job.arrival + job.service);
    alone.chain(bounds).fold(0.0, f64::max)
}

/// When the last need is met by a flow that can be saved up to a capacity.
fn fluid(
    jobs: &[Job],
    rate: f64,
    (mut level, capacity): (f64, f64),
    need: &dyn Fn(&Job) -> f64,
) -> f64 {
    let mut now = 0.0;
    for job in jobs {
        level = (level + rate * (job.arrival - now)).min(capacity) - need(job);
        now = job.arrival;
    }
    now + (-level / rate).max(0.0)
}
