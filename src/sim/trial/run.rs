//! One run: the jobs of a workload, one policy, one upstream, in virtual time.
use super::{
    policy::{Answer, Kind, Policy, Step},
    scenario::Scenario,
    stream::{mix64, unit},
    upstream::{Moment, Reply, Upstream},
    workload::{Job, Workload},
};
use std::collections::{BTreeMap, BTreeSet};

/// What happened in a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The jobs.
    pub workload: Workload,
    /// What became of each, in their order.
    pub fates: Vec<Fate>,
    /// When a call reached the upstream.
    pub reached: Vec<f64>,
    /// Calls that were refused.
    pub refused: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls of a job whose last call had been refused.
    pub again: u64,
    /// Those of them that were refused as well.
    pub refused_again: u64,
    /// The spans in which jobs waited.
    pub stretches: Vec<Stretch>,
    /// The scheduler's elementary operations, if counted.
    pub operations: Option<u64>,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fate {
    /// When it stopped waiting: the upstream let it in, or it was given up.
    pub left: Option<f64>,
    /// When it was done.
    pub done: Option<f64>,
    /// Whether it was given up.
    pub lost: bool,
    /// How often it called.
    pub calls: u32,
}

impl Fate {
    /// When the upstream let it in.
    #[must_use]
    pub fn admitted(&self) -> Option<f64> {
        self.left.filter(|_| !self.lost)
    }
}

/// A span in which some job waited all the time.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Since when.
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// What the buckets held when it began.
    pub levels: [f64; 3],
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives,
    Reaches,
    Answered(Answer),
}

/// Runs a scenario's jobs of this seed under a policy.
#[must_use]
pub fn run(scenario: &Scenario, kind: &Kind, seed: u64) -> Run {
    let workload = Workload::generate(scenario, seed);
    let policy = kind.start(scenario, &workload);
    let mut world = World {
        scenario,
        seed,
        policy,
        upstream: Upstream::new(&scenario.upstream),
        calendar: BTreeMap::new(),
        number: 0,
        waiting: 0,
        open: workload.jobs.len(),
        refused: BTreeSet::new(),
        run: Run::new(&workload),
    };
    for job in &workload.jobs {
        world.plan(job.arrival, job.index, Event::Arrives);
    }
    world.play(&workload.jobs);
    world.finish(workload)
}

struct World<'a> {
    scenario: &'a Scenario,
    seed: u64,
    policy: Box<dyn Policy>,
    upstream: Upstream,
    calendar: BTreeMap<(Moment, u64), (usize, Event)>,
    number: u64,
    /// Jobs that have arrived, and were neither admitted nor lost.
    waiting: usize,
    /// Jobs that have not ended.
    open: usize,
    /// Jobs whose last call was refused.
    refused: BTreeSet<usize>,
    run: Run,
}

