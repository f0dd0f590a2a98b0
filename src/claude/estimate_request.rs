//! How many input tokens a whole request will cost, from its raw JSON.
//!
//! One pass, no parsing into values: every string counts as text, wherever it
//! stands, and the structure counts as the JSON it is. Only files are weighed
//! by kind: a `source` with a `media_type` holds base64, not text.
use super::estimate::{Meter, estimate_pdf};

/// The guess for a request that passed [`guard_json`](super::guard_json).
#[must_use]
pub fn estimate_request(json: &str, model: &str) -> crate::domain::Tokens {
    let mut walk = Walk { json, at: 0, model, meter: Meter::of(model), open: Vec::new(), key: "" };
    while walk.step().is_some() {}
    walk.meter.tokens()
}

struct Walk<'a> {
    json: &'a str,
    at: usize,
    model: &'a str,
    meter: Meter,
    /// The objects around this place; arrays do not matter.
    open: Vec<Object<'a>>,
    key: &'a str,
}

/// What matters of an object, as written between the quotes.
#[derive(Default)]
struct Object<'a> {
    /// The key under which it stands.
    key: &'a str,
    kind: &'a str,
    media_type: &'a str,
    data: &'a str,
    /// Its `source` names a file that lies elsewhere.
    elsewhere: bool,
}

impl<'a> Walk<'a> {
    fn step(&mut self) -> Option<()> {
        let byte = *self.json.as_bytes().get(self.at)?;
        self.at += 1;
        match byte {
            b'"' => self.string()?,
            b'{' => self.open.push(Object { key: self.key, ..Object::default() }),
            b'}' => self.close(),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.meter.add_thousandths(match byte {
                b'"' => QUOTES,
                _ => STRUCTURE,
            });
        }
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let text = string_at(self.json.get(self.at..)?);
        self.at += text.len() + 1;
        let rest = self.json.get(self.at..).unwrap_or_default();
        if rest.trim_ascii_start().starts_with(':') {
            self.key = text;
            self.text(text);
            return Some(());
        }
        let object = self.open.last_mut();
        match (self.key, object) {
            ("data", Some(object)) if object.data.is_empty() => object.data = text,
            ("type", Some(object)) => object.kind = text,
            ("media_type", Some(object)) => object.media_type = text,
            _ => self.text(text),
        }
        Some(())
    }

    fn close(&mut self) {
        let Some(object) = self.open.pop() else {
            return;
        };
        self.key = object.key;
        let bytes = object.data.len() as u64 / 4 * 3;
        match object.media_type {
            "application/pdf" => self.meter.add(estimate_pdf(bytes, None, self.model)),
            kind if kind.starts_with("image/") => self.meter.add_image(object.data.len()),
            _ => self.text(object.data),
        }
        self.text(object.kind);
        if let Some(around) = self.open.last_mut() {
            around.elsewhere |= object.key == "source" && ["url", "file"].contains(&object.kind);
        }
        match object.kind {
            "image" if object.elsewhere => self.meter.add_image(0),
            _ if object.elsewhere => {
                self.meter.add(estimate_pdf(0, Some(PAGES_ELSEWHERE), self.model));
            }
            _ => {}
        }
    }

    fn text(&mut self, raw: &'a str) {
        let mut rest = raw.chars();
        while let Some(c) = rest.next() {
            let code = if c == '\\' { escaped(&mut rest) } else { c.into() };
            self.meter.add_code(code);
        }
    }
}

/// What stands before the closing quote.
fn string_at(json: &str) -> &str {
    let mut escaped = false;
    let end = json.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    json.get(..end.unwrap_or(json.len())).unwrap_or_default()
}

fn escaped(rest: &mut std::str::Chars<'_>) -> u32 {
    match rest.next() {
        Some('u') => {
            let digits: String = rest.take(4).collect();
            u32::from_str_radix(&digits, 16).unwrap_or(0)
        }
        Some(other) => other.into(),
        None => 0,
    }
}

/// Thousandths of a token per pair of quotes, and per bracket, colon, comma or
/// digit outside strings. A message's envelope comes to about 8 tokens, a tool
/// definition to about 2.5 characters a token.
const QUOTES: u64 = 400;
const STRUCTURE: u64 = 700;

/// A document named by URL or file id is assumed to have this many pages.
const PAGES_ELSEWHERE: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "claude-sonnet-4-6";

    #[test]
    fn escapes_cost_what_they_stand_for() {
        let plain = estimate(&message(r#""漢字""#));
        assert_eq!(estimate(&message(r#""\u6f22\u5b57""#)), plain);
        assert_eq!(estimate(&message(r#""\ud83d\udcc4""#)), estimate(&message(r#""📄""#)));
    }

    #[test]
    fn an_envelope_costs_a_few_tokens() {
        let request = format!(r#"{{"model":"{MODEL}","max_tokens":16,"messages":[]}}"#);
        assert!((10..=40).contains(&estimate(&request)));
        let more = estimate(&message(r#""""#)) - estimate("{}");
        assert!((5..=15).contains(&more), "{more}");
    }

    #[test]
    fn files_are_weighed_by_kind_and_in_any_order() {
        let data = "A".repeat(400_000);
        let file = |fields: &str| estimate(&format!(r#"{{"source":{{{fields}}}}}"#));
        let image = file(&format!(r#""data":"{data}","type":"base64","media_type":"image/png""#));
        assert!((1_600..1_650).contains(&image), "{image}");
        let pdf =
            file(&format!(r#""media_type":"application/pdf","type":"base64","data":"{data}""#));
        assert!((15_000..15_050).contains(&pdf), "{pdf}");
        let text = file(&format!(r#""media_type":"text/plain","type":"text","data":"{data}""#));
        assert!(text > 120_000);
    }

    #[test]
    fn a_file_elsewhere_is_not_free() {
        let block = |kind: &str| {
            estimate(&format!(
                r#"{{"source":{{"type":"url","url":"https://a.b"}},"type":"{kind}"}}"#
            ))
        };
        assert!((1_600..1_650).contains(&block("image")));
        assert!((25_000..25_050).contains(&block("document")));
    }

    #[test]
    fn text_that_is_no_json_costs_something_and_harms_nothing() {
        for odd in ["", "\"", "{{{", "}}}", r#"{"a":"\"#, r#"{"a":"\u12"#, "[1,2"] {
            estimate(odd);
        }
    }

    fn message(content: &str) -> String {
        format!(r#"{{"role":"user","content":{content}}}"#)
    }

    fn estimate(json: &str) -> u64 {
        estimate_request(json, MODEL).get()
    }
}
