//! The published design as it was printed: a draw that falls through to lower
//! priorities only, a round that starts with the first tenant every time, one
//! deficit for all priorities that is never cleared, and jobs that are lost.
use super::super::{
    scenario::Scenario,
    stream::Stream,
    workload::{Job, Workload, tier_number},
};
use super::{
    Answer, Policy,
    deficit::{QUANTUM, cost},
    demotion::Demotion,
    held::{After, Held, Queue},
    intended::{TRIES, wait},
};
use std::collections::{BTreeMap, VecDeque};

struct Literal {
    /// By priority, then tenant: jobs and their costs.
    queues: [BTreeMap<usize, VecDeque<(usize, f64)>>; 3],
    deficits: BTreeMap<usize, f64>,
    demotion: Demotion,
    stream: Stream,
}

pub(super) fn start(scenario: &Scenario, workload: &Workload) -> Box<dyn Policy> {
    let queue = Literal {
        queues: [const { BTreeMap::new() }; 3],
        deficits: BTreeMap::new(),
        demotion: Demotion::new(scenario),
        stream: Stream::named(&format!("{}|literal", workload.seed)),
    };
    Box::new(Held::new(scenario, queue))
}

impl Queue for Literal {
    fn push(&mut self, job: &Job, now: f64) {
        let tier = tier_number(self.demotion.tier(job, now));
        if let Some(tenants) = self.queues.get_mut(tier) {
            tenants.entry(job.tenant).or_default().push_back((job.index, cost(job)));
        }
    }

    fn pop(&mut self) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let drawn = self.stream.uniform();
        let first = if drawn < 0.7 { 0 } else { usize::from(drawn >= 0.95) + 1 };
        let tiers = self.queues.iter_mut().skip(first);
        tiers.into_iter().find_map(|tier| visit(tier, &mut self.deficits))
    }

    fn after(&mut self, job: &Job, tries: u32, answer: Answer, now: f64) -> After {
        self.demotion.answered(job, answer, now);
        match answer {
            Answer::Refused { .. } if tries < TRIES => After::Sleep(wait(answer, &mut self.stream)),
            Answer::Refused { .. } | Answer::Completed(_) | Answer::Failed => After::Lose,
        }
    }

    fn nap(&self) -> Option<f64> {
        (!self.is_empty()).then_some(0.1)
    }

    fn completed(&mut self, job: &Job, _now: f64) {
        self.demotion.completed(job);
    }
}

impl Literal {
    fn is_empty(&self) -> bool {
        self.queues.iter().all(BTreeMap::is_empty)
    }
}

/// One round, from the first tenant: a quantum each, until a job fits.
fn visit(
    tier: &mut BTreeMap<usize, VecDeque<(usize, f64)>>,
    deficits: &mut BTreeMap<usize, f64>,
) -> Option<usize> {
    let found = tier.iter().find_map(|(tenant, jobs)| {
        let (job, cost) = *jobs.front()?;
        let deficit = deficits.entry(*tenant).or_default();
        *deficit += QUANTUM;
        if *deficit < cost {
            return None;
        }
        *deficit -= cost;
        Some((*tenant, job))
    });
    let (tenant, job) = found?;
    let jobs = tier.get_mut(&tenant)?;
    jobs.pop_front();
    if jobs.is_empty() {
        tier.remove(&tenant);
    }
    Some(job)
}
