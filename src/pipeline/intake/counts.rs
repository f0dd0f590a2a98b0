//! How much text a request holds, by what it costs in tokens.
use super::grammar::{Kind, Piece};
use std::ops::AddAssign;

/// Characters of a request's strings (field names included), numbers and
/// literals. An escape such as `\n` or `\u4e2d` is the character it stands for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextCounts {
    /// ASCII characters.
    pub ascii: u64,
    /// Characters of Chinese, Japanese and Korean writing.
    pub cjk: u64,
    /// All other characters.
    pub other: u64,
    /// Bytes of base64: long `data` values, which are files and not text.
    pub data_bytes: u64,
}

impl TextCounts {
    /// That many ASCII characters.
    pub(super) fn ascii(characters: usize) -> Self {
        Self { ascii: characters as u64, ..Self::default() }
    }

    /// Counts the character with this code.
    pub(super) fn add(&mut self, code: u32) {
        match code {
            0..=0x7F => self.ascii += 1,
            // Jamo, Kangxi to Yi, Hangul, compatibility forms, full-width
            // forms, and the planes of rarer ideographs.
            0x1100..=0x11FF
            | 0x2E80..=0xA4CF
            | 0xA960..=0xA97F
            | 0xAC00..=0xD7FF
            | 0xF900..=0xFAFF
            | 0xFE30..=0xFE4F
            | 0xFF00..=0xFFEF
            | 0x20000..=0x3FFFF => self.cjk += 1,
            _ => self.other += 1,
        }
    }
}

impl AddAssign for TextCounts {
    fn add_assign(&mut self, more: Self) {
        self.ascii += more.ascii;
        self.cjk += more.cjk;
        self.other += more.other;
        self.data_bytes += more.data_bytes;
    }
}

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
            Kind::Blank | Kind::Colon => {}
            Kind::Object | Kind::Array | Kind::Comma | Kind::Close => self.end_member(),
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
            let TextCounts { ascii, cjk, other, .. } = self.data;
            let base64 = !self.not_base64 && cjk + other == 0 && ascii >= SHORTEST_DATA;
            self.total += if base64 {
                TextCounts { data_bytes: ascii, ..TextCounts::default() }
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
const SHORTEST_DATA: u64 = 1_024;
