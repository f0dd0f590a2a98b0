//! The Worker's bindings, and the event they are used in.
use crate::pipeline::ports::{PortError, PortResult};
use crate::pipeline::settings::Settings;
use std::cell::OnceCell;
use std::pin::Pin;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use worker::{Context, Env, Headers, Request};

/// Everything a use case can reach. Implements the pipeline's ports.
#[derive(Clone)]
pub(super) struct Shell {
    pub(super) env: Env,
    pub(super) settings: Rc<Settings>,
    /// The event's context, for work that outlives the answer. The scheduler
    /// object has none.
    pub(super) context: Option<Rc<Context>>,
}

impl Shell {
    /// The shell of an event.
    pub(super) fn new(env: Env, context: Option<Rc<Context>>) -> worker::Result<Self> {
        let settings = settings(&env)?;
        Ok(Self { env, settings, context })
    }

    /// A variable or a secret; `None` if it is not set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        variable(&self.env, name)
    }
}

thread_local! {
    /// Variables change with a deploy only, and a deploy brings new isolates.
    static SETTINGS: OnceCell<Rc<Settings>> = const { OnceCell::new() };
}

fn settings(env: &Env) -> worker::Result<Rc<Settings>> {
    if let Some(known) = SETTINGS.with(|known| known.get().cloned()) {
        return Ok(known);
    }
    let read = Settings::read(|name| variable(env, name));
    let read = Rc::new(read.map_err(|error| worker::Error::RustError(error.to_string()))?);
    Ok(SETTINGS.with(|known| Rc::clone(known.get_or_init(|| read))))
}

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).ok().map(|value| value.to_string()).filter(|value| !value.is_empty())
}

/// Work that outlives its event: of one type, or the machinery of a promise
/// would be compiled for each.
pub(super) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// A request of our own. It never follows a redirect, which would carry its
/// key elsewhere.
pub(super) fn outbound(
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&JsValue>,
) -> worker::Result<Request> {
    let init = web_sys::RequestInit::new();
    init.set_redirect(web_sys::RequestRedirect::Manual);
    let set = Headers::new();
    for (name, value) in headers {
        set.set(name, value)?;
    }
    init.set_headers(set.as_ref());
    if let Some(body) = body {
        init.set_method("POST");
        init.set_body(body);
    }
    Ok(web_sys::Request::new_with_str_and_init(url, &init)?.into())
}

/// The result of asking a binding. An error is told apart by its words: the
/// platform gives no more.
pub(super) fn asked<T>(result: worker::Result<T>) -> PortResult<T> {
    result.map_err(|error| PortError::of_store(error.to_string()))
}
