//! The scheduler object, seen from the Worker.
use super::shell::{Shell, asked, outbound};
use crate::domain::{JobId, Span, from_json};
use crate::pipeline::ports::{Admitted, PortError, PortResult, SchedulerPort, Vacated};
use crate::scheduler::{Settlement, Submission, Wish};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use wasm_bindgen::JsValue;
use worker::Response;

impl SchedulerPort for Shell {
    async fn admit(&self, wish: Wish) -> PortResult<Admitted> {
        read(&self.ask("/admit", &wish).await?)
    }

    async fn vacate(&self, places: Vacated) -> PortResult<()> {
        self.ask("/vacate", &places).await.map(drop)
    }

    async fn submit(&self, jobs: Vec<Submission>) -> PortResult<()> {
        self.ask("/submit", &jobs).await.map(drop)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> PortResult<()> {
        self.ask("/settle", &settlements).await.map(drop)
    }

    async fn cancel(&self, jobs: Vec<JobId>) -> PortResult<()> {
        self.ask("/cancel", &jobs).await.map(drop)
    }

    async fn canceled(&self, jobs: Vec<JobId>) -> PortResult<Vec<JobId>> {
        read(&self.ask("/canceled", &jobs).await?)
    }

    async fn wait(&self, job: JobId, span: Span) -> PortResult<bool> {
        read(&self.ask("/wait", &(job, span)).await?)
    }

    async fn explain(&self, job: JobId) -> PortResult<Option<Box<RawValue>>> {
        read(&self.ask("/explain", &job).await?)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> PortResult<T> {
    from_json(text).map_err(|error| PortError::Refused(error.to_string()))
}

impl Shell {
    /// Asks the object; what it answers, as text.
    async fn ask<B: Serialize>(&self, path: &str, body: &B) -> PortResult<String> {
        let body =
            serde_json::to_string(body).map_err(|error| PortError::Refused(error.to_string()))?;
        let mut response = asked(self.ask_object(path, Some(body)).await)?;
        let answer = asked(response.text().await)?;
        match response.status_code() {
            200 => Ok(answer),
            400 => Err(PortError::Refused(answer)),
            _ => Err(PortError::Unavailable(answer)),
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
