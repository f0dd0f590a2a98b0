//! How many input tokens a text will cost, guessed before the call. The guess
//! is on the high side and corrected by the real usage afterwards.
use super::model::{Tokenizer, max_pages};
use crate::domain::Tokens;
use std::ops::AddAssign;

/// The characters of a text, by what they cost: one scale for a prompt and for
/// the text in a request. Neither comes near 4 GB.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextCounts {
    /// The letters A to Z and spaces.
    pub letters: u32,
    /// The digits 0 to 9.
    pub digits: u32,
    /// All other ASCII, line feeds and control characters too.
    pub signs: u32,
    /// Latin with accents, Greek, Cyrillic.
    pub accented: u32,
    /// Hangul, the other writings of Asia, symbols.
    pub other: u32,
    /// Han, kana, full-width forms.
    pub cjk: u32,
    /// Emoji and rare Han.
    pub rare: u32,
    /// Not characters but the length of files in base64.
    pub data_bytes: u32,
}

impl TextCounts {
    /// Counts one character, or the code of one.
    pub fn add(&mut self, character: impl Into<u32>) {
        let class = match character.into() {
            0x20 | 0x41..=0x5a | 0x61..=0x7a => &mut self.letters,
            0x30..=0x39 => &mut self.digits,
            0..0x80 => &mut self.signs,
            0x80..0x590 => &mut self.accented,
            0xac00..0xd7b0 | 0x590..0x2e80 => &mut self.other,
            0x2e80..0x1_0000 => &mut self.cjk,
            _ => &mut self.rare,
        };
        *class += 1;
    }

    /// Counts a text of nothing but ASCII, eight characters at a time.
    pub fn add_ascii(&mut self, text: &[u8]) {
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            let word = u64::from_le_bytes(*word);
            let letters = within(word | (EACH * 0x20), b'a', b'z') | within(word, b' ', b' ');
            let letters = letters.count_ones();
            let digits = within(word, b'0', b'9').count_ones();
            self.letters += letters;
            self.digits += digits;
            self.signs += 8 - letters - digits;
        }
        for byte in rest {
            self.add(*byte);
        }
    }

    /// How many characters are ASCII.
    #[must_use]
    pub fn ascii(&self) -> u32 {
        self.letters + self.digits + self.signs
    }

    /// How many characters there are.
    #[must_use]
    pub fn characters(&self) -> u32 {
        self.ascii() + self.accented + self.other + self.cjk + self.rare
    }

    /// The guess. Files are weighed by their size alone, as PDFs: what counts
    /// here cannot tell an image from a document, so that a large image is
    /// charged far more than it costs. Files named by an id or a URL are no
    /// more than that name.
    #[must_use]
    pub fn tokens(&self, model: &str) -> Tokens {
        let scale = Scale::of(Tokenizer::of(model));
        let thousandths = [
            (self.letters, scale.letter),
            (self.digits, 500),
            (self.signs, scale.sign),
            (self.accented, scale.accented),
            (self.other, 1_000),
            (self.cjk, 1_500),
            (self.rare, 3_000),
        ];
        let text = thousandths.map(|(characters, weight)| u64::from(characters) * weight);
        let text = text.into_iter().sum::<u64>().div_ceil(1_000);
        let files = match self.data_bytes / 4 * 3 {
            0 => Tokens::ZERO,
            bytes => estimate_pdf(bytes.into(), None, model),
        };
        Tokens::new(text).saturating_add(files)
    }
}

impl From<&str> for TextCounts {
    fn from(text: &str) -> Self {
        let mut counts = Self::default();
        for character in text.chars() {
            counts.add(character);
        }
        counts
    }
}

impl AddAssign for TextCounts {
    fn add_assign(&mut self, more: Self) {
        self.letters += more.letters;
        self.digits += more.digits;
        self.signs += more.signs;
        self.accented += more.accented;
        self.other += more.other;
        self.cjk += more.cjk;
        self.rare += more.rare;
        self.data_bytes += more.data_bytes;
    }
}

/// Thousandths of a token per character, where the tokenizers differ. Letters:
/// 3.3 and 2.5 characters a token, from the published window sizes (200k
/// tokens ≈ 680k characters, 1M ≈ 2.5M). Signs and digits bring code and JSON
/// to about 2.5 and 2.0; numbers cost the same with either, as do Japanese and
/// Chinese, at about 1.5 tokens a character, and Hangul (about 0.6 measured,
/// once).
struct Scale {
    letter: u64,
    sign: u64,
    accented: u64,
}

impl Scale {
    fn of(tokenizer: Tokenizer) -> Self {
        match tokenizer {
            Tokenizer::Old => Self { letter: 303, sign: 700, accented: 700 },
            Tokenizer::New => Self { letter: 400, sign: 750, accented: 900 },
        }
    }
}

