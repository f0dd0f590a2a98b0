//! The order of the waiting jobs: within a model class the most urgent
//! priority first, within a priority first in, first out over all tenants.
//!
//! This is the whole of the policy: who is [`Lanes::head`] of a class goes
//! next in it.
use super::{PerPriority, job::Job};
use crate::domain::{JobId, ModelClass, Priority, Tokens, Usage};
use std::collections::{BTreeMap, VecDeque};

/// The waiting jobs.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<ModelClass, PerPriority<Lane>>,
    waiting: PerPriority<usize>,
}

/// The waiting jobs of one priority in one model class.
#[derive(Debug, Default)]
struct Lane {
    /// By order, and so by age.
    jobs: VecDeque<(u64, JobId)>,
    /// The sum of their estimated inputs.
    input: u128,
}

/// What goes before a job.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Ahead {
    pub(super) jobs: usize,
    /// Their inputs, those in the job's own lane taken as average.
    pub(super) input: Tokens,
}

impl Lanes {
    /// Puts a job in its place.
    pub(super) fn insert(&mut self, job: &Job) {
        let lanes = self.lanes.entry(job.submission.class.clone()).or_default();
        if lanes.get_mut(job.submission.priority).insert(job) {
            *self.waiting.get_mut(job.submission.priority) += 1;
        }
    }

    /// Takes a job out, wherever it is.
    pub(super) fn remove(&mut self, job: &Job) {
        let (class, priority) = (&job.submission.class, job.submission.priority);
        let Some(lanes) = self.lanes.get_mut(class) else {
            return;
        };
        if lanes.get_mut(priority).remove(job) {
            *self.waiting.get_mut(priority) -= 1;
        }
        if lanes.all().iter().all(|lane| lane.jobs.is_empty()) {
            self.lanes.remove(class);
        }
    }

    /// The next job of a class.
    pub(super) fn head(&self, class: &ModelClass) -> Option<JobId> {
        let lanes = self.lanes.get(class)?;
        let (_, job) = lanes.all().into_iter().find_map(|lane| lane.jobs.front())?;
        Some(*job)
    }

    /// What would go before a job if it waited now.
    pub(super) fn ahead(&self, job: &Job) -> Ahead {
        let Some(lanes) = self.lanes.get(&job.submission.class) else {
            return Ahead::default();
        };
        let mut jobs = 0;
        let mut input = 0;
        for priority in Priority::ALL {
            let lane = lanes.get(priority);
            if priority == job.submission.priority {
                let place = lane.place(job).unwrap_or_else(|gap| gap);
                jobs += place;
                input += lane.mean_input() * place as u128;
                break;
            }
            jobs += lane.jobs.len();
            input += lane.input;
        }
        let input = Tokens::new(u64::try_from(input).unwrap_or(u64::MAX));
        Ahead { jobs, input }
    }

    /// How many jobs wait, by priority.
    pub(super) const fn waiting(&self) -> PerPriority<usize> {
        self.waiting
    }

    /// How many jobs wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.all().into_iter().sum()
    }

    /// Whether a job waits here.
    pub(super) fn holds(&self, job: &Job) -> bool {
        self.lanes
            .get(&job.submission.class)
            .is_some_and(|lanes| lanes.get(job.submission.priority).place(job).is_ok())
    }

    /// The counts are those of the lanes, and no empty class is kept.
    pub(super) fn assert_sound(&self) {
        for priority in Priority::ALL {
            let lanes = self.lanes.values().map(|lanes| lanes.get(priority));
            let counted: usize = lanes.map(|lane| lane.jobs.len()).sum();
            assert_eq!(counted, *self.waiting.get(priority), "{priority} miscounted");
        }
        let mut lanes = self.lanes.values().map(PerPriority::all);
        assert!(lanes.all(|lanes| lanes.iter().any(|lane| !lane.jobs.is_empty())));
    }
}

impl Lane {
    fn insert(&mut self, job: &Job) -> bool {
        let Err(gap) = self.place(job) else {
            return false;
        };
        self.jobs.insert(gap, key(job));
        self.input += input(job);
        true
    }

    fn remove(&mut self, job: &Job) -> bool {
        let Ok(place) = self.place(job) else {
            return false;
        };
        self.jobs.remove(place);
        self.input -= input(job);
        true
    }

    fn place(&self, job: &Job) -> Result<usize, usize> {
        self.jobs.binary_search(&key(job))
    }

    fn mean_input(&self) -> u128 {
        self.input / (self.jobs.len().max(1) as u128)
    }
}

const fn key(job: &Job) -> (u64, JobId) {
    (job.order, job.submission.job)
}

fn input(job: &Job) -> u128 {
    let Usage { input, .. } = job.submission.estimate;
    input.get().into()
}
