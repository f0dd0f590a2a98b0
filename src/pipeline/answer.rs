//! What a caller is told when the answer is yes: JSON, with the headers that
//! belong to it.
use super::problem::Problem;
use crate::domain::Span;
use crate::scheduler::Quota;
use serde::Serialize;

/// An answer, ready to be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// JSON.
    pub body: String,
    /// Lower-case names, and values.
    pub headers: Vec<(&'static str, String)>,
}

/// An answer, or why there is none.
pub type Answered = Result<Answer, Problem>;

impl Answer {
    /// 200 with a body, or another status.
    ///
    /// # Errors
    ///
    /// 500 if the body cannot be written.
    pub fn json<B: Serialize>(status: u16, body: &B) -> Answered {
        let body = serde_json::to_string(body).map_err(|_| Problem::internal())?;
        Ok(Self { status, body, headers: Vec::new() })
    }

    /// With a header more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Says when to ask again about something unfinished.
    #[must_use]
    pub fn again(self, after: Option<Span>) -> Self {
        match after {
            Some(after) => self.with("retry-after", after.as_secs_rounded_up().to_string()),
            None => self,
        }
    }

    /// Says what is left of the tenant's rate.
    #[must_use]
    pub fn quota(self, quota: Option<Quota>) -> Self {
        let Some(quota) = quota else { return self };
        let [policy, left] = rate_limit(quota);
        self.with("ratelimit-policy", policy).with("ratelimit", left)
    }
}

/// The values of `RateLimit-Policy` and `RateLimit`, as the IETF's draft has
/// them: so many requests in a window of 60 s; how many are left, and in how
/// many seconds all are.
#[must_use]
pub fn rate_limit(Quota { limit, remaining, reset }: Quota) -> [String; 2] {
    let reset = reset.as_secs_rounded_up();
    [format!(r#""requests";q={limit};w=60"#), format!(r#""requests";r={remaining};t={reset}"#)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_have_the_form_of_the_draft() {
        let quota = Quota { limit: 600, remaining: 149, reset: Span::from_millis(100) };
        let fields = [r#""requests";q=600;w=60"#, r#""requests";r=149;t=1"#];
        assert_eq!(rate_limit(quota), fields.map(str::to_owned));
        let answer = Answer::json(202, &1).unwrap().quota(Some(quota));
        assert_eq!(answer.headers[0], ("ratelimit-policy", fields[0].to_owned()));
    }
}
