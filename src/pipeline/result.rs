//! A job's result: one object, written once.
//!
//! `results/{jobId}.txt` is the text of the answer. Its metadata holds what
//! the row is told (so that a row can still be written after a crash) and the
//! rest of the message; a rest too large for metadata is an object of its own,
//! written before.
use super::input::{message_key, result_key};
use super::ports::{ObjectMeta, Objects, PortError, PortResult, Written};
use crate::claude::{Answer, ascii_json};
use crate::domain::{JobId, Usage, from_json};
use serde::{Deserialize, Serialize};

/// What is known of a stored result.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// What the call used, as the rate limits count it.
    pub usage: Usage,
    /// Why the answer ended.
    pub stop_reason: Option<String>,
}

/// Stores an answer unless the job has one; returns what is stored then.
///
/// # Errors
///
/// R2 could not be asked. Safe to repeat.
pub async fn keep<P: Objects>(ports: &P, job: JobId, answer: &Answer) -> PortResult<Stored> {
    let stored = Stored { usage: answer.usage, stop_reason: answer.stop_reason.clone() };
    let mut custom = vec![(FACTS.to_owned(), to_ascii(&stored))];
    if answer.skeleton.len() <= MOST_METADATA {
        custom.push((MESSAGE.to_owned(), answer.skeleton.clone()));
    } else {
        let meta = ObjectMeta { content_type: "application/json", custom: Vec::new() };
        ports.put_new(&message_key(job), answer.skeleton.as_bytes(), meta).await?;
    }
    let meta = ObjectMeta { content_type: "text/plain; charset=utf-8", custom };
    match ports.put_new(&result_key(job), answer.text.as_bytes(), meta).await? {
        Written::Wrote => Ok(stored),
        Written::AlreadyExisted => {
            find(ports, job).await?.ok_or_else(|| gone("the result vanished while it was written"))
        }
    }
}

/// What is known of a job's result; `None` if it has none.
///
/// # Errors
///
/// R2 could not be asked.
pub async fn find<P: Objects>(ports: &P, job: JobId) -> PortResult<Option<Stored>> {
    let Some(custom) = ports.head(&result_key(job)).await? else {
        return Ok(None);
    };
    let facts = custom.iter().find(|(name, _)| name == FACTS).map(|(_, value)| value);
    let facts = facts.and_then(|facts| from_json(facts).ok());
    facts.map(Some).ok_or_else(|| gone("a result has no facts beside it"))
}

/// The metadata name under which the rest of the message is kept.
pub const MESSAGE: &str = "message";

/// The metadata name of [`Stored`].
const FACTS: &str = "facts";

/// R2 keeps 8,192 bytes of metadata an object; the facts need some of it.
const MOST_METADATA: usize = 6_000;

fn gone(detail: &str) -> PortError {
    PortError::Unavailable(detail.to_owned())
}

/// Metadata travels as a header: ASCII only.
fn to_ascii(stored: &Stored) -> String {
    ascii_json(&serde_json::to_string(stored).unwrap_or_default())
}
