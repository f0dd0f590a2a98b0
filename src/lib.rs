//! claude-pipeline: takes Claude jobs over HTTP, queues them durably, calls
//! Claude exactly as fast as the API allows.
//!
//! ```text
//! domain ◀ scheduler, claude ◀ pipeline ◀ { cloudflare | sim }
//! ```
#![forbid(unsafe_code)]

pub mod claude;
pub mod domain;
pub mod pipeline;
pub mod scheduler;

#[cfg(target_arch = "wasm32")]
mod cloudflare;
#[cfg(not(target_arch = "wasm32"))]
pub mod sim;
