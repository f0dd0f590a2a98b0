//! The body that goes to `POST /v1/messages`.
//!
//! Every call is streamed: an answer may take longer than any single wait for
//! a response is allowed to, and a stream shows whether it was cut. A caller's
//! own request is none of this module's business: the door passes it on.
use super::{base64_stream::Base64Stream, estimate::TextCounts, json_text::quoted};
use crate::domain::Tokens;

/// The largest body Claude takes. The API documentation says "32 MB"; this is
/// the smaller reading (decimal), which fits under either.
pub const MAX_REQUEST_BYTES: u64 = 32_000_000;

/// What every request of our own says.
#[derive(Clone, Copy, Debug)]
pub struct Instructions<'a> {
    /// The model's id.
    pub model: &'a str,
    /// The longest answer wanted.
    pub max_tokens: u32,
    /// The system prompt, if any.
    pub system: Option<&'a str>,
    /// What the user says.
    pub prompt: &'a str,
}

impl Instructions<'_> {
    /// The guess of what the texts will cost; a PDF is
    /// [`estimate_pdf`](super::estimate_pdf) more.
    #[must_use]
    pub fn input_tokens(&self) -> Tokens {
        let mut counts = TextCounts::from(self.prompt);
        counts += TextCounts::from(self.system.unwrap_or_default());
        counts.tokens(self.model).saturating_add(ENVELOPE)
    }

    /// The body for a prompt alone.
    #[must_use]
    pub fn body(&self) -> String {
        format!("{}{}}}]}}", self.head(), quoted(self.prompt))
    }

    /// The body for a prompt about a PDF. The document comes first, as
    /// Claude's documentation advises.
    #[must_use]
    pub fn pdf_body(&self, title: &str) -> PdfBody {
        let head = self.head();
        let (title, prompt) = (quoted(title), quoted(self.prompt));
        PdfBody {
            prefix: format!(
                r#"{head}[{{"type":"document","source":{{"type":"base64","media_type":"application/pdf","data":""#
            ),
            suffix: format!(r#""}},"title":{title}}},{{"type":"text","text":{prompt}}}]}}]}}"#),
        }
    }

    /// Everything up to the user's content.
    fn head(&self) -> String {
        let system = self.system.map(|text| format!(r#""system":{},"#, quoted(text)));
        format!(
            r#"{STREAM_FIRST},"model":{},"max_tokens":{},{}"messages":[{{"role":"user","content":"#,
            quoted(self.model),
            self.max_tokens,
            system.unwrap_or_default(),
        )
    }
}

/// A body with a hole: prefix, base64 of the PDF, suffix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PdfBody {
    /// Goes before the PDF.
    pub prefix: String,
    /// Goes after the PDF.
    pub suffix: String,
}

impl PdfBody {
    /// The exact length of the body with a PDF of `pdf_bytes` in it.
    #[must_use]
    pub fn content_length(&self, pdf_bytes: u64) -> u64 {
        let around = (self.prefix.len() + self.suffix.len()) as u64;
        around.saturating_add(Base64Stream::encoded_len(pdf_bytes))
    }
}

/// The largest PDF that fits into a request of at most [`MAX_REQUEST_BYTES`]
/// with `overhead` other bytes.
#[must_use]
pub const fn max_pdf_bytes(overhead: u64) -> u64 {
    MAX_REQUEST_BYTES.saturating_sub(overhead) / 4 * 3
}

/// Roles and separators: 6 to 7 tokens were measured.
const ENVELOPE: Tokens = Tokens::new(10);

const STREAM_FIRST: &str = r#"{"stream":true"#;

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_prompt_becomes_a_request() {
        let instructions = Instructions { system: Some("be \"brief\""), ..plain("a\nb\0") };
        assert_eq!(
            read(&instructions.body()),
            json!({
                "stream": true, "model": "claude-test", "max_tokens": 16,
                "system": "be \"brief\"",
                "messages": [{"role": "user", "content": "a\nb\0"}],
            })
        );
        assert_eq!(read(&plain("x").body()).get("system"), None);
        assert!(plain("x").input_tokens() < instructions.input_tokens());
    }

    #[test]
    fn the_largest_pdf_just_fits() {
        let body = plain("summarize").pdf_body("a.pdf");
        let most = max_pdf_bytes(body.content_length(0));
        assert!(body.content_length(most) <= MAX_REQUEST_BYTES);
        assert!(body.content_length(most + 3) > MAX_REQUEST_BYTES);
        assert_eq!(max_pdf_bytes(u64::MAX), 0);
    }

    proptest! {
        #[test]
        fn a_pdf_body_has_the_length_it_promises(pdf: Vec<u8>, title: String, prompt: String) {
            let body = plain(&prompt).pdf_body(&title);
            let data = STANDARD.encode(&pdf);
            let whole = format!("{}{data}{}", body.prefix, body.suffix);
            prop_assert_eq!(whole.len() as u64, body.content_length(pdf.len() as u64));
            let content = &read(&whole)["messages"][0]["content"];
            prop_assert_eq!(&content[0]["source"]["data"], &data);
            prop_assert_eq!(&content[0]["title"], &title);
            prop_assert_eq!(&content[1]["text"], &prompt);
        }
    }

    fn plain(prompt: &str) -> Instructions<'_> {
        Instructions { model: "claude-test", max_tokens: 16, system: None, prompt }
    }

    fn read(body: &str) -> Value {
        serde_json::from_str(body).unwrap()
    }
}
