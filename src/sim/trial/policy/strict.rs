//! Strict priority, one queue for each. The first retry at once, then after
//! 0.1, 0.2, 0.4 … 10 s.
use super::super::{scenario::Scenario, workload::Job};
use super::{
    Answer, Policy,
    fifo::doubling,
    held::{After, Held, Queue},
};
use crate::scheduler::PerPriority;
use std::collections::VecDeque;

#[derive(Default)]
struct Strict(PerPriority<VecDeque<usize>>);

pub(super) fn start(scenario: &Scenario) -> Box<dyn Policy> {
    Box::new(Held::new(scenario, Strict::default()))
}

impl Queue for Strict {
    fn push(&mut self, job: &Job, _now: f64) {
        self.0.get_mut(job.tier).push_back(job.index);
    }

    fn pop(&mut self) -> Option<usize> {
        let PerPriority { critical, standard, batch } = &mut self.0;
        critical.pop_front().or_else(|| standard.pop_front()).or_else(|| batch.pop_front())
    }

    fn after(&mut self, _job: &Job, tries: u32, _answer: Answer, _now: f64) -> After {
        let later = tries.saturating_sub(1);
        After::Sleep(if later == 0 { 0.0 } else { doubling(0.1, later, 10.0) })
    }
}
