//! What the scheduler should do, said as plainly as possible: lists searched
//! from end to end, no calendar, nothing remembered that can be derived.

mod account;
mod bucket;

use account::Pause;
use bucket::Bucket;
use claude_pipeline::{domain::*, scheduler::*};
use std::collections::BTreeMap;

pub(crate) struct Model {
    config: Config,
    pub(crate) now: u64,
    wall: u64,
    pub(crate) jobs: Vec<Job>,
    classes: BTreeMap<ModelClass, Class>,
    pause: Option<Pause>,
    next_order: u64,
    pub(crate) effects: Vec<Effect>,
    /// Every release there was, for the laws.
    pub(crate) ledger: Vec<Entry>,
}

#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) submission: Submission,
    order: u64,
    throttled: u32,
    pub(crate) place: Place,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Place {
    Waiting,
    Delayed { until: u64 },
    Leased(Lease),
}

#[derive(Clone, PartialEq)]
pub(crate) struct Lease {
    since: u64,
    until: u64,
    /// Requests, input, output: how much, and the bucket's total after it.
    held: [(u64, i128); 3],
    entry: usize,
    canceled: bool,
}

pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) class: ModelClass,
    pub(crate) reserved: [u64; 3],
    /// What came of it: at most this was used.
    pub(crate) charged: [u64; 3],
}

struct Class {
    buckets: [Bucket; 3],
    /// `None`: open. Else until when, how many refusals, and which probe.
    gate: Option<(u64, u32, Option<JobId>)>,
    mean: Option<u64>,
}

impl Model {
    pub(crate) fn new(config: Config, now: Timestamp) -> Self {
        let now = now.as_millis();
        Self {
            config,
            now,
            wall: now,
            jobs: Vec::new(),
            classes: BTreeMap::new(),
            pause: None,
            next_order: 0,
            effects: Vec::new(),
            ledger: Vec::new(),
        }
    }

    pub(crate) fn see(&mut self, wall: Timestamp) {
        let wall = wall.as_millis();
        if wall > self.wall {
            self.now += wall - self.wall;
            self.wall = wall;
        } else if self.wall - wall > 10_000 {
            self.wall = wall;
        }
        let now = self.now;
        for class in self.classes.values_mut() {
            class.buckets.iter_mut().for_each(|bucket| bucket.flow(now));
        }
    }

    pub(crate) fn submit(&mut self, submission: Submission) {
        if self.find(submission.job).is_some() {
            return;
        }
        self.next_order += 1;
        let (job, attempts) = (submission.job, submission.attempts);
        if attempts >= self.config.attempts(submission.priority) {
            self.effects.push(Effect::DeadLetter { job, attempts });
            return;
        }
        self.class(&submission.class);
        self.jobs.push(Job {
            submission,
            order: self.next_order,
            throttled: 0,
            place: Place::Waiting,
        });
    }

    pub(crate) fn cancel(&mut self, id: JobId) {
        let Some(at) = self.find(id) else { return };
        match &mut self.jobs[at].place {
            Place::Leased(lease) => lease.canceled = true,
            Place::Waiting | Place::Delayed { .. } => drop(self.jobs.remove(at)),
        }
    }

    pub(crate) fn dispatch(&mut self) {
        let now = self.now;
        for job in &mut self.jobs {
            if matches!(job.place, Place::Delayed { until } if until <= now) {
                job.place = Place::Waiting;
            }
        }
        self.ask();
        while let Some(at) = self.next() {
            self.release(at);
        }
    }

    fn ask(&mut self) {
        let mut due = Vec::new();
        for job in &mut self.jobs {
            if let Place::Leased(lease) = &mut job.place
                && lease.until <= self.now
            {
                due.push((lease.until, job.submission.job, job.submission.lease));
                lease.until = self.now + self.config.ask_again.as_millis();
            }
        }
        due.sort();
        let asked = due.into_iter();
        let asked = asked.map(|(_, job, lease)| Effect::Reconcile { job, lease });
        self.effects.extend(asked);
    }

