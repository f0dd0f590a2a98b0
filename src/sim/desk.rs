//! The scheduler object's desk, in the simulated world: what it reaches the
//! world by, and how the world reaches it.
use super::faults::Op;
use super::ports::Ports;
use super::stage::{Happening, Process};
use super::world::Inner;
use crate::domain::{JobId, Span, Timestamp};
use crate::pipeline::desk::{Alarm, Desk, DeskPorts, DeskStore};
use crate::pipeline::ports::{Admitted, Ambient, PortError, PortResult, SchedulerPort, Vacated};
use crate::pipeline::turn::Turn;
use crate::scheduler::{Config, Row, Settlement, Submission, Wish};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

impl DeskPorts for Ports {
    type Shared = Self;

    fn shared(&self) -> &Self {
        self
    }

    fn config(&self) -> Config {
        let credentials = self.world().upstream.credentials();
        Config { credentials, ..self.world().settings.scheduler }
    }

    fn retention(&self) -> Span {
        self.world().settings.retention
    }

    fn boot(&self) -> Option<String> {
        let boots = self.world().object.boots.get();
        (boots > 0).then(|| boots.to_string())
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.world().stage.spawn(Process::Object, work);
    }

    fn warn(&self, trouble: &str) {
        self.tell(|| trouble.to_owned());
    }
}

/// Reading never fails: a storage that cannot be read lets nobody begin.
impl DeskStore for Ports {
    fn rows(&self) -> PortResult<Vec<Row>> {
        Ok(self.world().object.storage.rows())
    }

    fn write(&self, turn: &Turn) -> PortResult<()> {
        let told = (&turn.changes, &turn.outbox);
        self.at_once(Op::Write, told, |world| world.object.storage.write(turn))
    }

    fn note(&self, name: &str) -> PortResult<Option<String>> {
        Ok(self.world().object.storage.note(name))
    }

    fn set_note(&self, name: &'static str, value: &str) -> PortResult<()> {
        let set = |world: &Inner| world.object.storage.set_note(name, value.to_owned());
        self.at_once(Op::Write, (name, value), set)
    }
}

/// What is asked of the alarm is done at once; it is the answer that travels.
impl Alarm for Ports {
    async fn arm_at(&self, at: Timestamp) -> PortResult<()> {
        let set = |world: &Inner| {
            let number = world.stage.number();
            // An offset, as the platform has it: the object's clock may be off.
            let rings = world.stage.now() + at.since(self.now());
            world.object.storage.alarm.set(Some(number));
            world.stage.schedule(rings, Happening::Alarm(number));
        };
        let armed = self.at_once(Op::Alarm, at, set);
        self.travel().await;
        armed
    }

    async fn disarm(&self) -> PortResult<()> {
        let set = |world: &Inner| world.object.storage.alarm.set(None);
        let disarmed = self.at_once(Op::Alarm, "off", set);
        self.travel().await;
        disarmed
    }
}

impl SchedulerPort for Ports {
    async fn admit(&self, wish: Wish) -> PortResult<Admitted> {
        let told = format!("{wish:?}");
        let wish: Wish = over_the_wire(&wish)?;
        let ask = async move |desk: Rc<Desk<Self>>| over_the_wire(&desk.admit(&wish)?);
        self.ask_desk(Op::Admit, told, ask).await
    }

    async fn vacate(&self, places: Vacated) -> PortResult<()> {
        let told = format!("{places:?}");
        self.ask_desk(Op::Admit, told, async move |desk| desk.vacate(&places)).await
    }

    async fn submit(&self, jobs: Vec<Submission>) -> PortResult<()> {
        let told = format!("{jobs:?}");
        let jobs = over_the_wire(&jobs)?;
        let submit = async move |desk: Rc<Desk<Self>>| desk.submit(jobs).await;
        self.ask_desk(Op::Submit, told, submit).await
    }

    async fn cancel(&self, jobs: Vec<JobId>) -> PortResult<()> {
        let told = format!("{jobs:?}");
        let cancel = async move |desk: Rc<Desk<Self>>| desk.cancel(jobs).await;
        self.ask_desk(Op::Ask, told, cancel).await
    }

