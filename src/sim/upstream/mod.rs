//! A simulated Messages API: true limits, real bytes, faults by script.
mod behaviour;
mod body;
mod reaction;
mod request;
mod tanks;

pub use behaviour::Behaviour;
pub(super) use body::AnswerBody;
pub use reaction::{answer_to, answer_to_pdf};

use super::faults::{Fault, Op};
use super::ports::{Ports, poisoned};
use super::world::Inner;
use crate::claude::CallFailure;
use crate::domain::{Limits, ModelClass, Span, Timestamp};
use crate::pipeline::ports::{Call, Reply};
use crate::pipeline::settings::fingerprint;
use behaviour::Script;
use body::OpenCall;
use reaction::Reaction;
use request::Asked;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use tanks::Tanks;

/// The API.
pub(super) struct Upstream {
    pub(super) script: RefCell<Script>,
    pub(super) limits: Cell<Limits>,
    /// Whether answers tell the limits in their headers.
    pub(super) tells_limits: Cell<bool>,
    /// How long an answer takes, at least and at most.
    pub(super) pace: Cell<(Span, Span)>,
    /// Which key is in use, by number.
    pub(super) key: Cell<u32>,
    /// When it is up again.
    pub(super) down_until: Cell<Timestamp>,
    tanks: RefCell<BTreeMap<ModelClass, Tanks>>,
    open: Rc<Cell<u32>>,
    pub(super) most_open: Cell<u32>,
}

impl Upstream {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            script: RefCell::default(),
            limits: Cell::new(limits),
            tells_limits: Cell::new(true),
            pace: Cell::new((Span::from_millis(300), Span::from_secs(12))),
            key: Cell::new(0),
            down_until: Cell::default(),
            tanks: RefCell::default(),
            open: Rc::default(),
            most_open: Cell::new(0),
        }
    }

    pub(super) fn credentials(&self) -> u64 {
        fingerprint(&self.key.get().to_string())
    }

    pub(super) async fn call(
        &self,
        ports: &Ports,
        call: Call,
    ) -> Result<Reply<AnswerBody>, CallFailure> {
        let world = ports.world();
        let deadline = world.stage.now() + call.timeout;
        let open = self.connect(world);
        ports.travel().await;
        let fault = ports.fault(Op::Call);
        match fault {
            Some(Fault::Undone) => return Err(connection("the connection was refused")),
            Some(Fault::DiesBefore) => ports.die().await,
            Some(Fault::Panics) => poisoned(),
            Some(Fault::Unreported | Fault::DiesAfter) | None => {}
        }
        let asked = Asked::read(world, &call)?;
        let behaviour = self.script.borrow_mut().next(&asked.prompt, &world.chance);
        let reaction = self.react(world, &asked, behaviour);
        let status = reaction.status();
        ports.tell(|| {
            format!("Call {fault:?} {behaviour:?} {status:?} {:?} {}", asked.job, asked.attempt)
        });
        world.ledger.borrow_mut().called(asked.job, asked.attempt, status);
        match fault {
            Some(Fault::Unreported) => return Err(connection("the connection was cut")),
            Some(Fault::DiesAfter) => ports.die().await,
            Some(Fault::Undone | Fault::DiesBefore | Fault::Panics) | None => {}
        }
        reaction.arrive(world, deadline, open).await
    }

    /// What happens to a call; what it costs is taken here.
    fn react(&self, world: &Inner, asked: &Asked, behaviour: Behaviour) -> Reaction {
        let now = world.stage.now();
        if now < self.down_until.get() {
            return reaction::overloaded(None);
        }
        if !behaviour.is_taken_on() {
            return reaction::not_taken_on(behaviour);
        }
        let limits = self.limits.get();
        let mut all = self.tanks.borrow_mut();
        let class = ModelClass::of(&asked.model);
        let tanks = all.entry(class).or_insert_with(|| Tanks::full(limits, now));
        tanks.refill(limits, now);
        let admitted = tanks.take(asked.usage, now);
        let headers = if self.tells_limits.get() { tanks.headers() } else { Vec::new() };
        match admitted {
            Ok(()) => reaction::taken_on(world, asked, behaviour, headers, self.pace.get()),
            Err(wait) => {
                world.ledger.borrow_mut().over_the_limit();
                reaction::throttled(Some(wait.as_secs_rounded_up()), headers)
            }
        }
    }

    fn connect(&self, world: &Inner) -> OpenCall {
        let open = OpenCall::new(&self.open);
        self.most_open.set(self.most_open.get().max(self.open.get()));
        if self.open.get() > world.settings.scheduler.slots {
            world.ledger.borrow_mut().breach("more calls at once than slots");
        }
        open
    }
}

fn connection(words: &str) -> CallFailure {
    CallFailure::Connection(words.to_owned())
}
