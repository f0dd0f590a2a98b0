//! One field of a JSON body: checked, and named if it is at fault.
use super::problem::Problem;
use serde_json::Value;

/// A text.
///
/// # Errors
///
/// 400 that names the field.
pub(super) fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str, Problem> {
    value.as_str().ok_or_else(|| {
        Problem::field(name, format!("`{name}` must be a string, not {}", kind(value)))
    })
}

/// A whole number within bounds.
///
/// # Errors
///
/// 400 that names the field and its bounds.
pub(super) fn number(name: &str, value: &Value, low: u64, high: u64) -> Result<u64, Problem> {
    value.as_u64().filter(|number| (low..=high).contains(number)).ok_or_else(|| {
        let written = value.as_number().and_then(|number| serde_json::to_string(number).ok());
        let got = written.unwrap_or_else(|| kind(value).to_owned());
        let detail = format!("`{name}` must be a whole number from {low} to {high}, not {got}");
        Problem::field(name, detail)
    })
}

/// What a value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
