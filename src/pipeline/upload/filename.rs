//! The name a file is shown by. It never names anything in a store.

/// The most bytes a shown name takes inside JSON: quotes and backslashes are
/// escaped, control characters do not occur.
pub(super) const MAX_JSON_BYTES: u64 = MAX_CHARS as u64 * 4;

/// The name to show for the file at `index`: what was sent, made harmless, or
/// `file-1.pdf` and so on where nothing is left.
pub(super) fn shown(sent: Option<&str>, index: usize) -> String {
    let name = sent.map(clean).unwrap_or_default();
    if matches!(name.as_str(), "" | "." | "..") { format!("file-{}.pdf", index + 1) } else { name }
}

/// One line of printable text, without a path.
pub(super) fn clean(text: &str) -> String {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = last.chars().filter(|c| !c.is_control() && !reorders(*c));
    let name: String = kept.collect::<String>().trim().chars().take(MAX_CHARS).collect();
    name.trim_end().to_owned()
}

/// Characters that make `fdp.exe` read `exe.pdf`.
const fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

const MAX_CHARS: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_last_part_of_a_path_is_shown() {
        for (sent, name) in [
            (r"D:\scans\a.pdf", "a.pdf"),
            ("../../etc/passwd", "passwd"),
            ("請求書 📄.pdf", "請求書 📄.pdf"),
            ("a\0b\r\nc\u{9f}.pdf", "abc.pdf"),
            ("\u{202e}fdp.exe", "fdp.exe"),
            ("  a.pdf ", "a.pdf"),
            ("<b>&'\".pdf", "<b>&'\".pdf"),
        ] {
            assert_eq!(shown(Some(sent), 0), name);
        }
    }

    #[test]
    fn a_name_is_made_up_where_none_is_left() {
        for sent in [None, Some(""), Some(r"D:\scans\"), Some(".."), Some("\0 ")] {
            assert_eq!(shown(sent, 6), "file-7.pdf");
        }
    }

    proptest! {
        #[test]
        fn a_shown_name_is_short_and_printable(sent in any::<String>(), repeated in 1..40_usize) {
            let name = shown(Some(&sent.repeat(repeated)), 0);
            prop_assert!((1..=MAX_CHARS).contains(&name.chars().count()));
            prop_assert!(!name.contains(|c: char| c.is_control() || c == '/' || c == '\\'));
            let json = serde_json::to_string(&name).unwrap();
            prop_assert!(json.len() as u64 - 2 <= MAX_JSON_BYTES);
            prop_assert_eq!(shown(Some(&name), 0), name);
        }
    }
}
