//! What the scheduler should do, said as plainly as possible: lists searched
//! from end to end, no calendar, nothing remembered that can be derived.

mod account;
mod bucket;
mod choice;
mod class;
mod demotion;
mod floors;
mod gate;
mod order;
mod parked;
mod settle;

use account::Pause;
use class::Class;
use claude_pipeline::{domain::*, scheduler::*};
use demotion::Tenant;
use floors::Floors;
use std::collections::BTreeMap;

pub(crate) struct Model {
    pub(crate) config: Config,
    pub(crate) now: u64,
    wall: u64,
    pub(crate) jobs: Vec<Job>,
    classes: Vec<Class>,
    tenants: BTreeMap<TenantId, Tenant>,
    pause: Option<Pause>,
    /// How the ranks stand between the classes.
    floors: Floors,
    next_order: u64,
    pub(crate) effects: Vec<Effect>,
    /// Every release there was, for the laws.
    pub(crate) ledger: Vec<Entry>,
    /// How often what happened, to see that a test reaches it.
    pub(crate) seen: BTreeMap<&'static str, u64>,
}

#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) submission: Submission,
    class: usize,
    order: u64,
    throttled: u32,
    pub(crate) place: Place,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Place {
    /// In the lane of its tenant with this rank.
    Waiting(Priority),
    /// Too large to wait in a lane, which had this rank.
    Parked {
        since: u64,
        rank: Priority,
        paid: i128,
    },
    Delayed {
        until: u64,
    },
    Leased(Lease),
}

#[derive(Clone, PartialEq)]
pub(crate) struct Lease {
    since: u64,
    until: u64,
    rank: Priority,
    price: i128,
    /// Requests, input, output: how much, and the bucket's total after it.
    held: [(u64, i128); 3],
    entry: usize,
    canceled: bool,
}

pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) class: ModelClass,
    pub(crate) tenant: TenantId,
    pub(crate) rank: Priority,
    pub(crate) price: i128,
    pub(crate) reserved: [u64; 3],
    /// What came of it: at most this was used.
    pub(crate) charged: [u64; 3],
}

impl Model {
    pub(crate) fn new(config: &Config, now: Timestamp) -> Self {
        let now = now.as_millis();
        Self {
            config: *config,
            now,
            wall: now,
            jobs: Vec::new(),
            classes: Vec::new(),
            tenants: BTreeMap::new(),
            pause: None,
            floors: Floors::default(),
            next_order: 0,
            effects: Vec::new(),
            ledger: Vec::new(),
            seen: BTreeMap::new(),
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
        for class in &mut self.classes {
            class.buckets.iter_mut().for_each(|bucket| bucket.flow(now));
        }
        self.forget_lanes();
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
        let class = self.class(&submission.class);
        self.jobs.push(Job {
            class,
            submission,
            order: self.next_order,
            throttled: 0,
            place: Place::Delayed { until: self.now },
        });
        self.put_in(self.jobs.len() - 1);
    }

    pub(crate) fn cancel(&mut self, id: JobId) {
        let Some(at) = self.find(id) else { return };
        if let Place::Leased(lease) = &mut self.jobs[at].place {
            lease.canceled = true;
            return;
        }
        let job = self.jobs.remove(at);
        match job.place {
            Place::Waiting(rank) => self.left(job.class, rank, &job.submission.tenant),
            Place::Parked { rank, paid, .. } => {
                self.note("parked job canceled");
                self.give_back(job.class, rank, &job.submission.tenant, paid);
            }
            Place::Delayed { .. } | Place::Leased(_) => {}
        }
    }

    pub(crate) fn dispatch(&mut self) {
        self.lift_demotions();
        self.end_delays();
        self.ask();
        while let Some(next) = self.next() {
            self.release(&next);
        }
    }

    fn end_delays(&mut self) {
        let delayed = self.jobs.iter().filter_map(|job| match job.place {
            Place::Delayed { until } if until <= self.now => Some((until, job.submission.job)),
            Place::Delayed { .. } | Place::Waiting(_) | Place::Parked { .. } | Place::Leased(_) => {
                None
            }
        });
        let mut due: Vec<_> = delayed.collect();
        due.sort_unstable();
        for (_, id) in due {
            self.find(id).into_iter().for_each(|at| self.put_in(at));
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
        due.sort_unstable();
        let asked = due.into_iter();
        let asked = asked.map(|(_, job, lease)| Effect::Reconcile { job, lease });
        self.effects.extend(asked);
    }

    pub(crate) fn find(&self, id: JobId) -> Option<usize> {
        self.jobs.iter().position(|job| job.submission.job == id)
    }

    fn class(&mut self, name: &ModelClass) -> usize {
        let known = self.classes.iter().position(|class| class.name == *name);
        known.unwrap_or_else(|| {
            self.classes.push(Class::new(name.clone(), &self.config, self.now));
            self.classes.len() - 1
        })
    }

    pub(crate) fn note(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Law 6: with all there is to use, somebody uses it.
    pub(crate) fn assert_busy(&self) {
        let paused = self.pause.as_ref().is_some_and(|pause| !pause.over(self.now));
        if paused || !self.slot_free() {
            return;
        }
        for (at, class) in self.classes.iter().enumerate() {
            if class.buckets.iter().all(bucket::Bucket::is_full) && self.may_go(at) {
                let idle = self.jobs.iter().all(|job| !self.could_go(job, at));
                assert!(idle, "{} has all it may use, and jobs that wait", class.name);
            }
        }
    }

    fn could_go(&self, job: &Job, class: usize) -> bool {
        let rank = match job.place {
            Place::Waiting(rank) | Place::Parked { rank, .. } => rank,
            Place::Delayed { .. } | Place::Leased(_) => return false,
        };
        job.class == class && !self.capped(&job.submission.tenant, rank)
    }
}

impl Job {
    pub(crate) const fn lease(&self) -> Option<&Lease> {
        match &self.place {
            Place::Leased(lease) => Some(lease),
            Place::Waiting(_) | Place::Parked { .. } | Place::Delayed { .. } => None,
        }
    }
}
