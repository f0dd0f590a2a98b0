//! The scheduler object: one for all tenants, one thread, one database.
//!
//! Requests to the object are served one at a time between awaits. A turn
//! (apply the input, decide, write down) has no await in it, so no other
//! request can see half of it, and its SQL is committed as one. What a turn
//! decided is carried out afterwards; if the object dies before that, leases
//! end by themselves and are reconciled.
use super::desk::Desk;
use super::fault;
use super::shell::Shell;
use crate::scheduler::{Settlement, Submission};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use worker::{
    DurableObject, Env, Method, Request, Response, Result, State, durable_object, wasm_bindgen,
};

/// See the module.
#[durable_object(alarm)]
pub struct SchedulerObject {
    state: Rc<State>,
    env: Env,
    desk: RefCell<Option<Rc<Desk>>>,
}

// A turn takes the scheduler out while it works on it: after a panic it is
// read again from storage.
impl UnwindSafe for SchedulerObject {}
impl RefUnwindSafe for SchedulerObject {}

impl DurableObject for SchedulerObject {
    fn new(state: State, env: Env) -> Self {
        Self { state: Rc::new(state), env, desk: RefCell::new(None) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let desk = self.desk()?;
        if let Some(place) = fault::wanted(desk.shell(), request.headers()) {
            return desk.panic_at(&place).await;
        }
        match (request.method(), request.path().as_str()) {
            (Method::Post, "/submit") => match body::<Vec<Submission>>(&mut request).await {
                Ok(jobs) => desk.submit(jobs).await,
                Err(refused) => refused,
            },
            (Method::Post, "/settle") => match body::<Vec<Settlement>>(&mut request).await {
                Ok(settlements) => desk.settle(settlements).await,
                Err(refused) => refused,
            },
            (Method::Post, "/sweep") => desk.sweep().await,
            (Method::Get, "/state") => desk.state(),
            _ => Response::error("unknown", 404),
        }
    }

    async fn alarm(&self) -> Result<Response> {
        self.desk()?.wake().await
    }
}

impl SchedulerObject {
    fn desk(&self) -> Result<Rc<Desk>> {
        let mut desk = self.desk.borrow_mut();
        if let Some(desk) = &*desk {
            return Ok(Rc::clone(desk));
        }
        let shell = Shell::new(self.env.clone(), None)?;
        let new = Rc::new(Desk::open(Rc::clone(&self.state), shell)?);
        *desk = Some(Rc::clone(&new));
        Ok(new)
    }
}

/// A body, or the 400 for one that is not what was meant.
async fn body<T: DeserializeOwned>(
    request: &mut Request,
) -> std::result::Result<T, Result<Response>> {
    let text = request.text().await.map_err(Err)?;
    serde_json::from_str(&text).map_err(|error| Response::error(error.to_string(), 400))
}
