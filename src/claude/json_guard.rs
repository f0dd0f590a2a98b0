//! The first look at any JSON from outside, before it is parsed or stored.
//!
//! `serde_json` stops at 128 levels only where it builds a value. Where it skips
//! one (an ignored field, a `RawValue` that is passed through) it takes any
//! depth, so a deep value would be stored and fail later. Hence this guard.
use thiserror::Error;

/// The deepest nesting let through: the most that `serde_json` reads.
pub const MAX_JSON_DEPTH: usize = 127;

/// Why a body is not looked at any further.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum JsonFault {
    /// More than [`MAX_JSON_DEPTH`] brackets are open at once.
    #[error("the JSON is nested more than {MAX_JSON_DEPTH} levels deep, at byte {at}")]
    TooDeep {
        /// The offset of the bracket that is one too many.
        at: usize,
    },
    /// Not UTF-8, for example UTF-16 with its own mark.
    #[error("the JSON is not UTF-8, at byte {at}")]
    NotUtf8 {
        /// The offset of the first byte that does not fit.
        at: usize,
    },
}

/// The text of a JSON body without its byte order mark, if it is UTF-8 and not
/// nested too deeply. Linear in time, no memory; syntax is the parser's
/// business.
///
/// # Errors
///
/// [`JsonFault`] names the offset.
pub fn guard_json(body: &[u8]) -> Result<&str, JsonFault> {
    let body = without_mark(body);
    let text =
        str::from_utf8(body).map_err(|error| JsonFault::NotUtf8 { at: error.valid_up_to() })?;
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' if !inside => depth += 1,
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_JSON_DEPTH {
            return Err(JsonFault::TooDeep { at });
        }
        inside ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
    }
    Ok(text)
}

/// Windows programs put U+FEFF before JSON; no parser takes it.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// U+FEFF in UTF-8.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_byte_order_mark_is_taken_off() {
        assert_eq!(guard_json(b"\xef\xbb\xbf{\"prompt\":\"hello\"}"), Ok(r#"{"prompt":"hello"}"#));
    }

    #[test]
    fn what_passes_is_exactly_what_serde_reads() {
        for depth in [1, 101, MAX_JSON_DEPTH, MAX_JSON_DEPTH + 1, 20_000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let json = open.repeat(depth) + "1" + &close.repeat(depth);
                let passes = guard_json(json.as_bytes()).is_ok();
                assert_eq!(passes, depth <= MAX_JSON_DEPTH, "{depth}");
                assert_eq!(passes, serde_json::from_str::<Value>(&json).is_ok());
            }
        }
    }

    #[test]
    fn serde_itself_skips_any_depth() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        assert!(serde_json::from_str::<&serde_json::value::RawValue>(&deep).is_ok());
    }

    #[test]
    fn brackets_inside_strings_do_not_count() {
        let json = format!(r#"["{}\"{}"]"#, "[".repeat(500), "{".repeat(500));
        assert!(guard_json(json.as_bytes()).is_ok());
    }

    #[test]
    fn a_fault_names_its_place() {
        let deep = "[".repeat(200);
        assert_eq!(
            guard_json(deep.as_bytes()).unwrap_err().to_string(),
            "the JSON is nested more than 127 levels deep, at byte 127"
        );
        assert_eq!(guard_json(b"{\"a\":\"\xff\"}"), Err(JsonFault::NotUtf8 { at: 6 }));
    }
}