    /// The most urgent, oldest job of those that are first in their class, if
    /// their class may go.
    fn next(&self) -> Option<usize> {
        let running = self.jobs.iter().filter(|job| job.lease().is_some()).count();
        let paused = self.pause.as_ref().is_some_and(|pause| !pause.over(self.now));
        if running >= self.config.slots as usize || paused {
            return None;
        }
        let rank = |at: &usize| (self.jobs[*at].submission.priority, self.jobs[*at].order);
        let first_of = |name: &ModelClass| {
            let waiting = (0..self.jobs.len())
                .filter(|at| self.jobs[*at].place == Place::Waiting)
                .filter(|at| self.jobs[*at].submission.class == *name);
            waiting.min_by_key(rank)
        };
        let heads = self.classes.keys().filter_map(first_of);
        heads.filter(|at| self.may_go(*at)).min_by_key(rank)
    }

    fn may_go(&self, at: usize) -> bool {
        let submission = &self.jobs[at].submission;
        let class = &self.classes[&submission.class];
        let open = match class.gate {
            None => true,
            Some((until, _, probe)) => probe.is_none() && until <= self.now,
        };
        let need = class.need(submission.estimate, self.config.output_guess.get());
        open && class.buckets.iter().zip(need).all(|(bucket, need)| bucket.fits(need))
    }

    fn release(&mut self, at: usize) {
        let job = &mut self.jobs[at];
        let submission = &mut job.submission;
        submission.lease += 1;
        let Some(class) = self.classes.get_mut(&submission.class) else {
            return;
        };
        let need = class.need(submission.estimate, self.config.output_guess.get());
        let mut held = [(0, 0); 3];
        for ((held, bucket), need) in held.iter_mut().zip(&mut class.buckets).zip(need) {
            *held = bucket.take(need);
        }
        if let Some((_, _, probe)) = &mut class.gate {
            *probe = Some(submission.job);
        }
        if let Some(pause) = &mut self.pause {
            pause.probe = Some(submission.job);
        }
        let lease = self.config.lease(submission.priority);
        self.effects.push(Effect::Release(Release {
            job: submission.job,
            lease: submission.lease,
            attempt: submission.attempts + 1,
            until: Timestamp::from_millis(self.wall) + lease,
            queue: submission.priority.queue(),
        }));
        job.place = Place::Leased(Lease {
            since: self.now,
            until: self.now + lease.as_millis(),
            held,
            entry: self.ledger.len(),
            canceled: false,
        });
        self.ledger.push(Entry {
            at: self.now,
            class: submission.class.clone(),
            reserved: held.map(|(amount, _)| amount),
            charged: held.map(|(amount, _)| amount),
        });
    }

    pub(crate) fn find(&self, id: JobId) -> Option<usize> {
        self.jobs.iter().position(|job| job.submission.job == id)
    }

    fn class(&mut self, name: &ModelClass) -> &mut Class {
        let limits = self.config.limits;
        let (depth, now) = (self.config.depth().as_millis(), self.now);
        self.classes.entry(name.clone()).or_insert_with(|| Class {
            buckets: [limits.requests, limits.input, limits.output]
                .map(|limit| Bucket::full(limit, depth, now)),
            gate: None,
            mean: None,
        })
    }
}

impl Job {
    pub(crate) fn lease(&self) -> Option<&Lease> {
        match &self.place {
            Place::Leased(lease) => Some(lease),
            Place::Waiting | Place::Delayed { .. } => None,
        }
    }
}

impl Class {
    fn need(&self, estimate: Usage, guess: u64) -> [u64; 3] {
        let mean = self.mean.map_or(guess, |mean| mean.div_ceil(16));
        [1, estimate.input.get(), estimate.output.get().min(mean)]
    }
}
