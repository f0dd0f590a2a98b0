//! How to make a job's request: the JSON kept in the `input` column.
//!
//! A small request lives in its row, so that accepting a job is one write; a
//! large one lives in R2 and streams from there to Claude untouched. Of a
//! PDF's request only the file is large: the rest is built around it.
use super::caller::Caller;
use crate::domain::{BatchId, JobId};
use serde::{Deserialize, Serialize};

/// A job's input.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// `anthropic-version` the caller asked for: it decides which fields are
    /// legal, so it stays with the job.
    pub version: String,
    /// `anthropic-beta`, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<String>,
    /// Where the body comes from.
    pub source: Source,
}

/// Where the body of a request comes from.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The body itself.
    Inline {
        /// The whole body, byte for byte.
        body: String,
    },
    /// The body is an object in R2.
    Object {
        /// Its key.
        key: String,
    },
    /// A PDF in R2; the prompt is the batch's.
    Pdf {
        /// Its key.
        key: String,
        /// The document's title: the file's name.
        title: String,
        /// The limit on the answer.
        #[serde(rename = "maxTokens")]
        max_tokens: u32,
    },
}

impl Input {
    /// The version sent when the caller named none.
    pub const DEFAULT_VERSION: &str = "2023-06-01";

    /// The input of a caller's job.
    #[must_use]
    pub fn new(caller: &Caller, source: Source) -> Self {
        let version = caller.version.clone();
        Self {
            version: version.unwrap_or_else(|| Self::DEFAULT_VERSION.to_owned()),
            beta: caller.beta.clone(),
            source,
        }
    }

    /// The column's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Where a job's large request is kept.
#[must_use]
pub fn input_key(job: JobId) -> String {
    format!("inputs/{job}.json")
}

/// Where an uploaded PDF is kept (mission A9).
#[must_use]
pub fn upload_key(batch: BatchId, job: JobId) -> String {
    format!("uploads/{batch}/{job}.pdf")
}

/// Where a job's result is kept (mission A4).
#[must_use]
pub fn result_key(job: JobId) -> String {
    format!("results/{job}.txt")
}

/// Where the part of an answer that is not text is kept, when it does not fit
/// in the result's metadata.
#[must_use]
pub fn message_key(job: JobId) -> String {
    format!("results/{job}.message.json")
}

/// Every object a job can have.
pub(super) fn content_keys(job: JobId, batch: Option<BatchId>) -> [String; 3] {
    let asked = batch.map_or_else(|| input_key(job), |batch| upload_key(batch, job));
    [asked, result_key(job), message_key(job)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_column_keeps_its_shape() {
        let source = Source::Inline { body: r#"{"a":"\u0000"}"#.to_owned() };
        let input = Input { version: "2023-06-01".to_owned(), beta: None, source };
        assert_eq!(
            input.to_json(),
            r#"{"version":"2023-06-01","source":{"inline":{"body":"{\"a\":\"\\u0000\"}"}}}"#
        );
    }

    #[test]
    fn a_pdf_keeps_its_shape() {
        let text =
            r#"{"version":"v","beta":"b","source":{"pdf":{"key":"k","title":"t","maxTokens":7}}}"#;
        let input: Input = serde_json::from_str(text).unwrap();
        assert_eq!(input.to_json(), text);
    }
}
