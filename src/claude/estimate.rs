//! How many input tokens a text will cost, guessed before the call. The guess
//! is on the high side and corrected by the real usage afterwards.
use super::model::{Tokenizer, max_pages};
use crate::domain::Tokens;

/// The guess for a text.
#[must_use]
pub fn estimate_text(text: &str, model: &str) -> Tokens {
    let mut meter = Meter::of(model);
    text.chars().for_each(|c| meter.add_code(c.into()));
    meter.tokens()
}

/// The guess for a text of which only the kinds of characters are known, and
/// for the files in it (bytes of base64), weighed as PDFs.
#[must_use]
pub fn estimate_counts(ascii: u64, cjk: u64, other: u64, data_bytes: u64, model: &str) -> Tokens {
    // Between prose and JSON.
    let plain = match Tokenizer::of(model) {
        Tokenizer::Old => 400,
        Tokenizer::New => 500,
    };
    let mut meter = Meter::of(model);
    for (characters, thousandths) in [(ascii, plain), (cjk, 1_500), (other, 1_000)] {
        meter.add_thousandths(characters.saturating_mul(thousandths));
    }
    if data_bytes > 0 {
        meter.add(estimate_pdf(data_bytes / 4 * 3, None, model));
    }
    meter.tokens()
}

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

/// Adds up thousandths of tokens.
#[derive(Debug)]
pub(super) struct Meter {
    tokenizer: Tokenizer,
    thousandths: u64,
}

impl Meter {
    pub(super) fn of(model: &str) -> Self {
        Self { tokenizer: Tokenizer::of(model), thousandths: 0 }
    }

    /// Adds a character or, from an escape in JSON, one half of a surrogate
    /// pair.
    pub(super) fn add_code(&mut self, code: u32) {
        self.add_thousandths(weight(code, self.tokenizer));
    }

    pub(super) fn add_thousandths(&mut self, thousandths: u64) {
        self.thousandths = self.thousandths.saturating_add(thousandths);
    }

    pub(super) fn add(&mut self, tokens: Tokens) {
        self.add_thousandths(tokens.get().saturating_mul(1_000));
    }

    /// A picture. Its size in pixels is unknown, so its size in bytes decides
    /// whether the larger cap of newer models is likely to be reached.
    pub(super) fn add_image(&mut self, base64_len: usize) {
        let large = self.tokenizer == Tokenizer::New && base64_len > 400_000;
        self.add(Tokens::new(if large { 4_784 } else { 1_600 }));
    }

    pub(super) fn tokens(&self) -> Tokens {
        Tokens::new(self.thousandths.div_ceil(1_000))
    }
}

/// Thousandths of a token per character. Letters: 3.3 and 2.5 characters a
/// token, from the published window sizes (200k tokens ≈ 680k characters, 1M ≈
/// 2.5M). Signs and digits bring code and JSON to about 2.5 and 2.0; numbers
/// cost the same with either tokenizer, as do Japanese and Chinese, at about
/// 1.5 tokens a character.
fn weight(code: u32, tokenizer: Tokenizer) -> u64 {
    let (letter, sign, accented) = match tokenizer {
        Tokenizer::Old => (303, 700, 700),
        Tokenizer::New => (400, 750, 900),
    };
    match code {
        0x20 | 0x41..=0x5a | 0x61..=0x7a => letter,
        0x30..=0x39 => 500,
        0..0x80 => sign,
        // Latin with accents, Greek, Cyrillic.
        0x80..0x590 => accented,
        // Hangul: about 0.6 measured, once; the rest of Asia and symbols.
        0xac00..0xd7b0 | 0x590..0x2e80 => 1_000,
        // Han, kana, full width; half a surrogate pair.
        0x2e80..0x1_0000 => 1_500,
        // Emoji and rare Han.
        _ => 3_000,
    }
}

const BYTES_PER_PAGE: u64 = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "claude-sonnet-4-6";
    const NEW: &str = "claude-opus-5";

    #[test]
    fn prose_costs_what_the_windows_say() {
        let prose = "The quick brown fox jumps over the lazy dog, and then it rests. ".repeat(100);
        let chars_per_token = |model| {
            let tokens = estimate_text(&prose, model).get();
            prose.len() as u64 * 10 / tokens
        };
        assert!((29..=34).contains(&chars_per_token(OLD)));
        assert!((22..=26).contains(&chars_per_token(NEW)));
    }

    #[test]
    fn json_costs_more_than_prose() {
        let json = r#"{"id":17,"name":"Ada","tags":["a","b"],"ok":true},"#.repeat(100);
        let tokens = estimate_text(&json, OLD).get();
        assert!((18..=25).contains(&(json.len() as u64 * 10 / tokens)));
    }

    #[test]
    fn han_text_is_never_counted_by_four() {
        let han = "漢字".repeat(10_000);
        assert_eq!(estimate_text(&han, OLD), Tokens::new(30_000));
        assert_eq!(estimate_text(&han, NEW), Tokens::new(30_000));
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
    fn nothing_costs_nothing() {
        assert_eq!(estimate_text("", OLD), Tokens::ZERO);
    }
}
