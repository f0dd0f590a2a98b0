//! What a model's name tells about it.

/// How a model cuts text into tokens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tokenizer {
    /// Up to 4.6 (and Haiku 4.5): about 3.4 characters of English a token.
    Old,
    /// 4.7 and later, all of 5: about 2.5. Also assumed of names without a
    /// version, because more tokens is the safer guess.
    New,
}

impl Tokenizer {
    pub(super) fn of(model: &str) -> Self {
        match version(model) {
            Some(version) if version <= (4, 6) => Self::Old,
            Some(_) | None => Self::New,
        }
    }
}

/// How many PDF pages a request to this model may carry: 100 where the context
/// window is below a million tokens (Haiku 4.5 and what is as old), else 600.
#[must_use]
pub fn max_pages(model: &str) -> u32 {
    match version(model) {
        Some(version) if version <= (4, 5) => 100,
        Some(_) | None => 600,
    }
}

/// `claude-haiku-4-5-20251001` is 4.5, `claude-3-opus-20240229` is 3.0. A date
/// is too long to be taken for a version.
fn version(model: &str) -> Option<(u32, u32)> {
    let mut numbers =
        model.split('-').filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_tokenizer_and_window() {
        for (model, tokenizer, pages) in [
            ("claude-haiku-4-5-20251001", Tokenizer::Old, 100),
            ("claude-haiku-4-5", Tokenizer::Old, 100),
            ("claude-3-opus-20240229", Tokenizer::Old, 100),
            ("claude-opus-4-20250514", Tokenizer::Old, 100),
            ("claude-sonnet-4-6", Tokenizer::Old, 600),
            ("claude-opus-4-7", Tokenizer::New, 600),
            ("claude-haiku-5-5", Tokenizer::New, 600),
            ("claude-opus-5", Tokenizer::New, 600),
            ("claude-mythos-preview", Tokenizer::New, 600),
        ] {
            assert_eq!((Tokenizer::of(model), max_pages(model)), (tokenizer, pages), "{model}");
        }
    }
}
