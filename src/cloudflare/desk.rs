//! Where the scheduler object's turns are taken and carried out.
use super::fault;
use super::scheduler_rows::SchedulerRows;
use super::shell::Shell;
use crate::domain::{Span, Timestamp};
use crate::pipeline::ports::{Ambient, Queues};
use crate::pipeline::reconcile::{reconcile, withdraw};
use crate::pipeline::settings::fingerprint;
use crate::pipeline::store::Lease;
use crate::pipeline::sweep::stretch;
use crate::pipeline::turn::{Outbox, Turn, take_turn};
use crate::scheduler::{Config, Scheduler, Settlement, Submission};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use worker::{Response, Result, ScheduledTime, State};

pub(super) struct Desk {
    state: Rc<State>,
    shell: Shell,
    rows: SchedulerRows,
    /// Read from storage when it is not here.
    scheduler: RefCell<Option<Scheduler>>,
    outbox: RefCell<Outbox>,
    sending: Cell<bool>,
    /// When the alarm will ring, as far as this instance knows.
    armed: Cell<Option<Timestamp>>,
    panic_at_alarm: Cell<bool>,
}

impl Desk {
    pub(super) fn open(state: Rc<State>, shell: Shell) -> Result<Self> {
        let rows = SchedulerRows::open(state.storage().sql())?;
        Ok(Self {
            state,
            shell,
            rows,
            scheduler: RefCell::default(),
            outbox: RefCell::default(),
            sending: Cell::new(false),
            armed: Cell::new(None),
            panic_at_alarm: Cell::new(false),
        })
    }

    pub(super) async fn submit(self: &Rc<Self>, jobs: Vec<Submission>) -> Result<Response> {
        self.turn(|scheduler, now| {
            for job in jobs {
                scheduler.submit(job, now);
            }
        })
        .await?;
        Response::ok("")
    }

    pub(super) async fn settle(self: &Rc<Self>, settlements: Vec<Settlement>) -> Result<Response> {
        self.apply(settlements).await?;
        Response::ok("")
    }

    /// Looks at a stretch of D1's unfinished jobs for any the scheduler does
    /// not know. Also a heartbeat, should an alarm ever be lost.
    pub(super) async fn sweep(self: &Rc<Self>) -> Result<Response> {
        self.armed.set(None);
        let cursor = self.rows.note(CURSOR)?.and_then(|cursor| cursor.parse().ok());
        let swept = match stretch(&self.shell, cursor).await {
            Ok(swept) => swept,
            Err(error) => return Response::error(error.to_string(), 503),
        };
        let next = swept.cursor.map(|job| job.to_string()).unwrap_or_default();
        self.rows.set_note(CURSOR, &next)?;
        self.submit(swept.jobs).await
    }

    pub(super) fn state(self: &Rc<Self>) -> Result<Response> {
        let now = self.shell.now();
        let scheduler = self.take(now)?;
        let state = scheduler.state();
        self.scheduler.replace(Some(scheduler));
        Response::from_json(&state)
    }

    /// The alarm. It is armed anew before anything else, so that no failure
    /// below can be the last thing that happens.
    pub(super) async fn wake(self: &Rc<Self>) -> Result<Response> {
        self.arm_at(self.shell.now() + HEARTBEAT).await?;
        if self.panic_at_alarm.take() {
            fault::now("alarm");
        }
        if self.turn(|_, _| ()).await?.is_none() {
            self.armed.set(None);
            self.state.storage().delete_alarm().await?;
        }
        Response::ok("")
    }

    pub(super) fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Panics where asked: in a turn, or at the next alarm, which is armed.
    pub(super) async fn panic_at(self: &Rc<Self>, place: &str) -> Result<Response> {
        if place == "alarm" {
            self.panic_at_alarm.set(true);
            self.arm_at(self.shell.now()).await?;
        } else {
            self.turn(|_, _| fault::now("turn")).await?;
        }
        Response::ok("")
    }

    async fn apply(self: &Rc<Self>, settlements: Vec<Settlement>) -> Result<Option<Timestamp>> {
        let chances: Vec<_> = settlements.iter().map(|_| self.shell.chance()).collect();
        self.turn(|scheduler, now| {
            for (settlement, chance) in settlements.into_iter().zip(chances) {
                scheduler.settle(settlement, now, chance);
            }
        })
        .await
    }

