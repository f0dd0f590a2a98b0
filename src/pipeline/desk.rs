//! The scheduler object at work.
//!
//! ```text
//! submit · settle · sweep · wake
//!   └▶ turn ─ apply ─▶ take_turn ─▶ write ─▶ back into memory     no await
//!        ├▶ errands: messages ─▶ queues, leases ─▶ settlements    beside it
//!        └▶ alarm
//! ```
//! Whoever takes a turn takes the scheduler out of memory, and puts it back
//! when all is written down. After a failed write or a panic it is not there,
//! and the next turn reads it from storage again. What a turn decided is
//! carried out afterwards; if the object dies before that, leases end by
//! themselves and are reconciled.
mod door;
mod errands;
mod ports;
mod waiters;

pub use ports::{Alarm, DeskPorts, DeskStore};

use super::ports::{Ambient, PortResult};
use super::store::Lease;
use super::sweep::stretch;
use super::turn::{Outbox, take_turn};
use crate::domain::{JobId, Span, Timestamp};
use crate::scheduler::{Scheduler, Settlement, State, Submission, WaitingFor};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use waiters::Waiters;

/// What the object has in memory, over its ports.
pub struct Desk<P> {
    ports: P,
    /// Read from storage when it is not here.
    scheduler: RefCell<Option<Scheduler>>,
    outbox: RefCell<Outbox>,
    sending: Cell<bool>,
    /// When the alarm will ring, as far as this instance knows.
    armed: Cell<Option<Timestamp>>,
    waiters: Waiters,
}

impl<P: DeskPorts> Desk<P> {
    /// An instance of the object, new or come back.
    pub fn open(ports: P) -> Rc<Self> {
        Rc::new(Self {
            ports,
            scheduler: RefCell::default(),
            outbox: RefCell::default(),
            sending: Cell::new(false),
            armed: Cell::new(None),
            waiters: Waiters::default(),
        })
    }

    /// What it reaches the world by.
    pub const fn ports(&self) -> &P {
        &self.ports
    }

    /// Puts jobs in line. Jobs it knows already are left as they are.
    ///
    /// # Errors
    ///
    /// The storage failed; whether the jobs are in line is not known.
    pub async fn submit(self: &Rc<Self>, jobs: Vec<Submission>) -> PortResult<()> {
        let submit = |scheduler: &mut Scheduler, now| {
            for job in jobs {
                scheduler.submit(job, now);
            }
        };
        self.turn(submit).await.map(drop)
    }

    /// Takes note of how attempts ended.
    ///
    /// # Errors
    ///
    /// The storage failed; whether it was noted is not known.
    pub async fn settle(self: &Rc<Self>, settlements: Vec<Settlement>) -> PortResult<()> {
        let chances: Vec<_> = settlements.iter().map(|_| self.shared().chance()).collect();
        let jobs: Vec<_> = settlements.iter().map(|settlement| settlement.job).collect();
        let settle = |scheduler: &mut Scheduler, now| {
            for (settlement, chance) in settlements.into_iter().zip(chances) {
                scheduler.settle(settlement, now, chance);
            }
        };
        self.turn(settle).await?;
        self.call_waiters(&jobs)
    }

    /// Looks at a stretch of D1's unfinished jobs for any the scheduler does
    /// not know, and removes what is old. Also a heartbeat, should an alarm
    /// ever be lost.
    ///
    /// # Errors
    ///
    /// A store failed; the next sweep goes on from here, or from the next
    /// stretch.
    pub async fn sweep(self: &Rc<Self>) -> PortResult<()> {
        self.armed.set(None);
        let cursor = self.ports.note(CURSOR)?.and_then(|cursor| cursor.parse().ok());
        let swept = stretch(self.shared(), cursor).await?;
        let next = swept.cursor.map(|job| job.to_string()).unwrap_or_default();
        self.ports.set_note(CURSOR, &next)?;
        let submitted = self.submit(swept.jobs).await;
        self.retire().await;
        submitted
    }

    /// The alarm. It is armed anew before anything else, so that no failure
    /// below can be the last thing that happens.
    ///
    /// # Errors
    ///
    /// The storage or the alarm failed: it is to ring again.
    pub async fn wake(self: &Rc<Self>) -> PortResult<()> {
        self.arm_at(self.shared().now() + HEARTBEAT).await?;
        if self.turn(|_, _| ()).await?.is_none() {
            self.armed.set(None);
            self.ports.disarm().await?;
        }
        Ok(())
    }