    async fn canceled(&self, jobs: Vec<JobId>) -> PortResult<Vec<JobId>> {
        let told = format!("{jobs:?}");
        self.ask_desk(Op::Ask, told, async move |desk| desk.canceled(jobs)).await
    }

    async fn wait(&self, job: JobId, span: Span) -> PortResult<bool> {
        let wait = async move |desk: Rc<Desk<Self>>| desk.wait(job, span).await;
        self.ask_desk(Op::Ask, job, wait).await
    }

    async fn explain(&self, job: JobId) -> PortResult<Option<Box<RawValue>>> {
        let ask = async move |desk: Rc<Desk<Self>>| over_the_wire(&desk.explain(job)?);
        self.ask_desk(Op::Ask, job, ask).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> PortResult<()> {
        let told = format!("{settlements:?}");
        let settlements = over_the_wire(&settlements)?;
        let settle = async move |desk: Rc<Desk<Self>>| desk.settle(settlements).await;
        self.ask_desk(Op::Settle, told, settle).await
    }
}

impl Ports {
    async fn ask_desk<T: 'static>(
        &self,
        op: Op,
        told: impl fmt::Debug,
        work: impl AsyncFnOnce(Rc<Desk<Self>>) -> PortResult<T> + 'static,
    ) -> PortResult<T> {
        self.ask_and_wait(op, told, async |world: &Rc<Inner>| world.request(work).await).await
    }
}

fn over_the_wire<B: Serialize, T: DeserializeOwned>(body: &B) -> PortResult<T> {
    let text = serde_json::to_string(body);
    let read = text.and_then(|text| serde_json::from_str(&text));
    read.map_err(|error| PortError::Refused(error.to_string()))
}

impl Inner {
    pub(super) fn desk(self: &Rc<Self>) -> Rc<Desk<Ports>> {
        self.object.desk(self)
    }

    /// Asks the object. Its work goes on when who asked is gone.
    async fn request<T: 'static>(
        self: &Rc<Self>,
        work: impl AsyncFnOnce(Rc<Desk<Ports>>) -> PortResult<T> + 'static,
    ) -> PortResult<T> {
        let (answer, desk) = (Rc::new(Answer::default()), self.desk());
        let open = Open(Rc::clone(&answer));
        self.stage.spawn(Process::Object, async move {
            let result = work(desk).await;
            open.0.result.set(Some(result));
        });
        let died = || Err(PortError::Unavailable("the object died".to_owned()));
        poll_fn(|context| answer.poll(context)).await.unwrap_or_else(died)
    }

    /// The cron's minute.
    pub(super) fn sweep(self: &Rc<Self>) {
        let desk = self.desk();
        self.stage.spawn(Process::Object, async move { drop(desk.sweep().await) });
    }

    /// An alarm rings, if it is still the one of this number; and again, until
    /// the object has dealt with it or set it anew.
    pub(super) fn ring(self: &Rc<Self>, number: u64) {
        if self.object.storage.alarm.get() != Some(number) {
            return;
        }
        self.stage.schedule(self.stage.now() + RINGS_AGAIN, Happening::Alarm(number));
        let (world, desk) = (Rc::clone(self), self.desk());
        self.stage.spawn(Process::Object, async move {
            let alarm = &world.object.storage.alarm;
            if desk.wake().await.is_ok() && alarm.get() == Some(number) {
                alarm.set(None);
            }
        });
    }
}

/// The answer to a request.
struct Answer<T> {
    result: Cell<Option<PortResult<T>>>,
    ended: Cell<bool>,
    asker: Cell<Option<Waker>>,
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self { result: Cell::default(), ended: Cell::default(), asker: Cell::default() }
    }
}

impl<T> Answer<T> {
    /// Ready without a result if the request ended without an answer.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<PortResult<T>>> {
        if self.ended.get() {
            return Poll::Ready(self.result.take());
        }
        self.asker.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

/// A request under way: it ends in one way or another.
struct Open<T>(Rc<Answer<T>>);

impl<T> Drop for Open<T> {
    fn drop(&mut self) {
        self.0.ended.set(true);
        if let Some(asker) = self.0.asker.take() {
            asker.wake();
        }
    }
}

/// How soon the platform repeats an alarm that failed.
const RINGS_AGAIN: Span = Span::from_secs(2);
