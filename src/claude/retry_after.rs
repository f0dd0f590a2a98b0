//! What the upstream says about trying again.
use crate::domain::{Span, Timestamp};

/// The longest wait taken from a header. A wish for a year, or for more than
/// 64 bits of seconds, means "not today": a day is also the longest delay a
/// Cloudflare queue takes.
pub const MAX_RETRY_AFTER: Span = Span::from_secs(24 * 60 * 60);

/// What the headers of an error advise.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Advice {
    /// How long to wait at least, at most [`MAX_RETRY_AFTER`].
    pub retry_after: Option<Span>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
}

impl Advice {
    /// Reads the headers. Precedence is the official SDKs': `retry-after-ms`,
    /// then `retry-after` as seconds (fractions allowed), then as an HTTP
    /// date. Zero, negative and unreadable values say nothing.
    pub fn read(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> Self {
        let millis = header("retry-after-ms").and_then(|text| decimal(&text, 3));
        let retry_after = millis.or_else(|| {
            let text = header("retry-after")?;
            decimal(&text, 6).or_else(|| until(&text, now))
        });
        let should_retry = header("x-should-retry");
        Self { retry_after, should_retry: should_retry.and_then(|word| word.trim().parse().ok()) }
    }
}

/// A number of seconds or the like. `places` digits of its fraction are whole
/// microseconds; a reader of floats would bring a table of 10 kB along.
fn decimal(text: &str, places: usize) -> Option<Span> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = whole.bytes().chain(part.bytes());
    if !digits.all(|byte| byte.is_ascii_digit()) || whole.len() + part.len() == 0 {
        return None;
    }
    let micros = format!("{whole}{part:0<places$.places$}").parse().unwrap_or(u64::MAX);
    positive(micros.div_ceil(1_000).min(MAX_RETRY_AFTER.as_millis()))
}

fn until(date: &str, now: Timestamp) -> Option<Span> {
    let wait = Timestamp::from_http_date(date.trim())?.since(now);
    positive(wait.min(MAX_RETRY_AFTER).as_millis())
}

fn positive(millis: u64) -> Option<Span> {
    (millis > 0).then(|| Span::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_every_form() {
        for (text, millis) in [
            ("7", Some(7_000)),
            (" 0.5 ", Some(500)),
            ("0.0001", Some(1)),
            (".25", Some(250)),
            ("1.", Some(1_000)),
            ("1.2345678", Some(1_235)),
            ("86401", Some(MAX_RETRY_AFTER.as_millis())),
            ("31536000", Some(MAX_RETRY_AFTER.as_millis())),
            ("99999999999999999999", Some(MAX_RETRY_AFTER.as_millis())),
            (&"9".repeat(400), Some(MAX_RETRY_AFTER.as_millis())),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30_000)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", None),
            ("Sat, 06 Nov 2094 08:49:07 GMT", Some(MAX_RETRY_AFTER.as_millis())),
            ("0", None),
            ("-3", None),
            ("inf", None),
            ("1e3", None),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("soon", None),
        ] {
            assert_eq!(
                read(&[("retry-after", text)]).retry_after,
                millis.map(Span::from_millis),
                "{text}"
            );
        }
    }

    #[test]
    fn milliseconds_come_first_unless_they_say_nothing() {
        let both = |ms| read(&[("retry-after-ms", ms), ("retry-after", "9")]).retry_after;
        assert_eq!(both("1500.2"), Some(Span::from_millis(1_501)));
        assert_eq!(both("-1"), Some(Span::from_secs(9)));
    }

    #[test]
    fn should_retry_is_true_false_or_nothing() {
        let said = |word| read(&[("x-should-retry", word)]).should_retry;
        assert_eq!(said("true"), Some(true));
        assert_eq!(said("false"), Some(false));
        assert_eq!(said("perhaps"), None);
    }

    fn read(headers: &[(&str, &str)]) -> Advice {
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Advice::read(header, Timestamp::from_millis(784_111_747_000))
    }
}
