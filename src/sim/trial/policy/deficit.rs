//! Deficit round robin over tenants, with a coarse cost: one per 4,000
//! characters begun, at least one.
use super::super::workload::{Job, Workload};
use std::collections::{BTreeMap, VecDeque};

/// What one visit adds.
pub(super) const QUANTUM: f64 = 5.0;

/// The cost of a job.
pub(super) fn cost(job: &Job) -> f64 {
    (job.chars / 4_000).max(1) as f64
}

/// A ring that goes on where it stopped, topped up once a visit.
pub(super) struct Ring {
    weights: Vec<f64>,
    queues: BTreeMap<usize, Waiting>,
    /// Tenants with jobs; the first has its visit.
    round: VecDeque<usize>,
}

struct Waiting {
    jobs: VecDeque<(usize, f64)>,
    deficit: f64,
    /// Whether this visit has added its quantum.
    topped_up: bool,
}

impl Ring {
    pub(super) fn new(workload: &Workload) -> Self {
        let weights = workload.tenants.iter().map(|tenant| tenant.weight).collect();
        Self { weights, queues: BTreeMap::new(), round: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    pub(super) fn push(&mut self, job: &Job) {
        self.of(job).jobs.push_back((job.index, cost(job)));
    }

    pub(super) fn push_front(&mut self, job: &Job) {
        self.of(job).jobs.push_front((job.index, cost(job)));
    }

    fn of(&mut self, job: &Job) -> &mut Waiting {
        self.queues.entry(job.tenant).or_insert_with(|| {
            self.round.push_back(job.tenant);
            Waiting { jobs: VecDeque::new(), deficit: 0.0, topped_up: false }
        })
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        loop {
            let tenant = *self.round.front()?;
            let waiting = self.queues.get_mut(&tenant)?;
            if !waiting.topped_up {
                let weight = self.weights.get(tenant).copied().unwrap_or(1.0);
                waiting.deficit += QUANTUM * weight;
                waiting.topped_up = true;
            }
            let (job, cost) = *waiting.jobs.front()?;
            if cost <= waiting.deficit {
                waiting.deficit -= cost;
                waiting.jobs.pop_front();
                if waiting.jobs.is_empty() {
                    self.queues.remove(&tenant);
                    self.round.pop_front();
                }
                return Some(job);
            }
            waiting.topped_up = false;
            self.round.rotate_left(1);
        }
    }
}
