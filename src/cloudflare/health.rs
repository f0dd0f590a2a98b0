//! `GET /healthz`, from the platform: the isolate's memory, the object's state.
use super::reply;
use super::shell::Shell;
use crate::pipeline::health::Health;
use serde_json::value::RawValue;
use wasm_bindgen::JsCast;
use worker::{Response, Result};

/// 200 with the scheduler's state; 503 if its object does not answer.
pub(super) async fn answer(shell: &Shell) -> Result<Response> {
    let state = async { shell.ask_object("/state", None).await?.text().await };
    let state = state.await.and_then(|text| Ok(RawValue::from_string(text)?));
    let health = Health::new(state.ok(), wasm_memory());
    reply::json(health.code(), &health)
}

fn wasm_memory() -> u32 {
    let memory = wasm_bindgen::memory().unchecked_into::<js_sys::WebAssembly::Memory>();
    let buffer = memory.buffer().unchecked_into::<js_sys::ArrayBuffer>();
    buffer.byte_length()
}
