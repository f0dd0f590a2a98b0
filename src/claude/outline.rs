//! What the service must know of a caller's own request.
use super::{json::Members, request::NotAnObject};

/// The few fields that decide about budget and form. Whether they are right is
/// for Claude to say; where a key stands twice, the last one counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outline {
    /// `model`, if it is a string.
    pub model: Option<String>,
    /// `max_tokens`, if it is a whole number.
    pub max_tokens: Option<u64>,
    /// Whether the caller wants a stream.
    pub stream: bool,
}

impl Outline {
    /// Reads a request that passed [`guard_json`](super::guard_json).
    ///
    /// # Errors
    ///
    /// [`NotAnObject`], also for text that is no JSON.
    pub fn read(request: &str) -> Result<Self, NotAnObject> {
        let members = Members::read(request).ok_or(NotAnObject)?;
        Ok(Self {
            model: members.text("model"),
            max_tokens: members.number("max_tokens"),
            stream: members.get("stream") == Some("true"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_counts() {
        let request = r#"{"stream":false,"model":"m","max_tokens":5,"stream":true}"#;
        assert_eq!(
            Outline::read(request),
            Ok(Outline { model: Some("m".to_owned()), max_tokens: Some(5), stream: true })
        );
    }

    #[test]
    fn what_is_missing_or_strange_is_none() {
        let outline = Outline::read(r#"{"model":7,"max_tokens":-1,"stream":1}"#).unwrap();
        assert_eq!((outline.model, outline.max_tokens, outline.stream), (None, None, false));
        assert_eq!(Outline::read("[]"), Err(NotAnObject));
    }
}
