//! How a call says who pays.

/// The header that carries the key. Since version 2026-10-21 the official SDKs
/// send a bearer token; before, `x-api-key`.
#[must_use]
pub fn key_header(version: &str, key: &str) -> (&'static str, String) {
    if version >= BEARER_SINCE {
        ("authorization", format!("Bearer {key}"))
    } else {
        ("x-api-key", key.to_owned())
    }
}

/// Versions are dates, so they compare as text.
const BEARER_SINCE: &str = "2026-10-21";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_which_header_carries_the_key() {
        assert_eq!(key_header("2023-06-01", "k"), ("x-api-key", "k".to_owned()));
        assert_eq!(key_header("2026-10-21", "k"), ("authorization", "Bearer k".to_owned()));
    }
}
