//! The world and its verbs.
#![allow(clippy::must_use_candidate, reason = "verbs: what they tell is not always needed")]
use super::bucket::{Bucket, StoredObject};
use super::chance::Chance;
use super::database::Sqlite;
use super::faults::Faults;
use super::ledger::Ledger;
use super::lines::Lines;
use super::object::Object;
use super::stage::{Happening, Process, Stage};
use super::upstream::Upstream;
use crate::domain::{JobId, JobStatus, Priority, Queue, Span, Timestamp};
use crate::pipeline::settings::Settings;
use crate::pipeline::upload::Permits;
use crate::scheduler::State;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Everything there is.
pub(super) struct Inner {
    pub(super) stage: Rc<Stage>,
    pub(super) chance: Chance,
    pub(super) faults: RefCell<Faults>,
    pub(super) database: Sqlite,
    pub(super) bucket: RefCell<Bucket>,
    pub(super) lines: RefCell<Lines>,
    pub(super) object: Object,
    pub(super) upstream: Upstream,
    pub(super) ledger: RefCell<Ledger>,
    pub(super) settings: Settings,
    pub(super) permits: Permits,
    /// How many messages in a thousand come twice.
    pub(super) duplicates: Cell<u32>,
    /// How many ways in a thousand take long.
    pub(super) stalls: Cell<u32>,
    /// How far a process's clock may be from the true time.
    pub(super) skew: Cell<Span>,
    /// `SIM_TRACE`: what is told of as it happens.
    trace: Option<String>,
}

impl Inner {
    /// A place in a calendar, `after` from now.
    pub(super) fn due(&self, after: Span) -> (Timestamp, u64) {
        (self.stage.now() + after, self.stage.number())
    }

    pub(super) fn job(&self, job: JobId) -> Option<JobSeen> {
        let sql = format!("{SEEN} WHERE job_id = ?1");
        let row = self.database.look(&sql, &[&job.to_string()]).ok()?.pop()?;
        serde_json::from_str(&row).ok()
    }

    /// Tells what happened, if it is of the kind that `SIM_TRACE` asks for: a
    /// job's id, a process, an operation.
    pub(super) fn tell(&self, process: Process, what: impl FnOnce() -> String) {
        if let Some(wanted) = &self.trace {
            let line = format!("{} {process:?} {}", self.stage.now(), what());
            if line.contains(wanted) {
                eprintln!("{line}");
            }
        }
    }
}

/// A world in a box.
pub struct World(Rc<Inner>);

/// A job, as D1 has it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct JobSeen {
    /// Its id.
    pub job_id: JobId,
    /// Its status.
    pub status: JobStatus,
    /// Its urgency.
    pub priority: Priority,
    /// Attempts used.
    pub attempts: u32,
    /// The number of the latest lease that was claimed or revoked.
    pub lease: u32,
    /// The latest error.
    pub error_type: Option<String>,
}

