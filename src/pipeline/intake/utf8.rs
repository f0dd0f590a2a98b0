//! One character of UTF-8 beyond ASCII, byte by byte.

/// A character whose first byte has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multibyte {
    missing: u8,
    /// Bounds of the next byte: narrower than 80 to BF where the character
    /// would be overlong, a surrogate or beyond U+10FFFF.
    low: u8,
    high: u8,
    code: u32,
}

/// What one more byte makes of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Bytes are missing.
    More(Multibyte),
    /// The character with this code.
    Done(u32),
}

impl Multibyte {
    /// The character that `lead` begins, if it begins one.
    pub(super) fn begin(lead: u8) -> Option<Self> {
        let (missing, low, high, bits) = match lead {
            0xC2..=0xDF => (1, 0x80, 0xBF, lead & 0x1F),
            0xE0 => (2, 0xA0, 0xBF, 0),
            0xED => (2, 0x80, 0x9F, 0x0D),
            0xE1..=0xEF => (2, 0x80, 0xBF, lead & 0x0F),
            0xF0 => (3, 0x90, 0xBF, 0),
            0xF1..=0xF3 => (3, 0x80, 0xBF, lead & 0x07),
            0xF4 => (3, 0x80, 0x8F, 0x04),
            _ => return None,
        };
        Some(Self { missing, low, high, code: u32::from(bits) })
    }

    /// The character with `byte` added, if it can be.
    pub(super) fn add(self, byte: u8) -> Option<Step> {
        if !(self.low..=self.high).contains(&byte) {
            return None;
        }
        let code = (self.code << 6) | u32::from(byte & 0x3F);
        Some(match self.missing {
            0 | 1 => Step::Done(code),
            more => Step::More(Self { missing: more - 1, low: 0x80, high: 0xBF, code }),
        })
    }
}