/// One bit for each of eight ASCII bytes that lies between two others, these
/// included.
const fn within(word: u64, first: u8, last: u8) -> u64 {
    let from_first = word.wrapping_add(EACH * (0x80 - first as u64));
    let beyond_last = word.wrapping_add(EACH * (0x7f - last as u64));
    from_first & !beyond_last & (EACH * 0x80)
}

const EACH: u64 = 0x0101_0101_0101_0101;

/// The guess for a PDF: text and picture of every page. Without a page count,
/// one page for every 50 kB.
#[must_use]
pub fn estimate_pdf(bytes: u64, pages: Option<u32>, model: &str) -> Tokens {
    let guess = || bytes.div_ceil(BYTES_PER_PAGE).clamp(1, max_pages(model).into());
    let pages = pages.map_or_else(guess, u64::from);
    Tokens::new(pages.saturating_mul(match Tokenizer::of(model) {
        Tokenizer::Old => 2_500,
        Tokenizer::New => 3_250,
    }))
}

const BYTES_PER_PAGE: u64 = 50_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "claude-sonnet-4-6";
    const NEW: &str = "claude-opus-5";

    #[test]
    fn prose_costs_what_the_windows_say() {
        let prose = "The quick brown fox jumps over the lazy dog, and then it rests. ".repeat(100);
        let chars_per_token = |model| {
            let tokens = tokens(&prose, model);
            prose.len() as u64 * 10 / tokens
        };
        assert!((29..=34).contains(&chars_per_token(OLD)));
        assert!((22..=26).contains(&chars_per_token(NEW)));
    }

    #[test]
    fn json_costs_more_than_prose() {
        let json = r#"{"id":17,"name":"Ada","tags":["a","b"],"ok":true},"#.repeat(100);
        let tokens = tokens(&json, OLD);
        assert!((18..=25).contains(&(json.len() as u64 * 10 / tokens)));
    }

    #[test]
    fn han_text_is_never_counted_by_four() {
        let han = "漢字".repeat(10_000);
        assert_eq!((tokens(&han, OLD), tokens(&han, NEW)), (30_000, 30_000));
    }

    #[test]
    fn a_pdf_costs_by_page_or_by_size() {
        assert_eq!(estimate_pdf(1, Some(100), OLD), Tokens::new(250_000));
        assert_eq!(estimate_pdf(1, Some(100), NEW), Tokens::new(325_000));
        assert_eq!(estimate_pdf(600, None, OLD), Tokens::new(2_500));
        assert_eq!(estimate_pdf(100_001, None, OLD), Tokens::new(7_500));
        assert_eq!(estimate_pdf(u64::MAX, None, "claude-haiku-4-5"), Tokens::new(250_000));
    }

    #[test]
    fn a_file_costs_by_size_beside_the_text() {
        let file = |data_bytes| TextCounts { data_bytes, cjk: 2, ..TextCounts::default() };
        assert_eq!(file(0).tokens(OLD), Tokens::new(3));
        assert_eq!(file(4_000).tokens(OLD), Tokens::new(2_503));
        assert_eq!(file(400_000).tokens(OLD), Tokens::new(15_003));
        assert_eq!(file(u32::MAX).tokens("claude-haiku-4-5"), Tokens::new(250_003));
    }

    #[test]
    fn nothing_costs_nothing_and_no_sum_overflows() {
        assert_eq!(tokens("", OLD), 0);
        let all = TextCounts { letters: u32::MAX, rare: u32::MAX, ..TextCounts::default() };
        assert!(all.tokens(NEW).get() > 1 << 33);
    }

    #[test]
    fn a_character_is_counted_by_the_writing_it_belongs_to() {
        let counts = TextCounts::from("a Z 7, äßЖ 한글ก 漢字かな、 🦀\u{20000}");
        let expected = TextCounts {
            letters: 8,
            digits: 1,
            signs: 1,
            accented: 3,
            other: 3,
            cjk: 5,
            rare: 2,
            data_bytes: 0,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn every_ascii_character_has_one_class_either_way() {
        for byte in 0..0x80_u8 {
            let (mut eight, mut one) = (TextCounts::default(), TextCounts::default());
            eight.add_ascii(&[byte, 0, byte, 0x7f, byte, byte, b'9', b'a']);
            for byte in [byte, 0, byte, 0x7f, byte, byte, b'9', b'a'] {
                one.add(byte);
            }
            assert_eq!((eight, eight.ascii(), eight.characters()), (one, 8, 8), "{byte}");
        }
    }

    proptest! {
        #[test]
        fn a_text_in_ascii_is_counted_as_any_other(text in "[ -~\n\t]{0,60}") {
            let mut counts = TextCounts::default();
            counts.add_ascii(text.as_bytes());
            prop_assert_eq!(counts, TextCounts::from(text.as_str()));
        }
    }

    fn tokens(text: &str, model: &str) -> u64 {
        TextCounts::from(text).tokens(model).get()
    }
}
