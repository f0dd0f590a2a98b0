//! JSON objects, one level at a time. A member keeps the text it was written
//! in, so that unknown fields, their order and large numbers survive.
use super::json_text::quoted;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{fmt, ops::Range};

/// The members of an object as they stand in its text, duplicates included.
#[derive(Debug)]
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; `None` if the text is anything else.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.get()))
    }

    /// The text of a member's value; the last one wins, as at Claude.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        let member = self.0.iter().rev().find(|(name, _)| name == key);
        member.map(|(_, value)| value.get())
    }

    /// A member that is a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(text)
    }

    /// A member that is an object.
    pub(super) fn object(&self, key: &str) -> Option<Members<'a>> {
        self.get(key).and_then(Members::read)
    }

    /// A member that is a whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.parse().ok())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor).map(Members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            if members.len() == MAX_MEMBERS {
                return Err(A::Error::custom("too many members"));
            }
            members.push(member);
        }
        Ok(members)
    }
}

/// An object to be changed: keys are unique, values are JSON texts.
#[derive(Debug, Default)]
pub(super) struct Object(Vec<(String, String)>);

impl Object {
    pub(super) fn set(&mut self, key: &str, json: impl Into<String>) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, value)) => *value = json.into(),
            None => self.0.push((key.to_owned(), json.into())),
        }
    }

    pub(super) fn set_text(&mut self, key: &str, text: &str) {
        self.set(key, quoted(text));
    }

    /// Takes over what a later event says: a null never erases a value.
    pub(super) fn update(&mut self, key: &str, json: &str) {
        if json != "null" || self.get(key).is_none() {
            self.set(key, json);
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let member = self.0.iter().find(|(name, _)| name == key);
        member.map(|(_, value)| value.as_str())
    }

    /// A member that is a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(text)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The object's own JSON text.
    pub(super) fn to_json(&self) -> String {
        let members = self.iter().map(|(key, value)| quoted(key) + ":" + value);
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl From<Members<'_>> for Object {
    fn from(members: Members<'_>) -> Self {
        let mut object = Self::default();
        for (key, value) in members.iter() {
            object.set(key, value);
        }
        object
    }
}

/// The elements of an array, as text.
pub(super) fn elements(json: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// Reads a JSON string. Half a surrogate pair becomes U+FFFD, where serde
/// would refuse the whole answer.
pub(super) fn text(json: &str) -> Option<String> {
    serde_json::from_str::<Lenient>(json).ok().map(|text| text.0)
}

struct Lenient(String);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(LenientVisitor)
    }
}

struct LenientVisitor;

impl Visitor<'_> for LenientVisitor {
    type Value = Lenient;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lenient, E> {
        Ok(Lenient(String::from_utf8_lossy(bytes).into_owned()))
    }
}

/// No object of the API comes near it; a hostile one would fill the memory.
const MAX_MEMBERS: usize = 1_000;

/// U+FEFF in UTF-8, which Windows programs put before a text.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where `part`, borrowed from `whole`, lies in it.
pub(super) fn span_of(part: &str, whole: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let span = start..start + part.len();
    whole.get(span.clone()).map(|_| span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_wins_and_numbers_keep_their_digits() {
        let members = Members::read(r#"{"a":1, "a" : 12345678901234567890123}"#).unwrap();
        assert_eq!(members.get("a"), Some("12345678901234567890123"));
        assert_eq!(Object::from(members).to_json(), r#"{"a":12345678901234567890123}"#);
    }

    #[test]
    fn a_null_fills_a_gap_but_never_erases() {
        let mut object = Object::default();
        object.update("a", "null");
        object.update("a", "1");
        object.update("a", "null");
        assert_eq!(object.to_json(), r#"{"a":1}"#);
    }

    #[test]
    fn an_object_of_absurd_size_is_not_read() {
        let object = |members| format!("{{{}\"\":1}}", "\"\":1,".repeat(members - 1));
        assert!(Members::read(&object(MAX_MEMBERS)).is_some());
        assert!(Members::read(&object(MAX_MEMBERS + 1)).is_none());
    }

    #[test]
    fn half_a_surrogate_pair_spoils_one_character_only() {
        let read = text(r#""ok \ud83d ok""#).unwrap();
        assert!(read.starts_with("ok \u{fffd}") && read.ends_with(" ok"));
        assert_eq!(text("12"), None);
    }

    #[test]
    fn a_span_is_found_by_place_not_by_content() {
        let whole = r#"{"a":1,"b":1}"#;
        let members = Members::read(whole).unwrap();
        assert_eq!(span_of(members.get("b").unwrap(), whole), Some(11..12));
        assert_eq!(span_of("elsewhere", whole), None);
    }
}
