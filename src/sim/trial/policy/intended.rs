//! The published design as it was meant: critical nine times out of ten, else
//! standard or batch 25 : 5; round robin by deficit within each; refused jobs
//! sleep on `Retry-After`, and after five calls go back to the head of their
//! tenant's queue.
use super::super::{
    scenario::Scenario,
    stream::Stream,
    workload::{Job, Workload},
};
use super::{
    Answer, Policy,
    deficit::Ring,
    demotion::Demotion,
    held::{After, Held, Queue},
};
use crate::scheduler::PerPriority;

struct Intended {
    rings: PerPriority<Ring>,
    demotion: Demotion,
    stream: Stream,
}

pub(super) fn start(scenario: &Scenario, workload: &Workload) -> Box<dyn Policy> {
    let ring = || Ring::new(workload);
    let queue = Intended {
        rings: PerPriority { critical: ring(), standard: ring(), batch: ring() },
        demotion: Demotion::new(scenario),
        stream: Stream::named(&format!("{}|intended", workload.seed)),
    };
    Box::new(Held::new(scenario, queue))
}

impl Queue for Intended {
    fn push(&mut self, job: &Job, now: f64) {
        let tier = self.demotion.tier(job, now);
        self.rings.get_mut(tier).push(job);
    }

    fn push_again(&mut self, job: &Job, now: f64) {
        let tier = self.demotion.tier(job, now);
        self.rings.get_mut(tier).push_front(job);
    }

    fn pop(&mut self) -> Option<usize> {
        let PerPriority { critical, standard, batch } = &mut self.rings;
        let lower = !(standard.is_empty() && batch.is_empty());
        if !critical.is_empty() && (self.stream.uniform() < CRITICAL || !lower) {
            return critical.pop();
        }
        let drawn = self.stream.uniform() < STANDARD;
        if batch.is_empty() || (drawn && !standard.is_empty()) {
            standard.pop()
        } else {
            batch.pop()
        }
    }

    fn after(&mut self, job: &Job, tries: u32, answer: Answer, now: f64) -> After {
        self.demotion.answered(job, answer, now);
        if tries >= TRIES {
            return After::Requeue;
        }
        After::Sleep(wait(answer, &mut self.stream))
    }

    fn completed(&mut self, job: &Job, _now: f64) {
        self.demotion.completed(job);
    }
}

/// `Retry-After` × 1.2 × 0.8 to 1.2; a failure without one counts as a second.
pub(super) fn wait(answer: Answer, stream: &mut Stream) -> f64 {
    let asked = match answer {
        Answer::Refused { retry_after, .. } => retry_after,
        Answer::Completed(_) | Answer::Failed => 1.0,
    };
    asked * 1.2 * (0.8 + 0.4 * stream.uniform())
}

const CRITICAL: f64 = 0.9;
const STANDARD: f64 = 25.0 / 30.0;

/// Calls in a row.
pub(super) const TRIES: u32 = 5;
