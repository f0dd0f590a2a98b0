//! The parts of a form, one after the other.
use super::{
    content_disposition::Disposition,
    filename::clean,
    pace::{Pace, Unused},
};
use crate::pipeline::{idempotency::Fingerprint, problem::Problem};
use bytes::Bytes;
use futures_util::Stream;
use multer::{Error, Field, Multipart};

/// A form that is being read.
pub(super) struct Parts<'r> {
    form: Multipart<'r>,
    unused: Unused,
    print: Fingerprint,
}

impl<'r> Parts<'r> {
    pub(super) fn new<S, E>(body: S, boundary: &str, print: Fingerprint) -> Self
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'r,
        E: 'r,
    {
        let unused = Unused::default();
        let form = Multipart::new(Pace::new(body, unused.clone()), boundary);
        Self { form, unused, print }
    }

    /// The next part; the one before must have been read to its end.
    pub(super) async fn next(&mut self) -> Result<Option<Part<'r>>, Problem> {
        self.unused.clear();
        let Some(field) = self.form.next_field().await.map_err(refusal)? else {
            return Ok(None);
        };
        let header = field.headers().get("content-disposition");
        let Some(disposition) = header.and_then(|header| Disposition::parse(header.as_bytes()))
        else {
            let detail = format!("part {} of the form has no name", field.index() + 1);
            return Err(Problem::invalid(detail));
        };
        self.print.word(&disposition.name);
        self.print.word(disposition.filename.as_deref().unwrap_or_default());
        let print = self.print.clone();
        Ok(Some(Part { disposition, field, unused: self.unused.clone(), print, read: 0 }))
    }
}

/// One part of a form.
pub(super) struct Part<'r> {
    disposition: Disposition,
    field: Field<'r>,
    unused: Unused,
    print: Fingerprint,
    /// How much of its content was read.
    read: u64,
}

impl Part<'_> {
    /// The field's name.
    pub(super) fn name(&self) -> &str {
        &self.disposition.name
    }

    /// The file's name as sent.
    pub(super) fn filename(&self) -> Option<&str> {
        self.disposition.filename.as_deref()
    }

    /// More of its content, never empty; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            self.unused.clear();
            match self.field.chunk().await {
                Ok(Some(chunk)) if chunk.is_empty() => {}
                Ok(Some(chunk)) => {
                    self.print.push(&chunk);
                    self.read = self.read.saturating_add(u64::try_from(chunk.len()).unwrap_or(0));
                    return Ok(Some(chunk));
                }
                Ok(None) => {
                    self.print.push(&self.read.to_be_bytes());
                    return Ok(None);
                }
                Err(error) => {
                    let field = clean(self.filename().unwrap_or(self.name()));
                    return Err(Problem { field: Some(field), ..refusal(error) });
                }
            }
        }
    }
}

fn refusal(error: Error) -> Problem {
    if let Error::StreamReadFailed(cause) = error {
        return Problem::invalid(cause.to_string());
    }
    let cause: String = error.to_string().chars().take(200).collect();
    Problem::invalid(format!(
        "the form is cut off or malformed ({cause}): every line of its framing must end with CRLF, \
         the last one with `--` before it, and no header of a part may hold a control character"
    ))
}
