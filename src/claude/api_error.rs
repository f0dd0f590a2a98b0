//! What an error body says, in Claude's form or anybody else's.
use super::json::MARK;
use serde_json::Value;

/// An error in the words of the upstream: `{"type":"error","error":{"type",
/// "message","details":{"error_code"}}}`, or what a gateway makes of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ApiError {
    /// `error.type`, if it is a plain word.
    pub kind: Option<String>,
    /// `error.message`, or the text of the body if it is not JSON.
    pub message: String,
    /// `error.details.error_code`.
    pub code: Option<String>,
}

impl ApiError {
    /// Reads a body of any kind. Only its first [`MAX_ERROR_BODY`] bytes count.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let body = body.get(..MAX_ERROR_BODY).unwrap_or(body);
        let body = body.strip_prefix(MARK).unwrap_or(body);
        let json = str::from_utf8(body).ok().and_then(|text| serde_json::from_str(text).ok());
        json.map_or_else(
            || Self::of_text(&String::from_utf8_lossy(body)),
            |json| Self::of_json(&json),
        )
    }

    fn of_json(body: &Value) -> Self {
        let error = body.get("error").unwrap_or(body);
        let message = [error.get("message"), Some(error), body.get("message"), body.get("detail")]
            .into_iter()
            .flatten()
            .find_map(Value::as_str);
        Self {
            kind: word(error.get("type")),
            code: word(error.pointer("/details/error_code")),
            ..Self::of_text(&message.map_or_else(|| written(body), str::to_owned))
        }
    }

    fn of_text(text: &str) -> Self {
        Self { message: text.split_whitespace().collect::<Vec<_>>().join(" "), ..Self::default() }
    }
}

/// A value as text. `Display` would be a second writer beside the one in use.
fn written(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A word fit for a metric or a filter.
fn word(value: Option<&Value>) -> Option<String> {
    let word = value?.as_str()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let fits = (1..=64).contains(&word.len()) && word.bytes().all(plain);
    fits.then(|| word.to_owned())
}

/// How much of an error body is worth reading.
pub const MAX_ERROR_BODY: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claudes_own_form_is_understood() {
        let error = ApiError::read(
            br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow",
                "details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"r"}"#,
        );
        assert_eq!(error.kind.as_deref(), Some("rate_limit_error"));
        assert_eq!(error.code.as_deref(), Some("enforced_spend_limit_reached"));
        assert_eq!(error.message, "slow");
    }

    #[test]
    fn other_forms_give_at_least_a_message() {
        for (body, message) in [
            (r#"{"error":{"message":"limit","code":502}}"#, "limit"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"top"}"#, "top"),
            ("\u{feff}{\"detail\":\"late\"}", "late"),
            (r#"{"error":{}}"#, r#"{"error":{}}"#),
            ("<html>\n  <b>502</b>", "<html> <b>502</b>"),
            (r#"{"error":{"message":"cut"#, r#"{"error":{"message":"cut"#),
            ("", ""),
        ] {
            let error = ApiError::read(body.as_bytes());
            assert_eq!((error.message.as_str(), error.kind), (message, None));
        }
    }

    #[test]
    fn a_type_that_is_no_plain_word_is_dropped() {
        let kind = |json: &str| ApiError::read(json.as_bytes()).kind;
        assert_eq!(kind(r#"{"error":{"type":"<script>"}}"#), None);
        assert_eq!(kind(r#"{"error":{"type":7}}"#), None);
    }
}
