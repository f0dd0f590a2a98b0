//! One queue. After any failure 1, 2, 4 … 60 s, whatever `Retry-After` says.
use super::super::{scenario::Scenario, workload::Job};
use super::{
    Answer, Policy,
    held::{After, Held, Queue},
};
use std::collections::VecDeque;

struct Fifo(VecDeque<usize>);

pub(super) fn start(scenario: &Scenario) -> Box<dyn Policy> {
    Box::new(Held::new(scenario, Fifo(VecDeque::new())))
}

impl Queue for Fifo {
    fn push(&mut self, job: &Job, _now: f64) {
        self.0.push_back(job.index);
    }

    fn pop(&mut self) -> Option<usize> {
        self.0.pop_front()
    }

    fn after(&mut self, _job: &Job, tries: u32, _answer: Answer, _now: f64) -> After {
        After::Sleep(doubling(1.0, tries, 60.0))
    }
}

/// `base × 2^(tries − 1)`, at most `cap`.
pub(super) fn doubling(base: f64, tries: u32, cap: f64) -> f64 {
    (base * f64::from(tries.saturating_sub(1)).exp2()).min(cap)
}
