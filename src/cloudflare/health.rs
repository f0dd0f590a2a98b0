//! `GET /healthz`: whether the Worker answers, and whether jobs are released.
use super::reply;
use super::shell::Shell;
use serde::Serialize;
use serde_json::value::RawValue;
use wasm_bindgen::JsCast;
use worker::{Response, Result};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    /// The Wasm memory of this isolate: it only ever grows, so it is its peak.
    wasm_memory_bytes: u32,
    scheduler: Box<RawValue>,
}

/// 200 with the scheduler's state; 503 if its object does not answer.
pub(super) async fn answer(shell: &Shell) -> Result<Response> {
    let state = async { shell.ask_object("/state", None).await?.text().await };
    let state = state.await.and_then(|text| Ok(RawValue::from_string(text)?));
    let (code, status, scheduler) = match state {
        Ok(state) => (200, "ok", state),
        Err(_) => (503, "scheduler unreachable", RawValue::from_string("null".to_owned())?),
    };
    let wasm_memory_bytes = wasm_memory();
    reply::json(code, &Health { status, wasm_memory_bytes, scheduler })
}

fn wasm_memory() -> u32 {
    let memory = wasm_bindgen::memory().unchecked_into::<js_sys::WebAssembly::Memory>();
    let buffer = memory.buffer().unchecked_into::<js_sys::ArrayBuffer>();
    buffer.byte_length()
}
