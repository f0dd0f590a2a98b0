//! The use cases: what happens to a job from the door to its end, told over
//! ports, so that the same code runs on Cloudflare and in a simulated world.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod accept;
pub mod admin;
pub mod answer;
pub mod attempt;
pub mod caller;
pub mod cancel;
mod claiming;
pub mod consume;
pub mod dead_letter;
pub mod desk;
mod field;
pub mod health;
pub mod idempotency;
pub mod input;
pub mod intake;
pub mod job_request;
pub mod limit;
pub mod list;
pub mod messages;
pub mod notice;
#[cfg(not(target_arch = "wasm32"))]
pub mod openapi;
pub mod places;
pub mod ports;
pub mod problem;
pub mod purge;
pub mod query;
pub mod read;
pub mod reconcile;
pub mod result;
pub mod retention;
mod retry;
pub mod route;
pub mod settings;
pub mod store;
pub mod submit;
pub mod submit_batch;
pub mod sweep;
mod templates;
pub mod turn;
pub mod upload;
pub mod view;
pub mod waiting;
mod watch;
