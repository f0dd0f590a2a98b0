//! A message in two parts: its text, and everything else.
//!
//! The text is an object of its own (`results/{id}.txt`). The rest is a
//! *skeleton*: the message as JSON in visible ASCII, in which the `text` of
//! each text block is replaced by its length in bytes. Text and skeleton give
//! the whole message back, chunk by chunk, without holding it in memory.
use super::{
    json::{Members, Object, elements, span_of},
    json_text::{escape_json, push_ascii, quoted},
};
use std::collections::VecDeque;
use thiserror::Error;

/// Writes the skeleton; a block with a text has its length beside it.
pub(super) fn skeleton(message: &Object, blocks: &[(Object, Option<usize>)]) -> String {
    let mut out = String::new();
    push_object(message, &mut out, |key, out| {
        let content = key == "content";
        if content {
            let mut separator = '[';
            for (fields, text_len) in blocks {
                out.push(separator);
                separator = ',';
                push_object(fields, out, |key, out| match text_len {
                    Some(len) if key == "text" => {
                        *out += &len.to_string();
                        true
                    }
                    Some(_) | None => false,
                });
            }
            *out += if blocks.is_empty() { "[]" } else { "]" };
        }
        content
    });
    out
}

/// Writes an object, except for values that `replace` writes itself.
fn push_object(
    object: &Object,
    out: &mut String,
    mut replace: impl FnMut(&str, &mut String) -> bool,
) {
    let mut separator = '{';
    for (key, value) in object.iter() {
        out.push(separator);
        separator = ',';
        push_ascii(&quoted(key), out);
        out.push(':');
        if !replace(key, out) {
            push_ascii(value, out);
        }
    }
    *out += if separator == '{' { "{}" } else { "}" };
}

/// Puts text back into a skeleton while the text passes by.
#[derive(Debug)]
pub struct Join {
    pieces: VecDeque<Piece>,
}

#[derive(Debug)]
enum Piece {
    Json(String),
    /// So many bytes of the text.
    Text(usize),
}

/// Why a message cannot be put together.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum JoinFault {
    /// Not a skeleton that [`Answer`](super::Answer) holds.
    #[error("the skeleton is not one of ours")]
    BadSkeleton,
    /// The text does not belong to the skeleton.
    #[error("the text is longer or shorter than the skeleton says")]
    WrongLength,
}

impl Join {
    /// Begins with a skeleton.
    ///
    /// # Errors
    ///
    /// [`JoinFault::BadSkeleton`].
    pub fn new(skeleton: &str) -> Result<Self, JoinFault> {
        let pieces = pieces(skeleton).ok_or(JoinFault::BadSkeleton)?;
        Ok(Self { pieces })
    }

    /// How long the text must be.
    #[must_use]
    pub fn text_len(&self) -> usize {
        let len = |piece: &Piece| match piece {
            Piece::Json(_) => 0,
            Piece::Text(len) => *len,
        };
        self.pieces.iter().map(len).sum()
    }

    /// Takes the next bytes of the text, cut anywhere, and appends as much of
    /// the message as is known now.
    ///
    /// # Errors
    ///
    /// [`JoinFault::WrongLength`] if there is more text than expected.
    pub fn push(&mut self, mut text: &[u8], out: &mut Vec<u8>) -> Result<(), JoinFault> {
        while let Some(piece) = self.pieces.front_mut() {
            match piece {
                Piece::Json(json) => out.extend_from_slice(json.as_bytes()),
                Piece::Text(len) => {
                    let (part, rest) = text.split_at(text.len().min(*len));
                    escape_json(part, out);
                    text = rest;
                    *len -= part.len();
                    if *len > 0 {
                        return Ok(());
                    }
                }
            }
            self.pieces.pop_front();
        }
        if text.is_empty() { Ok(()) } else { Err(JoinFault::WrongLength) }
    }

    /// Appends the end of the message.
    ///
    /// # Errors
    ///
    /// [`JoinFault::WrongLength`] if text is missing.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), JoinFault> {
        self.push(&[], out)?;
        if self.pieces.is_empty() { Ok(()) } else { Err(JoinFault::WrongLength) }
    }
}

fn pieces(skeleton: &str) -> Option<VecDeque<Piece>> {
    let content = Members::read(skeleton)?.get("content")?;
    let mut pieces = VecDeque::new();
    let mut copied = 0;
    for block in elements(content)? {
        let block = Members::read(block)?;
        if block.text("type").as_deref() == Some("text") {
            let len = block.get("text")?;
            let span = span_of(len, skeleton)?;
            let json = skeleton.get(copied..span.start)?;
            pieces.push_back(Piece::Json(format!("{json}\"")));
            pieces.push_back(Piece::Text(len.parse().ok()?));
            pieces.push_back(Piece::Json("\"".to_owned()));
            copied = span.end;
        }
    }
    pieces.push_back(Piece::Json(skeleton.get(copied..)?.to_owned()));
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skeleton_keeps_its_shape() {
        let object = |json| Object::from(Members::read(json).unwrap());
        let blocks = [
            (object(r#"{"type":"text","text":null,"citations":[{"é": 1}]}"#), Some(6)),
            (object("{}"), None),
        ];
        assert_eq!(
            skeleton(&object(r#"{"id":"m","content":null}"#), &blocks),
            r#"{"id":"m","content":[{"type":"text","text":6,"citations":[{"\u00e9":1}]},{}]}"#
        );
        assert_eq!(skeleton(&object(r#"{"content":null}"#), &[]), r#"{"content":[]}"#);
    }

    #[test]
    fn text_of_another_length_is_refused() {
        let join = || Join::new(r#"{"content":[{"type":"text","text":3}]}"#).unwrap();
        assert_eq!(join().text_len(), 3);
        assert_eq!(join().push(b"four", &mut Vec::new()), Err(JoinFault::WrongLength));
        let mut short = join();
        short.push(b"tw", &mut Vec::new()).unwrap();
        assert_eq!(short.finish(&mut Vec::new()), Err(JoinFault::WrongLength));
    }

    #[test]
    fn a_foreign_skeleton_is_refused() {
        for foreign in ["", "{}", r#"{"content":[{"type":"text","text":"x"}]}"#] {
            assert_eq!(Join::new(foreign).unwrap_err(), JoinFault::BadSkeleton);
        }
    }
}
