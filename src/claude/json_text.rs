//! Writing JSON: strings, and documents that may travel in a header.

use std::fmt::Write;

/// Appends `text` as it stands inside a JSON string, without the quotes.
///
/// It works byte by byte and keeps no state: a byte above 0x7F is copied, so
/// a text may be cut anywhere, even inside a character, and escaped in parts.
pub(super) fn escape_json(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len());
    for &byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = vec![b'"'];
    escape_json(text.as_bytes(), &mut out);
    out.push(b'"');
    String::from_utf8_lossy(&out).into_owned()
}

/// A JSON text in visible ASCII, fit for a header.
#[must_use]
pub fn ascii_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    push_ascii(json, &mut out);
    out
}

/// Appends a JSON text in visible ASCII: what is not ASCII is escaped, the
/// white space between tokens is left out. The value stays the same.
pub(super) fn push_ascii(json: &str, out: &mut String) {
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            ' ' | '\t' | '\r' | '\n' if !inside => {}
            ' '..='~' => out.push(c),
            _ => push_escaped(c, out),
        }
        inside ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
}

fn push_escaped(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_safe_text_has_no_white_space_outside_strings() {
        let mut out = String::new();
        push_ascii("{ \"é 漢\\\" 📄\u{7f}\" :\n [1, 2] }", &mut out);
        assert_eq!(out, r#"{"\u00e9 \u6f22\" \ud83d\udcc4\u007f":[1,2]}"#);
    }

    proptest! {
        #[test]
        fn a_text_escaped_in_parts_reads_back(text: String, cut in 0..200_usize) {
            let (head, tail) = text.as_bytes().split_at(cut.min(text.len()));
            let mut json = vec![b'"'];
            escape_json(head, &mut json);
            escape_json(tail, &mut json);
            json.push(b'"');
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn the_ascii_form_is_the_same_value(text: String) {
            let json = quoted(&text);
            let mut ascii = String::new();
            push_ascii(&json, &mut ascii);
            prop_assert!(ascii.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(serde_json::from_str::<String>(&ascii).unwrap(), text);
        }
    }
}
