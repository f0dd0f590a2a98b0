//! The scheduler object: one for all tenants, one thread, one database.
//!
//! Requests to the object are served one at a time between awaits, and what
//! is written between two awaits is committed as one: what `pipeline::desk`
//! asks for.
use super::desk::ObjectPorts;
use super::fault;
use super::shell::{Shell, Work};
use crate::domain::from_json;
use crate::pipeline::desk::{Alarm, Desk, DeskPorts};
use crate::pipeline::ports::{Ambient, PortResult};
use crate::scheduler::{Settlement, Submission};
use serde::de::DeserializeOwned;
use std::cell::{Cell, RefCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use worker::{
    DurableObject, Env, Error, Method, Request, Response, Result, State, durable_object,
    wasm_bindgen,
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
        match (request.method(), request.path().as_str()) {
            (Method::Post, "/submit") => match body::<Vec<Submission>>(&mut request).await {
                Ok(jobs) => done(desk.submit(jobs).await),
                Err(refused) => refused,
            },
            (Method::Post, "/settle") => match body::<Vec<Settlement>>(&mut request).await {
                Ok(settlements) => done(desk.settle(settlements).await),
                Err(refused) => refused,
            },
            (Method::Post, "/sweep") => done(desk.sweep().await),
            (Method::Get, "/state") => match desk.state() {
                Ok(state) => Response::from_json(&state),
                Err(error) => done(Err(error)),
            },
            (Method::Post, "/notify") => self.deliver(&desk, request.text().await?),
            (Method::Get, path) => explain(&desk, path),
            _ => Response::error("unknown", 404),
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
            done(ports.arm_at(ports.shared().now()).await)
        } else {
            ports.panic_in_turn("turn");
            done(desk.settle(Vec::new()).await)
        }
    }
}

/// `/explain/:job`: what a job waits for; `null` if it does not wait here.
fn explain(desk: &Rc<Desk<ObjectPorts>>, path: &str) -> Result<Response> {
    let Some(Ok(job)) = path.strip_prefix("/explain/").map(str::parse) else {
        return Response::error("unknown", 404);
    };
    match desk.explain(job) {
        Ok(waiting_for) => Response::from_json(&waiting_for),
        Err(error) => done(Err(error)),
    }
}

/// Tells the caller that it is done, or that it may be asked again.
fn done(result: PortResult<()>) -> Result<Response> {
    match result {
        Ok(()) => Response::ok(""),
        Err(error) => {
            worker::console_error!("the scheduler could not do as asked: {error}");
            Response::error(error.to_string(), 503)
        }
    }
}

/// A body, or the 400 for one that is not what was meant.
async fn body<T: DeserializeOwned>(
    request: &mut Request,
) -> std::result::Result<T, Result<Response>> {
    let text = request.text().await.map_err(Err)?;
    from_json(&text).map_err(|error| Response::error(error.to_string(), 400))
}
