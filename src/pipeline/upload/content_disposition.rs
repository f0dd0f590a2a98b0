//! The header that names a part. multer reads it too, but finds no name in
//! some that common clients send (`filename*`, Latin-1, a final backslash).
use super::parameters;

/// What a part calls itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Disposition {
    /// The field's name.
    pub(super) name: String,
    /// The file's name as sent, if the part has one; it may be empty.
    pub(super) filename: Option<String>,
}

impl Disposition {
    /// Reads the header; `None` if it names no field.
    pub(super) fn parse(header: &[u8]) -> Option<Self> {
        let (mut name, mut plain, mut extended) = (None, None, None);
        for (parameter, value) in parameters::split(header).1 {
            match parameter.as_str() {
                "name" if name.is_none() => name = Some(form_text(&value)),
                "filename" if plain.is_none() => plain = Some(form_text(&value)),
                "filename*" if extended.is_none() => extended = extended_text(&value),
                _ => {}
            }
        }
        Some(Self { name: name?, filename: extended.or(plain) })
    }
}

/// Text as browsers write it: UTF-8, with `"`, CR and LF percent-encoded and
/// nothing else, so that `50%25` is what it says.
fn form_text(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).map_or_else(|_| latin1(bytes), str::to_owned);
    ENCODED.iter().fold(text, |text, (code, plain)| text.replace(code, plain))
}

const ENCODED: [(&str, &str); 5] =
    [("%22", "\""), ("%0D", "\r"), ("%0A", "\n"), ("%0d", "\r"), ("%0a", "\n")];

/// RFC 5987: `charset'language'percent-encoded`.
fn extended_text(value: &[u8]) -> Option<String> {
    let mut sections = value.splitn(3, |b| *b == b'\'');
    let (charset, _language) = (sections.next()?, sections.next()?);
    let bytes = percent_decoded(sections.next()?);
    if charset.eq_ignore_ascii_case(b"utf-8") {
        String::from_utf8(bytes).ok()
    } else if charset.eq_ignore_ascii_case(b"iso-8859-1") {
        Some(latin1(&bytes))
    } else {
        None
    }
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let (mut decoded, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.split_at_checked(2).filter(|_| byte == b'%');
        let code = code.and_then(|(digits, after)| Some((hex(digits)?, after)));
        let (byte, after) = code.unwrap_or((byte, after));
        decoded.push(byte);
        rest = after;
    }
    decoded
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    if digits.starts_with('+') { None } else { u8::from_str_radix(digits, 16).ok() }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_name_is_decoded_whatever_its_form() {
        for (parameter, filename) in [
            (&br#"filename="a.pdf""#[..], "a.pdf"),
            ("filename=\"請求書 📄.pdf\"".as_bytes(), "請求書 📄.pdf"),
            (b"filename=\"r\xe9sum\xe9.pdf\"", "résumé.pdf"),
            (br#"filename="the %22final%22 one 50%25.pdf""#, "the \"final\" one 50%25.pdf"),
            (b"filename*=UTF-8''%C3%BCbersicht%20%E2%84%961.pdf", "übersicht №1.pdf"),
            (b"filename*=iso-8859-1'de'%fcber.pdf", "über.pdf"),
            (b"filename*=utf-8''100%.pdf", "100%.pdf"),
            (b"filename=\"b.pdf\"; filename*=UTF-8''%E8%AB%8B.pdf", "請.pdf"),
            (b"filename=\"b.pdf\"; filename*=UTF-8''%FF.pdf", "b.pdf"),
            (b"filename=\"b.pdf\"; filename*=koi8-r''%C1.pdf", "b.pdf"),
            (b"filename=\"b.pdf\"; filename*=junk", "b.pdf"),
            (b"filename=\"\"", ""),
        ] {
            let header = [b"form-data; name=\"files\"; ", parameter].concat();
            assert_eq!(read(&header), Some(owned("files", Some(filename))));
        }
    }

    #[test]
    fn a_part_needs_a_name_but_no_file_name() {
        assert_eq!(read(b"form-data; name=prompt"), Some(owned("prompt", None)));
        assert_eq!(read(b"form-data; filename=\"a; name=x\""), None);
        assert_eq!(read(b""), None);
    }

    #[test]
    fn a_name_inside_a_file_name_renames_nothing() {
        let header = br#"form-data; name="files"; filename="x\"; name=\"prompt.pdf""#;
        assert_eq!(Disposition::parse(header).unwrap().name, "files");
    }

    proptest! {
        #[test]
        fn any_text_survives_rfc_5987(name: String) {
            let encoded = name.bytes().map(|b| format!("%{b:02x}"));
            let value = format!("utf-8''{}", encoded.collect::<Vec<_>>().concat());
            prop_assert_eq!(extended_text(value.as_bytes()), Some(name));
        }
    }

    fn read(header: &[u8]) -> Option<(String, Option<String>)> {
        Disposition::parse(header).map(|part| (part.name, part.filename))
    }

    fn owned(name: &str, filename: Option<&str>) -> (String, Option<String>) {
        (name.to_owned(), filename.map(str::to_owned))
    }
}
