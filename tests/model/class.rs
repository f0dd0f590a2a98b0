//! What is known of a model class, and what its calls cost.
use super::{
    Model,
    bucket::Bucket,
    floors::Floors,
    gate::{self, Gate},
    order::Lane,
};
use claude_pipeline::{domain::*, scheduler::*};

pub(super) struct Class {
    pub(super) name: ModelClass,
    pub(super) buckets: [Bucket; 3],
    pub(super) gate: Gate,
    /// Output of the calls that completed, in sixteenths.
    pub(super) mean: Option<u64>,
    /// Price of the calls released, in sixty-fourths.
    pub(super) mean_cost: Option<i128>,
    pub(super) lanes: Vec<Lane>,
    /// The last number given to a seat.
    pub(super) seq: u64,
    /// The round of each tier.
    pub(super) rounds: [i128; 3],
    /// What each tier has earned for a unit of weight, in 1,024ths.
    pub(super) earned: [i128; 3],
    pub(super) floors: Floors,
    pub(super) draws: u64,
    /// When the last parked job went.
    pub(super) saved_until: u64,
    /// The number of the last release.
    pub(super) served: Option<usize>,
}

impl Class {
    pub(super) fn new(name: ModelClass, config: &Config, now: u64) -> Self {
        let Limits { requests, input, output } = config.limits;
        let depth = config.depth().as_millis();
        Self {
            name,
            buckets: [requests, input, output].map(|limit| Bucket::full(limit, depth, now)),
            gate: Gate::Open { failures: 0, jobs: [None; 4] },
            mean: None,
            mean_cost: None,
            lanes: Vec::new(),
            seq: 0,
            rounds: [0; 3],
            earned: [0; 3],
            floors: Floors::default(),
            draws: 0,
            saved_until: 0,
            served: None,
        }
    }

    /// The input it may use in a minute: what costs are counted in.
    pub(super) fn minute(&self) -> i128 {
        self.buckets[1].limit.into()
    }

    pub(super) fn need(&self, config: &Config, estimate: Usage) -> [u64; 3] {
        let mean = self.mean.map_or(config.output_guess.get(), |mean| mean.div_ceil(16));
        [1, estimate.input.get(), estimate.output.get().min(mean)]
    }

    pub(super) fn cost(&self, input: u64, output: u64) -> i128 {
        let [requests, minute, most_output] = self.limits();
        let output = ceil(i128::from(output) * minute, most_output);
        ceil(minute, requests).max(input.into()).max(output).clamp(1, 10 * minute)
    }

    pub(super) fn cheapest(&self) -> i128 {
        let [requests, minute, _] = self.limits();
        ceil(minute, requests).clamp(1, 10 * minute)
    }

    /// What a lane earns when its round comes.
    pub(super) fn quantum(&self, config: &Config) -> i128 {
        let set = config.order.quantum.map(|quantum| i128::from(quantum.get()).max(1));
        set.unwrap_or_else(|| self.usual()).min(10 * self.minute())
    }

    /// The most credit a lane can save.
    pub(super) fn cap(&self, config: &Config) -> i128 {
        i128::from(config.order.burst_quanta) * self.quantum(config)
    }

    pub(super) fn oversized(&self, config: &Config, cost: i128) -> bool {
        let capacity = self.minute() * i128::from(config.depth().as_millis()) / 60_000;
        cost > (capacity / 10).max(4 * self.usual())
    }

    pub(super) fn learn(&mut self, price: i128) {
        let price = price.min(1_000_000);
        self.mean_cost = Some(match self.mean_cost {
            None => price * 64,
            Some(mean) => mean * 63 / 64 + price,
        });
    }

    /// Nothing was learned that a new class would not know, but what it costs.
    pub(super) fn is_plain(&self, config: &Config) -> bool {
        let Limits { requests, input, output } = config.limits;
        self.mean.is_none()
            && self.gate == gate::OPEN
            && self.limits() == [requests, input, output].map(i128::from)
            && self.buckets.iter().all(Bucket::is_full)
    }

    fn usual(&self) -> i128 {
        let mean = self.mean_cost.map_or(0, |mean| ceil(mean, 64));
        self.cheapest().max(mean)
    }

    fn limits(&self) -> [i128; 3] {
        [0, 1, 2].map(|at: usize| i128::from(self.buckets[at].limit))
    }
}

impl Model {
    pub(super) fn need(&self, job: usize) -> [u64; 3] {
        let job = &self.jobs[job];
        self.classes[job.class].need(&self.config, job.submission.estimate)
    }

    pub(super) fn price(&self, job: usize) -> i128 {
        let [_, input, output] = self.need(job);
        self.classes[self.jobs[job].class].cost(input, output)
    }

    pub(super) fn weight(&self, job: usize) -> i128 {
        self.config.weight(&self.jobs[job].submission).into()
    }
}

/// Rounds up; of two positive numbers.
pub(super) const fn ceil(number: i128, by: i128) -> i128 {
    (number + by - 1) / by
}
