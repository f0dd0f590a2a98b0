//! The Messages API as bytes: what is sent, what comes back, what it means.
//!
//! ```text
//! guard_json ─▶ estimate_request ─▶ streamed | Instructions ─▶ (Base64Stream) ─▶ call
//! call ─▶ AnswerReader ─▶ Answer ─▶ text + skeleton ─▶ Join
//!      └▶ CallFailure ─▶ domain::Outcome
//! ```
//! Nothing here calls anything: bytes, headers and the time come in as
//! arguments.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod answer;
mod api_error;
mod assembly;
mod base64_stream;
mod block;
mod credentials;
mod estimate;
mod estimate_request;
mod failure;
mod json;
mod json_guard;
mod json_text;
mod model;
mod outcome;
mod outline;
mod pdf;
mod rate_limits;
mod request;
mod retry_after;
mod sse;
mod stored;

pub use answer::{Answer, AnswerReader};
pub use api_error::{ApiError, MAX_ERROR_BODY};
pub use assembly::MAX_ANSWER_BYTES;
pub use base64_stream::Base64Stream;
pub use credentials::key_header;
pub use estimate::{estimate_counts, estimate_pdf, estimate_text};
pub use estimate_request::estimate_request;
pub use failure::CallFailure;
pub use json_guard::{JsonFault, MAX_JSON_DEPTH, guard_json};
pub use json_text::{ascii_json, escape_json};
pub use model::max_pages;
pub use outline::Outline;
pub use pdf::{PdfFacts, PdfInspector, PdfRefusal};
pub use rate_limits::read_rate_limits;
pub use request::{Instructions, MAX_REQUEST_BYTES, NotAnObject, PdfBody, max_pdf_bytes, streamed};
pub use retry_after::{Advice, MAX_RETRY_AFTER};
pub use sse::MAX_EVENT_BYTES;
pub use stored::{Join, JoinFault};
