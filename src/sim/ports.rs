//! The pipeline's ports, as one process sees them.
use super::chance::number_of;
use super::faults::{Fault, Op};
use super::stage::{Happening, Poison, Process};
use super::upstream::AnswerBody;
use super::world::Inner;
use crate::claude::CallFailure;
use crate::domain::{Entropy, Queue, Span, Timestamp};
use crate::pipeline::ports::{
    Ambient, Call, Claude, Database, Notifier, ObjectMeta, Objects, PortError, PortResult, Queues,
    Reply, Rows, Statement, Upload, Written,
};
use std::{fmt, panic, rc::Rc};

/// The ports of a process.
#[derive(Clone)]
pub(super) struct Ports {
    world: Rc<Inner>,
    process: Process,
}

impl Ports {
    pub(super) fn new(world: &Rc<Inner>, process: Process) -> Self {
        Self { world: Rc::clone(world), process }
    }

    pub(super) fn world(&self) -> &Rc<Inner> {
        &self.world
    }

    /// Asks a port: there, perhaps a fault, and back.
    async fn ask<T>(
        &self,
        op: Op,
        what: impl fmt::Debug,
        act: impl FnOnce(&Rc<Inner>) -> PortResult<T>,
    ) -> PortResult<T> {
        self.ask_and_wait(op, what, async |world: &Rc<Inner>| act(world)).await
    }

    /// Asks for what takes its time.
    pub(super) async fn ask_and_wait<T>(
        &self,
        op: Op,
        what: impl fmt::Debug,
        act: impl AsyncFnOnce(&Rc<Inner>) -> PortResult<T>,
    ) -> PortResult<T> {
        self.travel().await;
        let fault = self.fault(op);
        self.world.tell(self.process, || format!("{op:?} {fault:?} {what:?}"));
        let answer = match fault {
            Some(Fault::Undone) => Err(away(op)),
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::Unreported) => act(&self.world).await.and(Err(cut_off(op))),
            Some(Fault::DiesAfter) => {
                let _ = act(&self.world).await;
                self.die().await
            }
            Some(Fault::Panics) => poisoned(),
            None => act(&self.world).await,
        };
        self.world.ledger.borrow_mut().answered(self.process, op, answer.is_ok());
        self.travel().await;
        answer
    }

    /// Asks for what takes no time, and can be done only.
    pub(super) fn at_once(
        &self,
        op: Op,
        what: impl fmt::Debug,
        act: impl FnOnce(&Inner),
    ) -> PortResult<()> {
        let fault = self.fault(op);
        self.world.tell(self.process, || format!("{op:?} {fault:?} {what:?}"));
        if matches!(fault, None | Some(Fault::Unreported | Fault::DiesAfter)) {
            act(&self.world);
        }
        match fault {
            None => Ok(()),
            Some(Fault::Undone) => Err(away(op)),
            Some(Fault::Unreported) => Err(cut_off(op)),
            // It goes no further than its next await.
            Some(Fault::DiesBefore | Fault::DiesAfter) => {
                self.world.stage.kill(self.process);
                Err(cut_off(op))
            }
            Some(Fault::Panics) => poisoned(),
        }
    }

    pub(super) fn fault(&self, op: Op) -> Option<Fault> {
        let world = &self.world;
        world.faults.borrow_mut().next(self.process, op, world.stage.now(), &world.chance)
    }

    /// The process ends here.
    pub(super) async fn die<T>(&self) -> T {
        self.world.stage.kill(self.process);
        std::future::pending().await
    }

    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        self.world.tell(self.process, what);
    }

    pub(super) async fn travel(&self) {
        let stalls = self.world.chance.happens(self.world.stalls.get());
        let most = if stalls { STALL } else { SLOWEST };
        let span = self.world.chance.between(Span::from_millis(1), most);
        self.world.stage.pause(span).await;
    }
}

impl Ambient for Ports {
    fn now(&self) -> Timestamp {
        let skew = self.world.skew.get();
        let ahead = number_of(&format!("{:?}", self.process)) % (2 * skew.as_millis() + 1);
        let now = self.world.stage.now() + Span::from_millis(ahead);
        Timestamp::from_millis(now.as_millis().saturating_sub(skew.as_millis()))
    }

    fn chance(&self) -> Entropy {
        self.world.chance.draw()
    }

    async fn pause(&self, span: Span) {
        self.world.stage.pause(span).await;
    }
}

