//! The scheduler object: one for all tenants, one thread, one database.
//!
//! Requests to the object are served one at a time between awaits, and what
//! is written between two awaits is committed as one: what `pipeline::desk`
//! asks for.
use super::desk::ObjectPorts;
use super::fault;
use super::shell::{Shell, Work};
use crate::domain::{JobId, Span, from_json};
use crate::pipeline::desk::{Alarm, Desk, DeskPorts};
use crate::pipeline::ports::{Ambient, PortError, PortResult};
use crate::scheduler::{Settlement, Submission};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::{Cell, RefCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use worker::{
    DurableObject, Env, Error, Request, Response, Result, State, durable_object, wasm_bindgen,
};

/// See the module.
#[durable_object(alarm)]
pub struct SchedulerObject {
    state: Rc<State>,
    env: Env,
    desk: RefCell<Option<Rc<Desk<ObjectPorts>>>>,
    panic_at_alarm: Cell<bool>,
}

// A turn takes the scheduler out while it works on it: after a panic it is
// read again from storage.
impl UnwindSafe for SchedulerObject {}
impl RefUnwindSafe for SchedulerObject {}

impl DurableObject for SchedulerObject {
    fn new(state: State, env: Env) -> Self {
        let state = Rc::new(state);
        Self { state, env, desk: RefCell::new(None), panic_at_alarm: Cell::new(false) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let desk = self.desk()?;
        if let Some(place) = fault::wanted(desk.ports().shared(), request.headers()) {
            return self.panic_at(&place, &desk).await;
        }
        let path = request.path();
        if path == "/notify" {
            return self.deliver(&desk, request.text().await?);
        }
        let body = request.text().await?;
        match answer(&desk, &path, &body).await {
            Ok(answer) => Response::ok(answer),
            Err(PortError::Refused(detail)) => Response::error(detail, 400),
            Err(error) => {
                worker::console_error!("the scheduler could not do as asked: {error}");
                Response::error(error.to_string(), 503)
            }
        }
    }

    /// An error makes the platform ring again.
    async fn alarm(&self) -> Result<Response> {
        let desk = self.desk()?;
        if self.panic_at_alarm.take() {
            desk.ports().panic_in_turn("alarm");
        }
        desk.wake().await.map_err(|error| Error::RustError(error.to_string()))?;
        Response::ok("")
    }
}

impl SchedulerObject {
    fn desk(&self) -> Result<Rc<Desk<ObjectPorts>>> {
        let mut desk = self.desk.borrow_mut();
        if let Some(desk) = &*desk {
            return Ok(Rc::clone(desk));
        }
        let shell = Shell::new(self.env.clone(), None)?;
        let new = Desk::open(ObjectPorts::open(Rc::clone(&self.state), shell)?);
        *desk = Some(Rc::clone(&new));
        Ok(new)
    }

    /// Delivers an event beside whatever else the object does.
    fn deliver(&self, desk: &Rc<Desk<ObjectPorts>>, event: String) -> Result<Response> {
        let shell = desk.ports().shared().clone();
        self.state.wait_until::<Work>(Box::pin(async move { shell.deliver(event).await }));
        Response::ok("")
    }

    /// Panics where asked: in a turn, or at the next alarm, which is armed.
    async fn panic_at(&self, place: &str, desk: &Rc<Desk<ObjectPorts>>) -> Result<Response> {
        let ports = desk.ports();
        if place == "alarm" {
            self.panic_at_alarm.set(true);
            asked_to_panic(ports.arm_at(ports.shared().now()).await)
        } else {
            ports.panic_in_turn("turn");
            asked_to_panic(desk.settle(Vec::new()).await)
        }
    }
}

/// What the object is asked, and what it answers: JSON both.
async fn answer(desk: &Rc<Desk<ObjectPorts>>, path: &str, body: &str) -> PortResult<String> {
    match path {
        "/admit" => write(&desk.admit(&read(body)?)?),
        "/vacate" => write(&desk.vacate(&read(body)?)?),
        "/submit" => write(&desk.submit(read::<Vec<Submission>>(body)?).await?),
        "/settle" => write(&desk.settle(read::<Vec<Settlement>>(body)?).await?),
        "/cancel" => write(&desk.cancel(read(body)?).await?),
        "/canceled" => write(&desk.canceled(read(body)?)?),
        "/wait" => {
            let (job, span) = read::<(JobId, Span)>(body)?;
            write(&desk.wait(job, span).await?)
        }
        "/explain" => write(&desk.explain(read(body)?)?),
        "/sweep" => write(&desk.sweep().await?),
        "/state" => write(&desk.state()?),
        _ => Err(PortError::Refused(format!("the object knows no {path}"))),
    }
}

fn read<T: DeserializeOwned>(body: &str) -> PortResult<T> {
    from_json(body).map_err(|error| PortError::Refused(error.to_string()))
}

fn write<T: Serialize>(answer: &T) -> PortResult<String> {
    serde_json::to_string(answer).map_err(|error| PortError::Refused(error.to_string()))
}

fn asked_to_panic(done: PortResult<()>) -> Result<Response> {
    match done {
        Ok(()) => Response::ok(""),
        Err(error) => Response::error(error.to_string(), 503),
    }
}