impl World {
    /// A world from a seed, with the operator's defaults.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with(seed, &[])
    }

    /// A world with these variables set, as in `wrangler.toml`.
    ///
    /// # Panics
    ///
    /// If one cannot be used.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a test's own settings")]
    pub fn with(seed: u64, variables: &[(&str, &str)]) -> Self {
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        let settings = Settings::read(|name| variables.get(name).map(|value| (*value).to_owned()));
        let settings = settings.expect("settings that can be read");
        let world = Inner {
            stage: Stage::new(BEGINNING),
            chance: Chance::new(seed),
            faults: RefCell::default(),
            database: Sqlite::open().expect("a database with its migrations"),
            bucket: RefCell::default(),
            lines: RefCell::default(),
            object: Object::default(),
            upstream: Upstream::new(settings.scheduler.limits),
            ledger: RefCell::default(),
            settings,
            permits: Permits::new(4),
            duplicates: Cell::new(0),
            stalls: Cell::new(0),
            skew: Cell::new(Span::ZERO),
            trace: std::env::var("SIM_TRACE").ok(),
        };
        world.stage.schedule(BEGINNING + MINUTE, Happening::Sweep);
        Self(Rc::new(world))
    }

    pub(super) fn inner(&self) -> &Rc<Inner> {
        &self.0
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.stage.now()
    }

    /// Lets time pass.
    pub fn run_for(&self, span: Span) {
        let end = self.now() + span;
        while let Some(happening) = self.0.stage.step(end) {
            self.take(happening);
        }
    }

    /// Lets time pass until nothing is left to do, at most for `longest`; says
    /// whether that came to be.
    pub fn run_until_idle(&self, longest: Span) -> bool {
        let end = self.now() + longest;
        while self.now() < end {
            self.run_for(Span::from_secs(1));
            if self.is_idle() {
                return true;
            }
        }
        false
    }

    /// Whether every job has ended, and everyone knows.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let world = &self.0;
        world.stage.tasks() == 0
            && world.lines.borrow().is_empty()
            && world.object.storage.jobs() == 0
            && self.unfinished() == 0
    }

    /// How many jobs have not ended, as D1 has it.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        let rows = self.0.database.look(UNFINISHED, &[]).unwrap_or_default();
        rows.first().and_then(|count| count.parse().ok()).unwrap_or(usize::MAX)
    }

    /// A job, as D1 has it.
    #[must_use]
    pub fn job(&self, job: JobId) -> Option<JobSeen> {
        self.0.job(job)
    }

    /// Every job, as D1 has it.
    #[must_use]
    pub fn all_jobs(&self) -> Vec<JobSeen> {
        let rows = self.0.database.look(SEEN, &[]).unwrap_or_default();
        rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect()
    }

    /// An object in R2.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<StoredObject> {
        self.0.bucket.borrow().get(key).cloned()
    }

    /// The keys of all objects in R2.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.0.bucket.borrow().objects().keys().cloned().collect()
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Sqlite {
        &self.0.database
    }

    /// The scheduler's numbers of now.
    ///
    /// # Panics
    ///
    /// If they cannot be read.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a storage that can always be read")]
    pub fn scheduler(&self) -> State {
        self.0.desk().state().expect("the scheduler's numbers")
    }

    /// Puts a message into a queue, as if it came again.
    pub fn deliver(&self, queue: Queue, body: &str) {
        let at = self.0.due(Span::ZERO);
        self.0.lines.borrow_mut().put(queue, at, body.to_owned());
        self.0.stage.schedule(at.0, Happening::Deliver(queue));
    }

    /// The messages that wait in a queue.
    #[must_use]
    pub fn waiting(&self, queue: Queue) -> Vec<String> {
        self.0.lines.borrow().waiting(queue)
    }

    fn take(&self, happening: Happening) {
        let world = &self.0;
        match happening {
            Happening::Wake(waker) => waker.wake(),
            Happening::Deliver(queue) => world.deliver(queue),
            Happening::Alarm(number) => world.ring(number),
            Happening::Sweep => {
                world.stage.schedule(self.now() + MINUTE, Happening::Sweep);
                world.sweep();
            }
            Happening::Died(Process::Object) => world.object.forget(),
            Happening::Died(Process::Consumer(batch)) => world.redeliver(batch),
            Happening::Died(door) => world.ledger.borrow_mut().died(door),
        }
    }
}

impl Drop for World {
    /// Tasks and the object hold the world, and the world holds them.
    fn drop(&mut self) {
        self.0.stage.clear();
        self.0.object.forget();
    }
}

const BEGINNING: Timestamp = Timestamp::from_millis(1_796_000_000_000);
const MINUTE: Span = Span::from_secs(60);
const UNFINISHED: &str = "SELECT count(*) FROM jobs WHERE status IN ('pending', 'running')";
const SEEN: &str = "
SELECT json_object('job_id', job_id, 'status', status, 'priority', priority,
  'attempts', attempts, 'lease', lease, 'error_type', error_type) FROM jobs";
