//! Decides which job runs next, and how many at once.
//!
//! Nothing here reads a clock, draws a random number or touches storage. The
//! caller hands in what happened and the time, then carries out what comes
//! out, in this order:
//!
//! ```text
//! submit · settle · cancel · handle_timeout          what happened
//!   └▶ dispatch                                      who may go now
//!        └▶ poll_change, snapshot                    write down, in one go
//!             └▶ poll_effect                         then carry out
//!                  └▶ next_deadline                  sleep until then
//! ```
//! An effect lost on the way is made good: a lease that nobody answers ends,
//! and is asked for.
//!
//! | file | says |
//! |---|---|
//! | `wire`, `config` | what goes in and comes out; what can be set |
//! | `job`, `lanes` | one job; the order of those that wait |
//! | `class`, `classes` | one model class; which of them may go |
//! | `budget`, `bucket`, `mean`, `headers` | what a class may use |
//! | `clock` | time, which never runs backwards |
//! | `gate`, `pause` | when a class, or everything, waits for the upstream |
//! | `release`, `settle` | how a job goes, and how it comes back |
//! | `snapshot`, `explain`, `check` | restart; why a job waits; what is conserved |
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bucket;
mod budget;
mod check;
mod class;
mod classes;
mod clock;
mod config;
mod explain;
mod gate;
mod headers;
mod job;
mod lanes;
mod mean;
mod pause;
mod release;
mod settle;
mod snapshot;
mod wire;

pub use config::{Config, PerPriority};
pub use job::{Change, Row};
pub use wire::{
    Effect, Paused, Reason, Release, Settlement, State, Submission, Submitted, WaitingFor, Wake,
};

use crate::domain::{JobId, ModelClass, Timestamp};
use classes::Classes;
use clock::Clock;
use job::{Job, Place};
use lanes::Lanes;
use pause::Account;
use settle::Evidence;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The jobs that have not ended, and what they may use.
#[derive(Debug)]
pub struct Scheduler {
    config: Config,
    clock: Clock,
    jobs: BTreeMap<JobId, Job>,
    lanes: Lanes,
    classes: Classes,
    account: Account,
    /// By the end of the delay.
    delays: BTreeSet<(Timestamp, JobId)>,
    /// By the end of the lease, or by when to ask again. Each holds a slot.
    leases: BTreeSet<(Timestamp, JobId)>,
    next_order: u64,
    effects: VecDeque<Effect>,
    /// Jobs whose rows are out of date.
    changed: BTreeSet<JobId>,
}

impl Scheduler {
    /// A scheduler that has never seen a job, and takes all buckets for full.
    #[must_use]
    pub fn new(config: Config, now: Timestamp) -> Self {
        Self {
            config,
            clock: Clock::new(now),
            jobs: BTreeMap::new(),
            lanes: Lanes::default(),
            classes: Classes::default(),
            account: Account::default(),
            delays: BTreeSet::new(),
            leases: BTreeSet::new(),
            next_order: 0,
            effects: VecDeque::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Takes a job in. Submitting a known job again changes nothing.
    pub fn submit(&mut self, submission: Submission, now: Timestamp) -> Submitted {
        self.clock.see(now);
        if self.jobs.contains_key(&submission.job) {
            return Submitted::AlreadyKnown;
        }
        let job = Job { submission, order: self.next_order, throttled: 0, place: Place::Waiting };
        self.next_order = self.next_order.saturating_add(1);
        self.enter(job)
    }

    /// Ends a job by its owner's wish, or because it is known to have ended.
    /// One that is under way keeps its slot and tokens until its attempt is
    /// settled, and is not tried again. Says whether the job was known.
    pub fn cancel(&mut self, job: JobId, now: Timestamp) -> bool {
        self.clock.see(now);
        let Some(known) = self.jobs.get_mut(&job) else {
            return false;
        };
        if let Place::Leased(lease) = &mut known.place {
            lease.canceled = true;
            self.changed.insert(job);
        } else {
            self.forget(job);
        }
        true
    }

    /// Whether the job waits or runs here.
    #[must_use]
    pub fn knows(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// The leases under way: each job, the lease's number, the attempt's.
    pub fn under_way(&self) -> impl Iterator<Item = (JobId, u32, u32)> {
        self.leases.iter().filter_map(|(_, id)| {
            let submission = &self.jobs.get(id)?.submission;
            Some((*id, submission.lease, submission.attempts.saturating_add(1)))
        })
    }

    /// The number of the attempt that a job is at.
    #[must_use]
    pub fn attempt_of(&self, job: JobId) -> Option<u32> {
        self.jobs.get(&job).map(|job| job.submission.attempts.saturating_add(1))
    }

    /// The next thing to carry out, after its changes have been stored.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The next row to write or remove. A job that changed several times
    /// since comes once, as it is now.
    pub fn poll_change(&mut self) -> Option<Change> {
        let job = self.changed.pop_first()?;
        Some(match self.jobs.get(&job) {
            Some(known) => Change::Put(Row::new(known.clone())),
            None => Change::Delete(job),
        })
    }

    /// The numbers of now.
    #[must_use]
    pub fn state(&self) -> State {
        let paused = self.account.paused();
        State {
            waiting: self.lanes.waiting(),
            delayed: self.delays.len(),
            running: self.leases.len(),
            slots: self.config.slots,
            paused: paused.map(|Paused { fault, until }| Paused {
                fault,
                until: self.clock.on_the_wall(until),
            }),
        }
    }

    /// Takes a new job in, unless it may not be tried any more.
    fn enter(&mut self, job: Job) -> Submitted {
        let attempts = job.submission.attempts;
        let id = job.submission.job;
        self.changed.insert(id);
        if attempts >= self.config.attempts(job.submission.priority) {
            self.effects.push_back(Effect::DeadLetter { job: id, attempts });
            return Submitted::DeadLettered;
        }
        self.jobs.insert(id, job);
        self.wait(id);
        Submitted::New
    }

    /// Puts a job that is nowhere into its lane.
    fn wait(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.place = Place::Waiting;
        self.lanes.insert(job);
        self.changed.insert(id);
        if self.lanes.head(&job.submission.class) == Some(id) {
            let class = job.submission.class.clone();
            self.stand(&class);
        }
    }

    /// Puts a job that is nowhere aside, until then.
    fn delay(&mut self, id: JobId, until: Timestamp) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.place = Place::Delayed(until);
            self.delays.insert((until, id));
            self.changed.insert(id);
        }
    }

    /// Removes a job from wherever it is.
    fn forget(&mut self, id: JobId) {
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        match &job.place {
            Place::Waiting => self.lanes.remove(&job),
            Place::Delayed(until) => drop(self.delays.remove(&(*until, id))),
            Place::Leased(lease) => drop(self.leases.remove(&(lease.until, id))),
        }
        self.changed.insert(id);
        self.stand(&job.submission.class);
    }

    /// Finds out when the next job of a class may go. To be called after
    /// every change of its lanes, its budget or its gate.
    fn stand(&mut self, class: &ModelClass) {
        let now = self.clock.now();
        self.classes.get(class, &self.config, now);
        let head = self.lanes.head(class).and_then(|id| self.jobs.get(&id));
        self.classes.stand(class, head, &self.config, now);
    }
}