    /// One turn; returns when the scheduler wants the next at the latest.
    /// Everything up to the last line happens without an await.
    async fn turn(
        self: &Rc<Self>,
        act: impl FnOnce(&mut Scheduler, Timestamp),
    ) -> Result<Option<Timestamp>> {
        let now = self.shell.now();
        let mut scheduler = self.take(now)?;
        act(&mut scheduler, now);
        let turn = take_turn(&mut scheduler, now);
        self.rows.write(&turn)?;
        self.scheduler.replace(Some(scheduler));
        let wake = turn.wake;
        self.carry_out(turn);
        self.arm(wake).await?;
        Ok(wake)
    }

    /// The scheduler, out of memory or out of storage. Whoever took it puts it
    /// back when all went well.
    fn take(self: &Rc<Self>, now: Timestamp) -> Result<Scheduler> {
        if let Some(scheduler) = self.scheduler.take() {
            return Ok(scheduler);
        }
        let key = self.shell.variable("ANTHROPIC_API_KEY").unwrap_or_default();
        let config = Config { credentials: fingerprint(&key), ..self.shell.settings.scheduler };
        let snapshot = self.rows.note(SNAPSHOT)?;
        let scheduler = Scheduler::restore(config, snapshot.as_deref(), self.rows.jobs()?, now);
        self.end_leases_of_another_boot(&scheduler)?;
        Ok(scheduler)
    }

    /// Where consumers live and die with this process (a development machine),
    /// the leases of an earlier boot are known to be dead.
    fn end_leases_of_another_boot(self: &Rc<Self>, scheduler: &Scheduler) -> Result<()> {
        let Some(boot) = self.shell.variable("BOOT_ID") else { return Ok(()) };
        if self.rows.note(BOOT)?.as_deref() != Some(boot.as_str()) {
            self.rows.set_note(BOOT, &boot)?;
            self.look_after(scheduler.under_way().map(Lease::from).collect());
        }
        Ok(())
    }

    fn carry_out(self: &Rc<Self>, turn: Turn) {
        self.look_after(turn.reconcile);
        self.outbox.borrow_mut().append(turn.outbox);
        if self.outbox.borrow().is_empty() || self.sending.replace(true) {
            return;
        }
        let desk = Rc::clone(self);
        self.state.wait_until(async move {
            let _idle = Idle(&desk.sending);
            desk.send().await;
        });
    }

    /// Sends until the outbox is empty. What turns decide meanwhile goes out
    /// with the next batch.
    async fn send(self: &Rc<Self>) {
        loop {
            let outbox = self.outbox.take();
            if outbox.is_empty() {
                return;
            }
            for (queue, bodies) in outbox.bodies() {
                if bodies.is_empty() {
                    continue;
                }
                if let Err(error) = self.shell.send(queue, bodies).await {
                    worker::console_error!("{} did not take its messages: {error}", queue.name());
                    // Whether they were taken is not known: D1 decides.
                    self.take_back(outbox.leases(queue));
                }
            }
        }
    }

    /// Takes back the leases of messages that were not sent. What runs all the
    /// same keeps its lease.
    fn take_back(self: &Rc<Self>, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = Rc::clone(self);
        self.state.wait_until(async move {
            let settled = match withdraw(&desk.shell, &leases).await {
                Ok(settlements) => {
                    desk.apply(settlements).await.map(drop).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = settled {
                worker::console_warn!("{} unsent leases stay open: {error}", leases.len());
            }
        });
    }

    /// Finds out how leases ended, and settles them. If a store is away the
    /// scheduler asks again later.
    fn look_after(self: &Rc<Self>, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = Rc::clone(self);
        self.state.wait_until(async move {
            let settled = match reconcile(&desk.shell, &leases).await {
                Ok(settlements) => {
                    desk.apply(settlements).await.map(drop).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = settled {
                worker::console_warn!("{} leases stay open: {error}", leases.len());
            }
        });
    }

    async fn arm(&self, wake: Option<Timestamp>) -> Result<()> {
        let now = self.shell.now();
        match (wake, self.armed.get()) {
            (Some(wake), Some(armed)) if now < armed && armed <= wake => Ok(()),
            (Some(wake), _) => self.arm_at(wake.max(now)).await,
            (None, _) => Ok(()),
        }
    }

    async fn arm_at(&self, at: Timestamp) -> Result<()> {
        self.armed.set(Some(at));
        let after = i64::try_from(at.since(self.shell.now()).as_millis()).unwrap_or(i64::MAX);
        self.state.storage().set_alarm(ScheduledTime::from(after)).await
    }
}

/// Clears the flag even if sending panics.
struct Idle<'a>(&'a Cell<bool>);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

const SNAPSHOT: &str = "snapshot";
const CURSOR: &str = "cursor";
const BOOT: &str = "boot";

/// How long the object may sleep while jobs wait for something.
const HEARTBEAT: Span = Span::from_secs(30);
