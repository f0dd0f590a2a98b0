//! What separates the parts of a form, as its content type says.
use super::parameters;
use crate::pipeline::problem::Problem;

/// The boundary in a `multipart/form-data` content type.
pub(super) fn of(content_type: &str) -> Result<String, Problem> {
    let (kind, mut parameters) = parameters::split(content_type.as_bytes());
    if !kind.eq_ignore_ascii_case(b"multipart/form-data") {
        let detail = "send the files as multipart/form-data, in the field `files`";
        return Err(Problem::unsupported_type(detail));
    }
    let boundary = parameters.find_map(|(name, value)| (name == "boundary").then_some(value));
    match boundary.map(String::from_utf8) {
        Some(Ok(boundary)) if is_legal(&boundary) => Ok(boundary),
        Some(_) => Err(Problem::invalid(
            "the boundary in the content type must be 1 to 70 printable ASCII characters",
        )),
        None => Err(Problem::invalid(
            "the content type lacks its boundary: let the HTTP client set the content type",
        )),
    }
}

/// RFC 2046 §5.1.1, without its list of punctuation.
fn is_legal(boundary: &str) -> bool {
    let printable = |b: u8| b == b' ' || b.is_ascii_graphic();
    (1..=70).contains(&boundary.len())
        && !boundary.ends_with(' ')
        && boundary.bytes().all(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_read_however_it_is_written() {
        for (content_type, boundary) in [
            ("multipart/form-data; boundary=----WebKitFormBoundaryA1", "----WebKitFormBoundaryA1"),
            ("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b:c\"", "a b:c"),
            ("multipart/form-data; boundary=a=b/c", "a=b/c"),
        ] {
            assert_eq!(of(content_type).as_deref(), Ok(boundary));
        }
    }

    #[test]
    fn another_kind_of_body_is_415_and_a_bad_boundary_400() {
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        for (content_type, status) in [
            ("", 415),
            ("application/json", 415),
            ("application/x-www-form-urlencoded", 415),
            ("multipart/mixed; boundary=x", 415),
            ("multipart/form-data", 400),
            ("multipart/form-data; boundary=", 400),
            ("multipart/form-data; boundary=\"\"", 400),
            ("multipart/form-data; boundary=ü", 400),
            (&long, 400),
        ] {
            assert_eq!(of(content_type).unwrap_err().status, status, "{content_type}");
        }
    }
}
