//! The Messages API as bytes: what is sent, what comes back, what it means.
//!
//! ```text
//! at the door   text ─▶ TextCounts ─▶ tokens      PDF ─▶ PdfInspector ─▶ estimate_pdf
//! to Claude     Instructions ─▶ body | PdfBody + Base64Stream
//! from Claude   AnswerReader ─┬─▶ Answer: text + skeleton ─▶ Join
//!                             └─▶ CallFailure ─▶ domain::Outcome
//! ```
//! A caller's own request passes by outside: `pipeline::intake` reads it.
//!
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
mod failure;
mod json;
mod json_text;
mod model;
mod outcome;
mod pdf;
mod rate_limits;
mod request;
mod retry_after;
mod sse;
mod stored;

pub use answer::{Answer, AnswerReader};
pub use api_error::{ApiError, MAX_ERROR_BODY};
pub use base64_stream::Base64Stream;
pub use credentials::key_header;
pub use estimate::{TextCounts, estimate_pdf};
pub use failure::CallFailure;
pub use json_text::ascii_json;
pub use model::max_pages;
pub use pdf::{PdfFacts, PdfInspector, PdfRefusal};
pub use rate_limits::read_rate_limits;
pub use request::{Instructions, MAX_REQUEST_BYTES, PdfBody, max_pdf_bytes};
pub use retry_after::{Advice, MAX_RETRY_AFTER};
pub use stored::{Join, JoinFault};