fn away(op: Op) -> PortError {
    PortError::Unavailable(format!("{op:?} is away"))
}

fn cut_off(op: Op) -> PortError {
    PortError::Unavailable(format!("{op:?} was cut off"))
}

/// Panics as asked, without a word.
pub(super) fn poisoned() -> ! {
    panic::resume_unwind(Box::new(Poison))
}

/// A statement in a trace.
struct Told<'a>(&'a Statement);

impl fmt::Debug for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.0.sql.split_whitespace().next().unwrap_or_default();
        write!(f, "{verb} {:?}", self.0.values)
    }
}

impl Database for Ports {
    async fn batch(&self, statements: Vec<Statement>) -> PortResult<Vec<Rows>> {
        let told: Vec<_> = statements.iter().map(Told).collect();
        self.ask(Op::Sql, told, |world| world.database.batch(&statements)).await
    }
}

impl Objects for Ports {
    type Upload = OpenUpload;

    async fn put_new(&self, key: &str, body: &[u8], meta: ObjectMeta) -> PortResult<Written> {
        self.ask(Op::Put, key, |world| world.bucket.borrow_mut().put_new(key, body, meta)).await
    }

    async fn head(&self, key: &str) -> PortResult<Option<Vec<(String, String)>>> {
        let custom = |world: &Rc<Inner>| {
            Ok(world.bucket.borrow().get(key).map(|object| object.custom.clone()))
        };
        self.ask(Op::Head, key, custom).await
    }

    async fn begin_upload(&self, key: &str, content_type: &'static str) -> PortResult<OpenUpload> {
        let id = self.world.stage.number();
        let begin = |world: &Rc<Inner>| {
            world.bucket.borrow_mut().begin(id, key, content_type);
            Ok(())
        };
        self.ask(Op::Upload, key, begin).await?;
        Ok(OpenUpload { ports: self.clone(), id, parts: 0 })
    }

    async fn delete(&self, keys: Vec<String>) -> PortResult<()> {
        let delete = |world: &Rc<Inner>| {
            world.bucket.borrow_mut().delete(&keys);
            Ok(())
        };
        self.ask(Op::Delete, &keys, delete).await
    }
}

/// An upload in parts.
pub(super) struct OpenUpload {
    ports: Ports,
    id: u64,
    parts: usize,
}

impl Upload for OpenUpload {
    async fn part(&mut self, body: &[u8]) -> PortResult<()> {
        let (id, number) = (self.id, self.parts);
        let store = |world: &Rc<Inner>| world.bucket.borrow_mut().part(id, number, body);
        self.ports.ask(Op::Upload, "part", store).await?;
        self.parts += 1;
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        let id = self.id;
        let complete = |world: &Rc<Inner>| world.bucket.borrow_mut().complete(id);
        self.ports.ask(Op::Upload, "complete", complete).await
    }

    async fn abort(&mut self) -> PortResult<()> {
        let id = self.id;
        let abort = |world: &Rc<Inner>| world.bucket.borrow_mut().abort(id);
        self.ports.ask(Op::Upload, "abort", abort).await
    }
}

impl Queues for Ports {
    async fn send(&self, queue: Queue, bodies: Vec<String>) -> PortResult<()> {
        let told = bodies.clone();
        let send = |world: &Rc<Inner>| {
            for body in bodies {
                let copies = 1 + u32::from(world.chance.happens(world.duplicates.get()));
                for _ in 0..copies {
                    let late = world.chance.happens(world.stalls.get());
                    let most = if late { LATEST } else { SLOWEST };
                    let at = world.due(world.chance.between(Span::ZERO, most));
                    world.lines.borrow_mut().put(queue, at, body.clone());
                    world.stage.schedule(at.0, Happening::Deliver(queue));
                }
            }
            Ok(())
        };
        self.ask(Op::Send, told, send).await
    }
}

impl Claude for Ports {
    type Body = AnswerBody;

    async fn call(&self, call: Call) -> Result<Reply<AnswerBody>, CallFailure> {
        self.world.upstream.call(self, call).await
    }
}

impl Notifier for Ports {
    fn notify(&self, event: String) {
        self.world.ledger.borrow_mut().notified(&event);
    }
}

/// The longest way to a port.
const SLOWEST: Span = Span::from_millis(20);
/// The longest way when it stalls: what the shell waits for D1.
const STALL: Span = Span::from_secs(15);
/// The longest way of a message that is late.
const LATEST: Span = Span::from_secs(120);
