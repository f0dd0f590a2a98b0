//! One content block, growing by deltas.
use super::{
    json::{self, Members, Object, elements},
    json_text::quoted,
};
use serde::de::IgnoredAny;
use std::mem::take;

/// A content block under construction. Deltas grow it as the official SDKs do
/// (`MessageStream.accumulateMessage`): text, thinking and tool input are
/// appended, a signature is replaced, citations are collected.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: u64,
    fields: Object,
    /// The text of a text block; kept apart, never part of `fields`.
    text: Option<String>,
    thinking: Option<String>,
    input: String,
    citations: Option<Vec<String>>,
}

/// A block that is whole.
#[derive(Debug)]
pub(super) struct WholeBlock {
    /// Its members; a text block's `text` is a placeholder.
    pub(super) fields: Object,
    /// The text of a text block.
    pub(super) text: Option<String>,
}

impl Block {
    /// `None` for a text block whose text is no string.
    pub(super) fn start(index: u64, block: Members<'_>) -> Option<Self> {
        let mut text = None;
        let is_text = block.text("type").as_deref() == Some("text");
        let written = block.get("text").filter(|json| *json != "null");
        let mut fields = Object::from(block);
        if is_text {
            text = Some(written.map_or(Some(String::new()), json::text)?);
            fields.set("text", "null");
        }
        Some(Self { index, fields, text, thinking: None, input: String::new(), citations: None })
    }

    /// Applies a delta and returns how many bytes it added. `None` if a delta
    /// of a known type lacks its content; unknown types add nothing.
    pub(super) fn grow(&mut self, delta: &Members<'_>) -> Option<usize> {
        Some(match delta.text("type")?.as_str() {
            "text_delta" => match &mut self.text {
                Some(text) => append(text, &delta.text("text")?),
                None => 0,
            },
            "thinking_delta" => append(self.thinking_so_far(), &delta.text("thinking")?),
            "input_json_delta" => append(&mut self.input, &delta.text("partial_json")?),
            "signature_delta" => self.assign("signature", delta.get("signature")?),
            "citations_delta" => {
                let citation = delta.get("citation")?;
                self.citations_so_far().push(citation.to_owned());
                citation.len()
            }
            // Carries the final members of the block, not a part of them.
            "compaction_delta" => delta
                .iter()
                .filter(|(key, _)| *key != "type")
                .map(|(key, value)| self.assign(key, value))
                .sum(),
            _ => 0,
        })
    }

    pub(super) fn finish(mut self) -> WholeBlock {
        if let Some(thinking) = take(&mut self.thinking) {
            self.fields.set_text("thinking", &thinking);
        }
        if let Some(citations) = take(&mut self.citations) {
            self.fields.set("citations", format!("[{}]", citations.join(",")));
        }
        if !self.input.trim().is_empty() {
            self.fields.set("input", whole_input(self.input));
        }
        WholeBlock { fields: self.fields, text: self.text }
    }

    fn assign(&mut self, key: &str, json: &str) -> usize {
        self.fields.set(key, json);
        json.len()
    }

    fn thinking_so_far(&mut self) -> &mut String {
        let begun = self.fields.get("thinking").and_then(json::text);
        self.thinking.get_or_insert_with(|| begun.unwrap_or_default())
    }

    fn citations_so_far(&mut self) -> &mut Vec<String> {
        let begun = self.fields.get("citations").and_then(elements);
        self.citations.get_or_insert_with(|| {
            let begun = begun.unwrap_or_default();
            begun.into_iter().map(str::to_owned).collect()
        })
    }
}

fn append(to: &mut String, more: &str) -> usize {
    *to += more;
    more.len()
}

/// Tool input cut by `max_tokens` is no JSON. It is kept as text, in the form
/// Claude's documentation on fine-grained tool streaming proposes.
fn whole_input(input: String) -> String {
    match serde_json::from_str::<IgnoredAny>(&input) {
        Ok(_) => input,
        Err(_) => format!(r#"{{"INVALID_JSON":{}}}"#, quoted(&input)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_grow_their_own_field() {
        let grown = grow(
            r#"{"type":"thinking","thinking":"a","signature":"","x":1e99}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"bé"}"#,
                r#"{"type":"signature_delta","signature":"s"}"#,
                r#"{"type":"of_next_year","thinking":"no"}"#,
            ],
        );
        assert_eq!(
            grown.fields.to_json(),
            r#"{"type":"thinking","thinking":"abé","signature":"s","x":1e99}"#
        );
    }

    #[test]
    fn tool_input_keeps_the_digits_it_was_written_with() {
        let tool = r#"{"type":"tool_use","id":"t","input":{}}"#;
        let delta = |part: &str| {
            format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, quoted(part))
        };
        let whole =
            grow(tool, &[&delta(""), &delta(r#"{"n":1234567890"#), &delta("1234567890.10}")]);
        assert_eq!(whole.fields.get("input"), Some(r#"{"n":12345678901234567890.10}"#));
        let cut = grow(tool, &[&delta(r#"{"n":"a"#)]);
        assert_eq!(cut.fields.get("input"), Some(r#"{"INVALID_JSON":"{\"n\":\"a"}"#));
        assert_eq!(grow(tool, &[]).fields.get("input"), Some("{}"));
    }

    #[test]
    fn citations_are_collected() {
        let delta = r#"{"type":"citations_delta","citation":{"n":2}}"#;
        let of = |begun: &str| grow(begun, &[delta]).fields.to_json();
        assert_eq!(
            of(r#"{"type":"text","text":"a","citations":[{"n":1}]}"#),
            r#"{"type":"text","text":null,"citations":[{"n":1},{"n":2}]}"#
        );
        assert!(of(r#"{"type":"text","citations":null}"#).contains(r#""citations":[{"n":2}]"#));
    }

    #[test]
    fn a_text_block_needs_a_text_that_is_one() {
        let start = |json| Block::start(0, Members::read(json).unwrap());
        assert!(start(r#"{"type":"text","text":5}"#).is_none());
        assert_eq!(start(r#"{"type":"text"}"#).unwrap().text.as_deref(), Some(""));
    }

    fn grow(begun: &str, deltas: &[&str]) -> WholeBlock {
        let mut block = Block::start(0, Members::read(begun).unwrap()).unwrap();
        for delta in deltas {
            block.grow(&Members::read(delta).unwrap()).unwrap();
        }
        block.finish()
    }
}