impl World<'_> {
    fn play(&mut self, jobs: &[Job]) {
        let mut now = 0.0_f64;
        while self.open > 0 {
            let Some(next) = self.next(now).filter(|at| *at <= self.scenario.horizon_s) else {
                break;
            };
            now = next;
            if let Some((index, event)) = self.due(now)
                && let Some(job) = jobs.get(index)
            {
                self.happen(job, event, now);
            }
            while let Some(step) = self.policy.step(now) {
                self.take(step, now);
            }
        }
    }

    /// When something happens next. A policy that wants to be woken at once,
    /// having just been asked, is woken a moment later.
    fn next(&self, now: f64) -> Option<f64> {
        let event = self.calendar.first_key_value().map(|((at, _), _)| at.0);
        let wake = self.policy.wakes_at().map(|at| if at <= now { now + 0.001 } else { at });
        event.into_iter().chain(wake).min_by(f64::total_cmp)
    }

    fn due(&mut self, now: f64) -> Option<(usize, Event)> {
        let entry = self.calendar.first_entry().filter(|entry| entry.key().0.0 <= now)?;
        Some(entry.remove())
    }

    fn happen(&mut self, job: &Job, event: Event, now: f64) {
        match event {
            Event::Arrives => {
                self.wait(now);
                self.policy.arrive(job, now);
            }
            Event::Reaches => self.reach(job, now),
            Event::Answered(answer) => {
                if let Answer::Completed(_) = answer {
                    if let Some(fate) = self.fate(job.index) {
                        fate.done = Some(now);
                    }
                    self.open -= 1;
                }
                self.policy.answer(job, answer, now);
            }
        }
    }

    fn take(&mut self, step: Step, now: f64) {
        match step {
            Step::Call(index) => {
                let attempt = self.calls(index);
                let way = self.way(index, attempt);
                self.plan(now + way, index, Event::Reaches);
            }
            Step::Lose(index) => {
                self.open -= 1;
                self.leaves(index, false, now);
            }
        }
    }

    fn reach(&mut self, job: &Job, now: f64) {
        self.run.reached.push(now);
        let reply = self.upstream.call(job, now);
        let refused = matches!(reply, Reply::Refused { .. });
        let again = self.refused.remove(&job.index);
        if refused {
            self.refused.insert(job.index);
        }
        self.run.again += u64::from(again);
        self.run.refused_again += u64::from(again && refused);
        let spec = &self.scenario.upstream;
        let (span, answer) = match reply {
            Reply::Admitted(told) => {
                self.leaves(job.index, true, now);
                (job.service, Answer::Completed(told))
            }
            Reply::Refused { retry_after, told } => {
                self.run.refused += 1;
                (spec.reject_latency_s, Answer::Refused { retry_after, told })
            }
            Reply::Down => {
                self.run.failed += 1;
                (spec.error_latency_s, Answer::Failed)
            }
        };
        self.plan(now + span, job.index, Event::Answered(answer));
    }

    /// How long the call takes to the upstream: the same under every policy.
    fn way(&self, index: usize, attempt: u32) -> f64 {
        let (low, high) = self.scenario.net_s;
        let seed = self.seed.wrapping_mul(0x51ED_270B);
        let place = 1_024 * index as u64 + u64::from(attempt % 1_024);
        low + (high - low) * unit(mix64(seed ^ place))
    }

    fn wait(&mut self, now: f64) {
        if self.waiting == 0 {
            let levels = self.upstream.levels(now);
            self.run.stretches.push(Stretch { from: now, to: now, levels });
        }
        self.waiting += 1;
    }

    fn end_stretch(&mut self, now: f64) {
        if let Some(stretch) = self.run.stretches.last_mut() {
            stretch.to = now;
        }
    }

    fn fate(&mut self, index: usize) -> Option<&mut Fate> {
        self.run.fates.get_mut(index)
    }

    fn calls(&mut self, index: usize) -> u32 {
        let fate = self.fate(index);
        fate.map_or(0, |fate| {
            fate.calls += 1;
            fate.calls
        })
    }

    /// A job that waited has been admitted, or was given up.
    fn leaves(&mut self, index: usize, admitted: bool, now: f64) {
        if let Some(fate) = self.fate(index) {
            fate.left = Some(now);
            fate.lost = !admitted;
        }
        self.waiting -= 1;
        if self.waiting == 0 {
            self.end_stretch(now);
        }
    }

    fn plan(&mut self, at: f64, index: usize, event: Event) {
        self.calendar.insert((Moment(at), self.number), (index, event));
        self.number += 1;
    }

    fn finish(mut self, workload: Workload) -> Run {
        if self.waiting > 0 {
            self.end_stretch(self.scenario.horizon_s);
        }
        self.run.operations = self.policy.operations();
        Run { workload, ..self.run }
    }
}

impl Run {
    fn new(workload: &Workload) -> Self {
        Self {
            workload: Workload { jobs: Vec::new(), ..workload.clone() },
            fates: vec![Fate::default(); workload.jobs.len()],
            reached: Vec::new(),
            refused: 0,
            failed: 0,
            again: 0,
            refused_again: 0,
            stretches: Vec::new(),
            operations: None,
        }
    }

    /// Each job and what became of it.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Job, &Fate)> {
        self.workload.jobs.iter().zip(&self.fates)
    }
}
