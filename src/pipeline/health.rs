//! `GET /healthz`: whether the Worker answers, and whether jobs are released.
use crate::scheduler::State;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    status: &'static str,
    /// The Wasm memory of this isolate: it only ever grows, so it is its peak.
    wasm_memory_bytes: u32,
    /// `null` if the scheduler's object does not answer.
    #[schema(required, value_type = Option<State>)]
    scheduler: Option<Box<RawValue>>,
}

impl Health {
    /// With what the scheduler said of itself, if it did.
    #[must_use]
    pub fn new(scheduler: Option<Box<RawValue>>, wasm_memory_bytes: u32) -> Self {
        let status = if scheduler.is_some() { "ok" } else { "scheduler unreachable" };
        Self { status, wasm_memory_bytes, scheduler }
    }

    /// The HTTP status.
    #[must_use]
    pub fn code(&self) -> u16 {
        if self.scheduler.is_some() { 200 } else { 503 }
    }
}
