//! The body of an answer with status 200, read as it arrives.
use super::{
    api_error::ApiError,
    assembly::{Assembly, MAX_ANSWER_BYTES},
    failure::CallFailure,
    json::{MARK, Members},
    sse::EventReader,
    stored::{Join, JoinFault},
};
use crate::domain::Usage;
use serde::de::IgnoredAny;

/// What Claude answered: a finished message. A refusal, a cut by `max_tokens`
/// or a stop reason nobody knows yet is an answer too; the reason is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// All text blocks, one after the other.
    pub text: String,
    /// The rest of the message; see [`Join`].
    pub skeleton: String,
    /// Why the answer ended.
    pub stop_reason: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// What the call used.
    pub usage: Usage,
}

impl Answer {
    /// The whole message as one JSON text, as a call without `stream` would
    /// have returned it.
    ///
    /// # Errors
    ///
    /// [`JoinFault`], if the parts were not made by one reader.
    pub fn to_json(&self) -> Result<Vec<u8>, JoinFault> {
        let mut out = Vec::with_capacity(self.text.len() + self.skeleton.len());
        let mut join = Join::new(&self.skeleton)?;
        join.push(self.text.as_bytes(), &mut out)?;
        join.finish(&mut out)?;
        Ok(out)
    }
}

/// Reads the body, in chunks cut anywhere.
///
/// The body itself says what it is: a `{` after white space begins one JSON
/// message, anything else is a stream of events. The content type is not
/// asked: the official SDKs do not check it either, and gateways get it wrong.
#[derive(Debug, Default)]
pub struct AnswerReader {
    body: Body,
    assembly: Assembly,
}

#[derive(Debug)]
enum Body {
    /// Nothing but white space (a gateway's keep-alive) and a byte order mark.
    Unknown {
        mark: usize,
    },
    Json(Vec<u8>),
    Events(EventReader),
}

impl Default for Body {
    fn default() -> Self {
        Self::Unknown { mark: 0 }
    }
}

impl AnswerReader {
    /// Reads a chunk.
    ///
    /// # Errors
    ///
    /// How the call failed; nothing more need be read.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), CallFailure> {
        let mut chunk = chunk;
        if let Body::Unknown { mark } = &mut self.body {
            let (begin, seen) = skip_blank(chunk, *mark);
            *mark = seen;
            chunk = chunk.get(begin..).unwrap_or_default();
            match chunk.first() {
                None => return Ok(()),
                Some(b'{') => self.body = Body::Json(Vec::new()),
                Some(_) => self.body = Body::Events(EventReader::default()),
            }
        }
        let assembly = &mut self.assembly;
        match &mut self.body {
            Body::Unknown { .. } => Ok(()),
            Body::Json(body) if body.len() + chunk.len() > MAX_ANSWER_BYTES => {
                Err(CallFailure::TooLarge)
            }
            Body::Json(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
            Body::Events(events) => events.push(chunk, |event| assembly.take(&event)),
        }
    }

    /// Whether `message_stop` was read: the rest of the body does not matter.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.assembly.is_complete()
    }

    /// The answer, now that the body has ended.
    ///
    /// # Errors
    ///
    /// How the call failed; [`CallFailure::CutShort`] if the end is missing.
    pub fn finish(mut self) -> Result<Answer, CallFailure> {
        match self.body {
            Body::Unknown { .. } => Err(CallFailure::CutShort),
            Body::Json(body) => whole(&String::from_utf8_lossy(&body)),
            Body::Events(events) => {
                let last = events.finish().map(|event| self.assembly.take(&event));
                match last {
                    Some(Err(CallFailure::Unexpected(_))) => Err(CallFailure::CutShort),
                    Some(Err(failure)) => Err(failure),
                    Some(Ok(())) | None => self.assembly.finish(),
                }
            }
        }
    }
}

/// A body that is one JSON text.
fn whole(body: &str) -> Result<Answer, CallFailure> {
    let broken = serde_json::from_str::<IgnoredAny>(body).err();
    if broken.is_some_and(|error| error.is_eof()) {
        return Err(CallFailure::CutShort);
    }
    let strange = || CallFailure::Unexpected(body.chars().take(SHOWN).collect());
    let object = Members::read(body).ok_or_else(strange)?;
    match object.text("type").as_deref() {
        Some("message") => Assembly::whole(object),
        Some(_) | None if object.get("error").is_some() => {
            Err(CallFailure::InAnswer(ApiError::read(body.as_bytes())))
        }
        Some(_) | None => Err(strange()),
    }
}

/// Where the content begins, and how many bytes of a mark were seen so far.
fn skip_blank(chunk: &[u8], mut mark: usize) -> (usize, usize) {
    for (at, byte) in chunk.iter().enumerate() {
        if MARK.get(mark) == Some(byte) {
            mark += 1;
        } else if !byte.is_ascii_whitespace() {
            return (at, mark);
        }
    }
    (chunk.len(), mark)
}

/// How much of a strange body an error shows, in characters.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_a_mark_before_the_body_do_not_matter() {
        let message = r#"{"type":"message","content":[],"stop_reason":"refusal"}"#;
        let whole = read(&["", "  \n ", "\u{feff} ", message, " \n"]).unwrap();
        assert_eq!(whole.stop_reason.as_deref(), Some("refusal"));
        let stream = read(&["\n\u{feff}", "event: message_stop\ndata: {}\n\n"]);
        assert!(matches!(stream, Err(CallFailure::Unexpected(_))));
    }

    #[test]
    fn a_body_without_an_answer_is_cut_or_strange() {
        let cut = Err(CallFailure::CutShort);
        assert_eq!(read(&[]), cut);
        assert_eq!(read(&[" \n"]), cut);
        assert_eq!(read(&[r#"{"type":"message","cont"#]), cut);
        assert_eq!(read(&["<html>502</html>"]), cut);
        for strange in [r#"{"type":"job"}"#, "{}", "{]", r#"{"type":"message","content":"x"}"#] {
            let read = read(&[strange]);
            assert!(matches!(read, Err(CallFailure::Unexpected(_))), "{strange}");
        }
    }

    #[test]
    fn a_body_larger_than_any_answer_is_refused_as_it_comes() {
        let mut reader = AnswerReader::default();
        reader.push(b"{").unwrap();
        let large = vec![b' '; MAX_ANSWER_BYTES];
        assert_eq!(reader.push(&large), Err(CallFailure::TooLarge));
    }

    fn read(chunks: &[&str]) -> Result<Answer, CallFailure> {
        let mut reader = AnswerReader::default();
        for chunk in chunks {
            reader.push(chunk.as_bytes())?;
        }
        reader.finish()
    }
}
