//! A tenant's jobs enter as batch while it is demoted: for five refusals in a
//! minute, charged to whoever got them, or for a budget used up.
use super::super::{scenario::Scenario, workload::Job};
use super::Answer;
use crate::domain::Priority;
use std::collections::{BTreeMap, VecDeque};

pub(super) struct Demotion {
    tenants: BTreeMap<usize, Record>,
    budgets: BTreeMap<usize, u64>,
}

#[derive(Default)]
struct Record {
    refusals: VecDeque<f64>,
    until: f64,
    used: u64,
}

impl Demotion {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let budgets = scenario.demotion.iter().flat_map(|it| it.daily_budget_tokens.clone());
        Self { tenants: BTreeMap::new(), budgets: budgets.collect() }
    }

    /// The priority with which a job enters now.
    pub(super) fn tier(&self, job: &Job, now: f64) -> Priority {
        let demoted = self.tenants.get(&job.tenant).is_some_and(|record| now < record.until);
        if demoted { Priority::Batch } else { job.tier }
    }

    pub(super) fn answered(&mut self, job: &Job, answer: Answer, now: f64) {
        let Answer::Refused { .. } = answer else {
            return;
        };
        let record = self.tenants.entry(job.tenant).or_default();
        record.refusals.push_back(now);
        while record.refusals.front().is_some_and(|at| *at <= now - WINDOW) {
            record.refusals.pop_front();
        }
        if record.refusals.len() >= LIMIT {
            record.until = record.until.max(now + PENALTY);
        }
    }

    pub(super) fn completed(&mut self, job: &Job) {
        let record = self.tenants.entry(job.tenant).or_default();
        record.used += job.input + job.output;
        if self
            .budgets
            .get(&job.tenant)
            .is_some_and(|budget| record.used as f64 > SLACK * *budget as f64)
        {
            record.until = f64::INFINITY;
        }
    }
}

/// How much of a budget may be used.
const SLACK: f64 = 1.5;
const WINDOW: f64 = 60.0;
const LIMIT: usize = 5;
const PENALTY: f64 = 300.0;
