//! `kind; name=value; name="value"`, read leniently: clients disagree on how a
//! quote or a backslash is written inside a quoted value.

/// What stands before the first semicolon, and the parameters after it.
pub(super) fn split(header: &[u8]) -> (&[u8], Parameters<'_>) {
    let (kind, rest) = cut(header, |b| b == b';');
    (kind.trim_ascii(), Parameters { rest })
}

/// The parameters of a header: names in lower case, values without quotes.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    rest: &'a [u8],
}

impl Iterator for Parameters<'_> {
    type Item = (String, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (_, rest) = cut(self.rest, |b| b != b';' && !b.is_ascii_whitespace());
            if rest.is_empty() {
                return None;
            }
            let (name, rest) = cut(rest, |b| b == b'=' || b == b';');
            self.rest = rest;
            let Some(value) = rest.strip_prefix(b"=") else {
                continue;
            };
            let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
            let (value, rest) = match value.trim_ascii_start().strip_prefix(b"\"") {
                Some(quoted) => unquoted(quoted),
                None => token(value),
            };
            self.rest = rest;
            return Some((name, value));
        }
    }
}

fn token(bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let (value, rest) = cut(bytes, |b| b == b';');
    (value.trim_ascii().to_vec(), rest)
}

/// A quoted value up to the quote that closes it. Only `\"` is unescaped: any
/// other backslash is one of a Windows path.
fn unquoted(bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let (mut value, mut rest) = (Vec::new(), bytes);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'"' {
            let escaped = value.last() == Some(&b'\\');
            if closes(after, escaped) {
                break;
            }
            if escaped {
                value.pop();
            }
        }
        value.push(byte);
    }
    (value, rest)
}

/// Whether a quote closes its value, judged by what follows it. After a
/// backslash it must be beyond doubt: the end, or another parameter.
fn closes(after: &[u8], escaped: bool) -> bool {
    match after.trim_ascii_start().split_first() {
        None => true,
        Some((b';', next)) => !escaped || starts_parameter(next),
        Some(_) => false,
    }
}

fn starts_parameter(bytes: &[u8]) -> bool {
    let in_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'*';
    let (name, rest) = cut(bytes.trim_ascii_start(), |b| !in_name(b));
    !name.is_empty() && rest.starts_with(b"=")
}

/// Splits before the first byte that satisfies `at`.
fn cut(bytes: &[u8], at: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let index = bytes.iter().position(|b| at(*b)).unwrap_or(bytes.len());
    bytes.split_at_checked(index).unwrap_or((bytes, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_and_backslashes_are_read_as_they_were_meant() {
        for (written, meant) in [
            ("plain.pdf", "plain.pdf"),
            ("with ; and = inside", "with ; and = inside"),
            (r#"the \"final\" one"#, r#"the "final" one"#),
            (r#"the "final" one"#, r#"the "final" one"#),
            (r"D:\scans\", r"D:\scans\"),
            (r"C:\a b\c.pdf", r"C:\a b\c.pdf"),
            (r#"a\"; b"#, r#"a"; b"#),
            ("", ""),
        ] {
            let header = format!(r#"form-data; filename="{written}"; name="files""#);
            assert_eq!(
                read(&header),
                [("filename", meant), ("name", "files")].map(owned),
                "{written}"
            );
            let last = format!(r#"form-data;name=files ;filename="{written}""#);
            assert_eq!(
                read(&last),
                [("name", "files"), ("filename", meant)].map(owned),
                "{written}"
            );
        }
    }

    #[test]
    fn odd_headers_are_read_as_far_as_possible() {
        assert_eq!(read("form-data"), []);
        assert_eq!(
            read("form-data;; x; NAME = a b ;y=\"open"),
            [("name", "a b"), ("y", "open")].map(owned)
        );
        assert_eq!(split(b" form-data ; a=b").0, b"form-data");
    }

    proptest! {
        #[test]
        fn no_header_makes_it_fail_or_hang(header: Vec<u8>) {
            prop_assert!(split(&header).1.count() <= header.len());
        }
    }

    fn read(header: &str) -> Vec<(String, String)> {
        let text = |(name, value)| (name, String::from_utf8(value).unwrap());
        split(header.as_bytes()).1.map(text).collect()
    }

    fn owned((name, value): (&str, &str)) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }
}
