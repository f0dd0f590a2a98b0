//! A world that runs the real scheduler in virtual time, and compares what it
//! says of waiting jobs with what becomes of them.
#![allow(dead_code, reason = "each test file plays its own part of it")]
pub(crate) mod loads;
mod maker;

use claude_pipeline::{domain::*, scheduler::*};
use std::collections::{BTreeMap, BTreeSet};

/// A job to come.
#[derive(Clone, Debug)]
pub(crate) struct Coming {
    pub(crate) at: u64,
    pub(crate) submission: Submission,
    /// How long its call takes, in milliseconds.
    pub(crate) takes: u64,
    pub(crate) used: Usage,
}

/// All that happens in a run.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) config: Config,
    pub(crate) jobs: Vec<Coming>,
    /// Calls that begin then, in milliseconds, are refused, with a wish to wait
    /// for ten seconds.
    pub(crate) refusing: std::ops::Range<u64>,
    /// What is said earlier does not count.
    pub(crate) begins: u64,
}

/// What was said of a waiting job, and what came of it, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) job: usize,
    pub(crate) at: u64,
    pub(crate) position: usize,
    pub(crate) estimated: u64,
    pub(crate) real: u64,
}

impl Said {
    /// Within a factor of two; short waits within two seconds.
    pub(crate) fn holds(&self) -> bool {
        let near = self.estimated.abs_diff(self.real) <= 2_000;
        near || (2 * self.estimated >= self.real && self.estimated <= 2 * self.real)
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.estimated.max(1) as f64 / self.real.max(1) as f64
    }
}

enum Event {
    Comes(usize),
    Ends { job: usize, lease: u32, refused: bool },
    Look,
}

struct World<'a> {
    load: &'a Load,
    scheduler: Scheduler,
    now: u64,
    calendar: BTreeMap<(u64, u64), Event>,
    number: u64,
    known: BTreeMap<JobId, usize>,
    waiting: BTreeSet<usize>,
    said: Vec<Said>,
    /// What was said of jobs that still wait.
    open: BTreeMap<usize, Vec<Said>>,
    done: usize,
}

/// Runs all jobs to their end. Each job is asked when it was submitted, and
/// each that waits at every second.
pub(crate) fn run(load: &Load) -> Vec<Said> {
    let mut world = World {
        load,
        scheduler: Scheduler::new(load.config, moment(0)),
        now: 0,
        calendar: BTreeMap::new(),
        number: 0,
        known: BTreeMap::new(),
        waiting: BTreeSet::new(),
        said: Vec::new(),
        open: BTreeMap::new(),
        done: 0,
    };
    for (index, job) in load.jobs.iter().enumerate() {
        world.known.insert(job.submission.job, index);
        world.plan(job.at, Event::Comes(index));
    }
    world.plan(1_000, Event::Look);
    world.play();
    world.said.retain(|it| it.at >= load.begins);
    world.said
}

impl World<'_> {
    fn play(&mut self) {
        while self.done < self.load.jobs.len() {
            let event = self.calendar.keys().next().map(|(at, _)| *at);
            let wake = self.scheduler.next_deadline().map(|(at, _)| at.as_millis() - START);
            let next = event.into_iter().chain(wake).min().unwrap();
            assert!(next < 100_000_000, "some jobs never end");
            self.now = self.now.max(next);
            let mut fresh = Vec::new();
            let mut look = false;
            while let Some(entry) = self.calendar.first_entry().filter(|it| it.key().0 <= self.now)
            {
                match entry.remove() {
                    Event::Comes(index) => {
                        self.scheduler.submit(self.job(index).submission.clone(), moment(self.now));
                        self.waiting.insert(index);
                        fresh.push(index);
                    }
                    Event::Ends { job, lease, refused } => self.end(job, lease, refused),
                    Event::Look => look = true,
                }
            }
            self.turn();
            if look {
                fresh = self.waiting.iter().copied().collect();
                self.plan(self.now + 1_000, Event::Look);
            }
            self.ask(&fresh);
        }
    }

    fn turn(&mut self) {
        self.scheduler.dispatch(moment(self.now));
        while let Some(effect) = self.scheduler.poll_effect() {
            let Effect::Release(release) = effect else { continue };
            let index = self.known[&release.job];
            self.waiting.remove(&index);
            for said in self.open.remove(&index).unwrap_or_default() {
                self.said.push(Said { real: self.now - said.at, ..said });
            }
            let refused = self.load.refusing.contains(&self.now);
            let takes = if refused { 150 } else { self.job(index).takes };
            let end = Event::Ends { job: index, lease: release.lease, refused };
            self.plan(self.now + takes, end);
        }
        while self.scheduler.poll_change().is_some() {}
    }

    fn end(&mut self, index: usize, lease: u32, refused: bool) {
        let Coming { used, submission, .. } = self.job(index);
        let outcome = if refused {
            Outcome::Throttled {
                error: JobError::new("rate_limit_error", "Slow down"),
                retry_after: Some(Span::from_secs(10)),
            }
        } else {
            Outcome::Completed { usage: *used }
        };
        let settlement = Settlement { job: submission.job, lease, outcome, limits: None };
        self.scheduler.settle(settlement, moment(self.now), Entropy(u64::MAX / 2));
        if refused {
            self.waiting.insert(index);
        } else {
            self.done += 1;
        }
    }

    fn ask(&mut self, jobs: &[usize]) {
        for index in jobs {
            let job = self.job(*index).submission.job;
            let Some(waits) = self.scheduler.explain(job, moment(self.now)) else { continue };
            let estimated = waits.estimated_start.since(moment(self.now)).as_millis();
            let said =
                Said { job: *index, at: self.now, position: waits.position, estimated, real: 0 };
            self.open.entry(*index).or_default().push(said);
        }
    }

    fn job(&self, index: usize) -> &Coming {
        &self.load.jobs[index]
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.calendar.insert((at, self.number), event);
    }
}

/// What was said first of each job, and what half-way through its wait.
pub(crate) fn first_and_midway(said: &[Said]) -> [Vec<Said>; 2] {
    let mut by_job: BTreeMap<usize, Vec<Said>> = BTreeMap::new();
    for it in said {
        by_job.entry(it.job).or_default().push(*it);
    }
    let first = by_job.values().map(|all| all[0]).collect();
    let midway = by_job.values().map(|all| {
        let half = all[0].real / 2;
        *all.iter().min_by_key(|it| it.real.abs_diff(half)).unwrap()
    });
    [first, midway.collect()]
}

fn moment(millis: u64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

const START: u64 = 1_800_000_000_000;