    /// The scheduler's numbers of now.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn state(self: &Rc<Self>) -> PortResult<State> {
        self.look(|scheduler, now| {
            scheduler.see(now);
            scheduler.state()
        })
    }

    /// What a job waits for; `None` if it does not wait here.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn explain(self: &Rc<Self>, job: JobId) -> PortResult<Option<WaitingFor>> {
        self.look(|scheduler, now| scheduler.explain(job, now))
    }

    /// Looks, without a turn: what changes may be lost with the memory.
    fn look<T>(self: &Rc<Self>, at: impl FnOnce(&mut Scheduler, Timestamp) -> T) -> PortResult<T> {
        let now = self.shared().now();
        let mut scheduler = self.take(now)?;
        let seen = at(&mut scheduler, now);
        self.scheduler.replace(Some(scheduler));
        Ok(seen)
    }

    /// One turn; returns when the scheduler wants the next at the latest.
    async fn turn(
        self: &Rc<Self>,
        act: impl FnOnce(&mut Scheduler, Timestamp),
    ) -> PortResult<Option<Timestamp>> {
        let wake = self.decide(act)?;
        self.arm(wake).await?;
        Ok(wake)
    }

    /// All of a turn that must not be interrupted: no other request can see
    /// half of it, and what it writes is committed as one.
    fn decide(
        self: &Rc<Self>,
        act: impl FnOnce(&mut Scheduler, Timestamp),
    ) -> PortResult<Option<Timestamp>> {
        let now = self.shared().now();
        let mut scheduler = self.take(now)?;
        act(&mut scheduler, now);
        let turn = take_turn(&mut scheduler, now);
        if cfg!(debug_assertions) {
            scheduler.assert_consistent();
        }
        self.ports.write(&turn)?;
        self.scheduler.replace(Some(scheduler));
        let wake = turn.wake;
        self.carry_out(turn);
        Ok(wake)
    }

    /// The scheduler, out of memory or out of storage.
    fn take(self: &Rc<Self>, now: Timestamp) -> PortResult<Scheduler> {
        if let Some(scheduler) = self.scheduler.take() {
            return Ok(scheduler);
        }
        let (snapshot, rows) = (self.ports.note(SNAPSHOT)?, self.ports.rows()?);
        let scheduler = Scheduler::restore(self.ports.config(), snapshot.as_deref(), rows, now);
        self.end_leases_of_another_boot(&scheduler)?;
        Ok(scheduler)
    }

    /// Where consumers live and die with this process (a development machine),
    /// the leases of an earlier boot are known to be dead.
    fn end_leases_of_another_boot(self: &Rc<Self>, scheduler: &Scheduler) -> PortResult<()> {
        let Some(boot) = self.ports.boot() else { return Ok(()) };
        if self.ports.note(BOOT)?.as_deref() != Some(boot.as_str()) {
            self.ports.set_note(BOOT, &boot)?;
            self.look_after(scheduler.under_way().map(Lease::from).collect());
        }
        Ok(())
    }

    async fn arm(&self, wake: Option<Timestamp>) -> PortResult<()> {
        let now = self.shared().now();
        let wake = wake.map(|wake| wake.max(now + LULL));
        match (wake, self.armed.get()) {
            (Some(wake), Some(armed)) if now < armed && armed <= wake => Ok(()),
            (Some(wake), _) => self.arm_at(wake).await,
            (None, _) => Ok(()),
        }
    }

    async fn arm_at(&self, at: Timestamp) -> PortResult<()> {
        self.armed.set(Some(at));
        let armed = self.ports.arm_at(at).await;
        if armed.is_err() {
            // Whether it will ring is not known: the next turn tries again.
            self.armed.set(None);
        }
        armed
    }

    fn shared(&self) -> &P::Shared {
        self.ports.shared()
    }
}

/// The note that [`DeskStore::write`] keeps a turn's snapshot in.
pub const SNAPSHOT: &str = "snapshot";
const CURSOR: &str = "cursor";
const BOOT: &str = "boot";

/// Wake-ups that would fall closer together share one: tokens that flow in
/// meanwhile are not lost, the buckets hold a minute's worth.
const LULL: Span = Span::from_millis(20);

/// How long the object may sleep while jobs wait for something.
const HEARTBEAT: Span = Span::from_secs(30);
