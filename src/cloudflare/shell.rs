//! The Worker's bindings, and the event they are used in.
use crate::pipeline::ports::{PortError, PortResult};
use crate::pipeline::settings::Settings;
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
        let settings = Settings::read(|name| variable(&env, name));
        let settings = settings.map_err(|error| worker::Error::RustError(error.to_string()))?;
        Ok(Self { env, settings: Rc::new(settings), context })
    }

    /// A variable or a secret; `None` if it is not set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        variable(&self.env, name)
    }
}

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).ok().map(|value| value.to_string()).filter(|value| !value.is_empty())
}

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

/// A binding's error, told apart by its words: the platform gives no more.
pub(super) fn port_error(error: &worker::Error) -> PortError {
    PortError::of_store(error.to_string())
}

/// The result of asking a binding.
pub(super) fn asked<T>(result: worker::Result<T>) -> PortResult<T> {
    result.map_err(|error| port_error(&error))
}
