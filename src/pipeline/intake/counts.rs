//! How much text a request holds, by what it costs in tokens.
//!
//! The JSON counts as the text it is: names and values, of which an escape such
//! as `\n` or `\u4e2d` is the character it stands for, and the marks around
//! them. White space between them is free.
use super::grammar::{Kind, Piece};
use crate::claude::TextCounts;

/// Counts the pieces of a request as they pass.
#[derive(Debug, Default)]
pub(super) struct Counter {
    total: TextCounts,
    /// The first bytes of the name that a value would belong to.
    name: Vec<u8>,
    /// The value of a `data` member, until it is known what it is.
    data: TextCounts,
    not_base64: bool,
}

impl Counter {
    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &Piece, bytes: &[u8]) {
        match piece.kind {
            Kind::Blank => {}
            // With the quotes at its sides.
            Kind::Colon => self.total.signs += 2,
            Kind::Object | Kind::Array | Kind::Comma | Kind::Close => {
                self.total.signs += 1;
                self.end_member();
            }
            Kind::Key => {
                let room = DATA.len() + 1 - self.name.len();
                self.name.extend(bytes.iter().take(room));
                self.total += piece.text;
            }
            Kind::Scalar if self.name == DATA => {
                self.data += piece.text;
                self.not_base64 |= !bytes.iter().all(|byte| may_be_base64(*byte));
            }
            Kind::Scalar => self.total += piece.text,
        }
    }

    /// What was counted.
    pub(super) fn total(&self) -> TextCounts {
        self.total
    }

    fn end_member(&mut self) {
        if self.name == DATA {
            let data_bytes = self.data.ascii();
            let is_ascii = data_bytes == self.data.characters();
            let is_base64 = is_ascii && !self.not_base64 && data_bytes >= SHORTEST_DATA;
            self.total += if is_base64 {
                TextCounts { data_bytes, ..TextCounts::default() }
            } else {
                self.data
            };
            self.data = TextCounts::default();
            self.not_base64 = false;
        }
        self.name.clear();
    }
}

/// Both alphabets, the quotes around the string, and the escapes `\/`, `\n`
/// and `\r` that some encoders write into it.
const fn may_be_base64(byte: u8) -> bool {
    matches!(
        byte,
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'-' | b'_' | b'=' | b'"' | b'\\'
    )
}

const DATA: &[u8] = br#""data""#;
/// Shorter values are counted as text: their weight is small either way.
const SHORTEST_DATA: u32 = 1_024;
