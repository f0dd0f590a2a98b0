//! The inside of a string, up to its closing quote.
use super::{
    fault::Fault,
    utf8::{Multibyte, Step},
};
use crate::claude::TextCounts;

/// A string whose opening quote has been read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text {
    /// Between characters.
    Plain,
    /// After a backslash.
    Escape,
    /// Within `\uXXXX`.
    Hex(Hex),
    /// After the first half of a surrogate pair: a backslash must follow.
    PairSlash(u32),
    /// After that backslash: a `u` must follow.
    PairU(u32),
    /// Within a character of several bytes.
    Multibyte(Multibyte),
}

/// The digits of `\uXXXX`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hex {
    missing: u8,
    code: u32,
    /// The first half of a surrogate pair, if this is the second.
    first: Option<u32>,
}

/// What was taken of a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) len: usize,
    pub(super) counts: TextCounts,
    /// Whether the closing quote was among it.
    pub(super) ended: bool,
}

impl Text {
    /// Takes as much as `input` has of the string.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<Taken, Fault> {
        let mut taken = Taken { len: 0, counts: TextCounts::default(), ended: false };
        loop {
            let rest = input.get(taken.len..).unwrap_or_default();
            if let Self::Plain = self {
                let (run, _) = rest.split_at(plain_run(rest));
                taken.counts.add_ascii(run);
                taken.len += run.len();
            }
            let Some(&byte) = input.get(taken.len) else {
                return Ok(taken);
            };
            if let (Self::Plain, b'"') = (&self, byte) {
                return Ok(Taken { len: taken.len + 1, ended: true, ..taken });
            }
            let next = self.after(byte, &mut taken.counts);
            *self = next.map_err(|why| Fault::syntax(taken.len, why))?;
            taken.len += 1;
        }
    }

    /// The state after one byte that is not plain.
    fn after(self, byte: u8, counts: &mut TextCounts) -> Result<Self, &'static str> {
        Ok(match (self, byte) {
            (Self::Plain, b'\\') => Self::Escape,
            (Self::Plain, 0..0x20) => {
                return Err("a control character in a string needs an escape");
            }
            (Self::Plain, lead) => Self::Multibyte(Multibyte::begin(lead).ok_or(NOT_UTF8)?),
            (Self::Multibyte(character), byte) => match character.add(byte).ok_or(NOT_UTF8)? {
                Step::More(character) => Self::Multibyte(character),
                Step::Done(code) => Self::counted(code, counts),
            },
            (Self::Escape, b'u') => Self::Hex(Hex { missing: 4, code: 0, first: None }),
            (Self::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                Self::counted(0, counts)
            }
            (Self::Escape, _) => return Err(r#"expected one of "\/bfnrtu after a backslash"#),
            (Self::Hex(hex), byte) => hex.after(byte, counts)?,
            (Self::PairSlash(first), b'\\') => Self::PairU(first),
            (Self::PairU(first), b'u') => {
                Self::Hex(Hex { missing: 4, code: 0, first: Some(first) })
            }
            (Self::PairSlash(_) | Self::PairU(_), _) => return Err(HALF_A_PAIR),
        })
    }

    fn counted(code: u32, counts: &mut TextCounts) -> Self {
        counts.add(code);
        Self::Plain
    }
}

impl Hex {
    fn after(self, byte: u8, counts: &mut TextCounts) -> Result<Text, &'static str> {
        let digit = char::from(byte).to_digit(16).ok_or("expected a hexadecimal digit")?;
        let code = (self.code << 4) | digit;
        if self.missing > 1 {
            return Ok(Text::Hex(Self { missing: self.missing - 1, code, ..self }));
        }
        match (self.first, code) {
            (Some(first), 0xDC00..=0xDFFF) => {
                let (high, low) = (first & 0x3FF, code & 0x3FF);
                Ok(Text::counted(0x1_0000 + (high << 10) + low, counts))
            }
            (None, 0xD800..=0xDBFF) => Ok(Text::PairSlash(code)),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => Err(HALF_A_PAIR),
            (None, code) => Ok(Text::counted(code, counts)),
        }
    }
}

/// How many bytes at the beginning are ASCII that needs no thought, eight at a
/// time.
fn plain_run(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let plain = |word: &&[u8; 8]| !has_special(u64::from_le_bytes(**word));
    let run = 8 * words.iter().take_while(plain).count();
    let rest = bytes.get(run..).unwrap_or_default();
    run + rest.iter().take_while(|byte| is_plain(**byte)).count()
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..0x80) && byte != b'"' && byte != b'\\'
}

/// Whether one of the eight bytes is not plain.
const fn has_special(word: u64) -> bool {
    let beyond_ascii = word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = has_zero(word ^ (ONES * b'"' as u64));
    let backslash = has_zero(word ^ (ONES * b'\\' as u64));
    (beyond_ascii | control | quote | backslash) & (ONES * 0x80) != 0
}

/// Sets the top bit of some byte if, and only if, a byte is zero.
const fn has_zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

const ONES: u64 = 0x0101_0101_0101_0101;
const NOT_UTF8: &str = "the text is not valid UTF-8";
const HALF_A_PAIR: &str = "half a surrogate pair is no character";
