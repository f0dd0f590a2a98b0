//! Decides which job runs next, and how many at once.
//!
//! Nothing here reads a clock, draws a random number or touches storage. The
//! caller hands in what happened and the time, then carries out what comes
//! out, in this order:
//!
//! ```text
//! admit · submit · settle · cancel · handle_timeout  what happened
//!   └▶ dispatch                                      who may go now
//!        └▶ poll_change, snapshot                    write down, in one go
//!             └▶ poll_effect, poll_demotion          then carry out, and tell
//!                  └▶ next_deadline                  sleep until then
//! ```
//! An effect lost on the way is made good: a lease that nobody answers ends,
//! and is asked for. docs/scheduling.md has the rules, the reasons and the
//! figures.
//!
//! | file | says |
//! |---|---|
//! | `wire`, `config`, `rules` | what goes in and comes out; what can be set |
//! | `job`, `place` | one job; how it gets from one place to another |
//! | `admission`, `house`, `rate` | who may come in, and when others may come back |
//! | `lane`, `tenant`, `hall` | a tenant's waiting jobs; one tenant; all of them |
//! | `tier`, `floors`, `parked`, `order`, `ballot` | who goes before whom within a model class |
//! | `class`, `classes` | one model class; which of them goes |
//! | `budget`, `bucket`, `mean`, `headers`, `tariff` | what a class may use, what a job costs |
//! | `clock` | time, which never runs backwards |
//! | `gate`, `pause` | when a class, or everything, waits for the upstream |
//! | `release`, `settle`, `reach`, `demote` | how a job goes, how it comes back, who pays for a 429 |
//! | `explain`, `forecast`, `slots` | why a job waits, and until when |
//! | `view`, `ahead`, `between`, `pace`, `arrivals` | what goes before it, and what may come |
//! | `row`, `snapshot`, `check` | restart; what is conserved |
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod admission;
mod ahead;
mod arrivals;
mod ballot;
mod between;
mod bound;
mod bucket;
mod budget;
mod check;
mod class;
mod classes;
mod clock;
mod config;
mod demote;
mod explain;
mod few;
mod floors;
mod forecast;
mod gate;
mod hall;
mod headers;
mod house;
mod job;
mod keys;
mod lane;
mod line;
mod mean;
mod order;
mod pace;
mod parked;
mod pause;
mod place;
mod rate;
mod ratio;
mod reach;
mod release;
mod row;
mod rules;
mod settle;
mod slots;
mod snapshot;
mod tariff;
mod tenant;
mod tier;
mod view;
mod wire;

pub use bound::AdmissionRules;
pub use config::{Config, PerPriority};
pub use row::{Change, JobRow, Row, TenantRow};
pub use rules::{DemotionRules, Ordering, Policy};
pub use tenant::DemotionReason;
pub use wire::{
    Admission, Demoted, Effect, Limit, Paused, Quota, Reason, Refusal, Release, Settlement, State,
    Submission, Submitted, WaitingFor, Wake, Wish,
};

use crate::domain::{JobId, Priority, TenantId, Timestamp};
use classes::Classes;
use clock::Clock;
use hall::Hall;
use house::House;
use job::{Job, Place};
use pause::Account;
use settle::Evidence;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The jobs that have not ended, and what they may use.
#[derive(Debug)]
pub struct Scheduler {
    config: Config,
    clock: Clock,
    jobs: BTreeMap<JobId, Job>,
    hall: Hall,
    house: House,
    classes: Classes,
    account: Account,
    /// By the end of the delay.
    delays: BTreeSet<(Timestamp, JobId)>,
    /// By the end of the lease, or by when to ask again. Each holds a slot.
    leases: BTreeSet<(Timestamp, JobId)>,
    /// By their end.
    demotions: BTreeSet<(Timestamp, TenantId)>,
    next_order: u64,
    effects: VecDeque<Effect>,
    /// Jobs whose rows are out of date.
    changed: BTreeSet<JobId>,
    demoted: VecDeque<(TenantId, Demoted)>,
}

impl Scheduler {
    /// A scheduler that has never seen a job, and takes all buckets for full.
    #[must_use]
    pub fn new(config: Config, now: Timestamp) -> Self {
        Self {
            config,
            clock: Clock::new(now),
            jobs: BTreeMap::new(),
            hall: Hall::default(),
            house: House::default(),
            classes: Classes::default(),
            account: Account::default(),
            delays: BTreeSet::new(),
            leases: BTreeSet::new(),
            demotions: BTreeSet::new(),
            next_order: 0,
            effects: VecDeque::new(),
            changed: BTreeSet::new(),
            demoted: VecDeque::new(),
        }
    }

    /// Takes a job in. Places that were held in its name are given back: it has
    /// one of its own now. Submitting a known job again changes nothing.
    pub fn submit(&mut self, submission: Submission, now: Timestamp) -> Submitted {
        self.look(now);
        self.vacate(&submission.tenant, submission.job);
        if self.jobs.contains_key(&submission.job) {
            return Submitted::AlreadyKnown;
        }
        let order = self.next_order;
        self.next_order = order.saturating_add(1);
        self.enter(submission, order)
    }

    /// Ends a job by its owner's wish, or because it is known to have ended.
    /// One that is under way keeps its slot and tokens until its attempt is
    /// settled, and is not tried again. Says whether the job was known.
    pub fn cancel(&mut self, job: JobId, now: Timestamp) -> bool {
        self.look(now);
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

    /// Looks at the clock, and does no more than forget what has lapsed.
    pub fn see(&mut self, now: Timestamp) {
        self.look(now);
    }

    /// Whether the job was canceled while its attempt was under way.
    #[must_use]
    pub fn was_canceled(&self, job: JobId) -> bool {
        let place = self.jobs.get(&job).map(|job| &job.place);
        matches!(place, Some(Place::Leased(lease)) if lease.canceled)
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

    /// The numbers of now.
    #[must_use]
    pub fn state(&self) -> State {
        let paused = self.account.paused();
        State {
            waiting: PerPriority::by(|rank| self.waiting(rank)),
            delayed: self.delays.len(),
            running: self.leases.len(),
            slots: self.config.slots,
            depth: self.depth(),
            capacity: self.config.admission.capacity,
            demoted: self.demotions.len(),
            paused: paused.map(|Paused { fault, until }| Paused {
                fault,
                until: self.clock.on_the_wall(until),
            }),
        }
    }

    /// How many places in line were looked at, moved or made so far: what a
    /// decision costs, whatever the machine.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let tiers = self.classes.table.iter().flat_map(|(_, class)| class.order.tiers.all());
        tiers.map(|tier| tier.steps).sum()
    }

    /// Looks at the clock. Lanes that were idle for long are forgotten before
    /// anything else can see them.
    fn look(&mut self, now: Timestamp) -> Timestamp {
        let now = self.clock.see(now);
        self.hall.see_day(now);
        self.end_holds(now);
        self.leave_line(now);
        while let Some(lane) = self.hall.forget(now) {
            if let Some(class) = self.classes.get_mut(lane.class) {
                class.order.close(&lane);
            }
            self.classes.touch(lane.class);
            self.classes.forget(lane.class, &self.config, now);
        }
        now
    }

    fn waiting(&self, rank: Priority) -> usize {
        let orders = self.classes.table.iter().map(|(_, class)| &class.order);
        orders.map(|order| order.tiers.get(rank).waiting + order.parking.len(rank)).sum()
    }
}
