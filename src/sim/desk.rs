//! The scheduler object's turns, taken and carried out as
//! `cloudflare/desk.rs` does.
use super::object::{Memory, Storage};
use super::ports::Ports;
use super::stage::{Happening, Process};
use super::world::Inner;
use crate::domain::{Span, Timestamp};
use crate::pipeline::ports::{Ambient, Queues};
use crate::pipeline::reconcile::{reconcile, withdraw};
use crate::pipeline::store::Lease;
use crate::pipeline::sweep::stretch;
use crate::pipeline::turn::{Turn, take_turn};
use crate::scheduler::{Config, Scheduler, Settlement, Submission};
use std::rc::Rc;

/// The object, at work.
#[derive(Clone)]
pub(super) struct Desk {
    ports: Ports,
    memory: Rc<Memory>,
}

impl Desk {
    pub(super) fn open(world: &Rc<Inner>) -> Self {
        let ports = Ports::new(world, Process::Object);
        Self { ports, memory: world.object.memory() }
    }

    pub(super) fn submit(&self, jobs: Vec<Submission>) {
        self.turn(|scheduler, now| {
            for job in jobs {
                scheduler.submit(job, now);
            }
        });
    }

    pub(super) fn settle(&self, settlements: Vec<Settlement>) {
        let chances: Vec<_> = settlements.iter().map(|_| self.ports.chance()).collect();
        self.turn(|scheduler, now| {
            for (settlement, chance) in settlements.into_iter().zip(chances) {
                scheduler.settle(settlement, now, chance);
            }
        });
    }

    /// Looks at a stretch of D1's unfinished jobs for any the scheduler does
    /// not know.
    pub(super) async fn sweep(self) {
        self.memory.armed.set(None);
        let cursor = self.storage().note(CURSOR).and_then(|cursor| cursor.parse().ok());
        if let Ok(swept) = stretch(&self.ports, cursor).await {
            let next = swept.cursor.map(|job| job.to_string()).unwrap_or_default();
            self.storage().set_note(CURSOR, next);
            self.submit(swept.jobs);
        }
    }

    /// The alarm.
    pub(super) fn wake(&self) {
        self.arm_at(self.ports.now() + HEARTBEAT);
        if self.turn(|_, _| ()).is_none() {
            self.memory.armed.set(None);
            self.storage().alarm.set(None);
        }
    }

    /// Looks at the scheduler.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Scheduler) -> T) -> T {
        let scheduler = self.take(self.ports.now());
        let seen = at(&scheduler);
        self.memory.scheduler.replace(Some(scheduler));
        seen
    }

    /// One turn; returns when the scheduler wants the next at the latest.
    fn turn(&self, act: impl FnOnce(&mut Scheduler, Timestamp)) -> Option<Timestamp> {
        let now = self.ports.now();
        let mut scheduler = self.take(now);
        act(&mut scheduler, now);
        let turn = take_turn(&mut scheduler, now);
        scheduler.assert_consistent();
        self.ports.tell(|| format!("turn {:?} {:?}", turn.changes, turn.outbox));
        self.storage().write(&turn);
        self.memory.scheduler.replace(Some(scheduler));
        let wake = turn.wake;
        self.carry_out(turn);
        self.arm(wake);
        wake
    }

    /// The scheduler, out of memory or out of storage.
    fn take(&self, now: Timestamp) -> Scheduler {
        if let Some(scheduler) = self.memory.scheduler.take() {
            return scheduler;
        }
        let world = self.ports.world();
        let credentials = world.upstream.credentials();
        let config = Config { credentials, ..world.settings.scheduler };
        let snapshot = self.storage().note(SNAPSHOT);
        Scheduler::restore(config, snapshot.as_deref(), self.storage().rows(), now)
    }

    fn carry_out(&self, turn: Turn) {
        self.look_after(turn.reconcile);
        self.memory.outbox.borrow_mut().append(turn.outbox);
        if self.memory.outbox.borrow().is_empty() || self.memory.sending.replace(true) {
            return;
        }
        self.spawn(self.clone().send());
    }

    async fn send(self) {
        loop {
            let outbox = self.memory.outbox.take();
            if outbox.is_empty() {
                self.memory.sending.set(false);
                return;
            }
            for (queue, bodies) in outbox.bodies() {
                if bodies.is_empty() {
                    continue;
                }
                if self.ports.send(queue, bodies).await.is_err() {
                    // Whether they were taken is not known: D1 decides.
                    self.take_back(outbox.leases(queue));
                }
            }
        }
    }

    fn take_back(&self, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = self.clone();
        self.spawn(async move {
            if let Ok(settlements) = withdraw(&desk.ports, &leases).await {
                desk.settle(settlements);
            }
        });
    }

    /// Finds out how leases ended, and settles them.
    fn look_after(&self, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = self.clone();
        self.spawn(async move {
            if let Ok(settlements) = reconcile(&desk.ports, &leases).await {
                desk.settle(settlements);
            }
        });
    }

    fn arm(&self, wake: Option<Timestamp>) {
        let now = self.ports.now();
        match (wake, self.memory.armed.get()) {
            (Some(wake), Some(armed)) if now < armed && armed <= wake => {}
            (Some(wake), _) => self.arm_at(wake.max(now)),
            (None, _) => {}
        }
    }

    fn arm_at(&self, at: Timestamp) {
        self.memory.armed.set(Some(at));
        let stage = &self.ports.world().stage;
        let number = stage.number();
        // An offset, as the shell has it: the object's clock may be off.
        let rings = stage.now() + at.since(self.ports.now());
        self.storage().alarm.set(Some((rings, number)));
        stage.schedule(rings, Happening::Alarm(number));
    }

    fn storage(&self) -> &Storage {
        &self.ports.world().object.storage
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.ports.world().stage.spawn(Process::Object, task);
    }
}

const SNAPSHOT: &str = "snapshot";
const CURSOR: &str = "cursor";

/// How long the object may sleep while jobs wait for something.
const HEARTBEAT: Span = Span::from_secs(30);
