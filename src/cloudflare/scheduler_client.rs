//! The scheduler object, seen from the Worker.
use super::shell::{Shell, asked, outbound};
use crate::pipeline::ports::{PortError, PortResult, SchedulerPort};
use crate::scheduler::{Settlement, Submission};
use serde::Serialize;
use wasm_bindgen::JsValue;
use worker::Response;

impl SchedulerPort for Shell {
    async fn submit(&self, jobs: Vec<Submission>) -> PortResult<()> {
        self.tell("/submit", &jobs).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> PortResult<()> {
        self.tell("/settle", &settlements).await
    }
}

impl Shell {
    async fn tell<B: Serialize>(&self, path: &str, body: &B) -> PortResult<()> {
        let body =
            serde_json::to_string(body).map_err(|error| PortError::Refused(error.to_string()))?;
        let mut response = asked(self.ask_object(path, Some(body)).await)?;
        let detail = asked(response.text().await)?;
        match response.status_code() {
            200 => Ok(()),
            400 => Err(PortError::Refused(detail)),
            _ => Err(PortError::Unavailable(detail)),
        }
    }

    /// One object for all: one Claude organisation has one set of limits.
    pub(super) async fn ask_object(
        &self,
        path: &str,
        body: Option<String>,
    ) -> worker::Result<Response> {
        let stub = self.env.durable_object("SCHEDULER")?.get_by_name("main")?;
        let body = body.map(JsValue::from);
        let request = outbound(&format!("https://scheduler{path}"), &[], body.as_ref())?;
        stub.fetch_with_request(request).await
    }
}
