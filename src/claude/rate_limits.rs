//! The limits an answer's headers describe.
use crate::domain::{BucketLevel, RateLimits, Timestamp};

/// Reads `anthropic-ratelimit-{requests,input-tokens,output-tokens}-{limit,
/// remaining,reset}`. A bucket needs its limit and what remains; anything
/// unreadable is as good as absent. The combined `-tokens-` headers are left
/// out: they repeat the most restrictive of the others.
pub fn read_rate_limits(header: impl Fn(&str) -> Option<String>) -> RateLimits {
    let level = |bucket: &str| {
        let field = |name: &str| header(&format!("anthropic-ratelimit-{bucket}-{name}"));
        let amount = |name: &str| field(name)?.trim().parse().ok();
        Some(BucketLevel {
            limit: amount("limit")?,
            remaining: amount("remaining")?,
            reset: field("reset").and_then(|time| Timestamp::from_rfc3339(time.trim())),
        })
    };
    RateLimits {
        requests: level("requests"),
        input: level("input-tokens"),
        output: level("output-tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_is_read_by_itself() {
        let limits = read_rate_limits(|name| {
            let value = match name {
                "anthropic-ratelimit-requests-limit" => "50",
                "anthropic-ratelimit-requests-remaining" => "49",
                "anthropic-ratelimit-requests-reset" => "2024-03-26T20:00:00Z",
                "anthropic-ratelimit-input-tokens-limit" => " 40000 ",
                "anthropic-ratelimit-input-tokens-remaining" => "0",
                "anthropic-ratelimit-input-tokens-reset" => "soon",
                "anthropic-ratelimit-output-tokens-limit" => "-1",
                "anthropic-ratelimit-output-tokens-remaining" => "8000",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let requests = limits.requests.unwrap();
        assert_eq!((requests.limit, requests.remaining), (50, 49));
        assert_eq!(requests.reset, Some(Timestamp::from_millis(1_711_483_200_000)));
        let input = limits.input.unwrap();
        assert_eq!((input.limit, input.remaining, input.reset), (40_000, 0, None));
        assert_eq!(limits.output, None);
    }

    #[test]
    fn an_answer_without_headers_says_nothing() {
        assert_eq!(read_rate_limits(|_| None), RateLimits::default());
    }
}
