//! What a caller is told who met a limit at the door.
use super::problem::Problem;
use crate::domain::Span;
use crate::scheduler::{Limit, Quota, Refusal};
use serde::Serialize;
use utoipa::ToSchema;

/// Which limit at the door, whose it is, and how full.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
pub struct LimitMet {
    name: Limit,
    /// `tenant`, or `service`: that of all tenants.
    #[schema(pattern = "^(tenant|service)$")]
    scope: &'static str,
    /// What it allows, as things are.
    most: u64,
    /// How much of that is used.
    used: u64,
    /// What the request brought, as far as it had come.
    asked: u64,
    /// The most one request can ever have, where jobs are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<u64>,
}

impl LimitMet {
    /// The most one request can ever have, where jobs are counted.
    #[must_use]
    pub const fn largest(&self) -> Option<u64> {
        self.largest
    }
}

impl Problem {
    /// 413: more jobs than a request can ever have.
    #[must_use]
    pub fn too_many(largest: u64) -> Self {
        let detail = format!("a request may have at most {largest} jobs here; this one has more");
        Self::too_large(detail)
    }

    /// 429, or 413 if waiting cannot help: a limit at the door.
    #[must_use]
    pub fn limited(refusal: Refusal, quota: Option<Quota>) -> Self {
        let Refusal { limit, most, used, asked, largest, retry_after } = refusal;
        if limit == Limit::Request {
            return Self { quota, ..Self::too_many(most) };
        }
        let seconds = retry_after.map_or(0, Span::as_secs_rounded_up).max(1);
        let (kind, title, scope) = match limit {
            Limit::Rate => ("rate-limited", "Too many requests", "tenant"),
            Limit::Capacity => ("queue-saturated", "The queue is saturated", "service"),
            Limit::Share | Limit::Request => {
                ("queue-saturated", "The queue is saturated", "tenant")
            }
        };
        let detail = format!("{}; come back in {seconds} s", in_words(&refusal, quota));
        Self {
            limit: Some(Box::new(LimitMet { name: limit, scope, most, used, asked, largest })),
            retry_after: Some(Span::from_secs(seconds)),
            quota,
            ..Self::new(kind, 429, title, detail)
        }
    }
}

fn in_words(refusal: &Refusal, quota: Option<Quota>) -> String {
    let Refusal { limit, most, used, asked, largest, .. } = *refusal;
    let brings = match (asked, largest) {
        (2.., Some(largest)) => {
            format!(", this request brings {asked} so far (it may bring {largest} at most)")
        }
        _ => String::new(),
    };
    match (limit, quota) {
        (Limit::Rate, Some(Quota { limit, .. })) => {
            format!("this tenant may make {limit} requests a minute, {most} of them at once")
        }
        (Limit::Rate, None) => format!("this tenant may make {most} requests at once"),
        (Limit::Capacity, _) => {
            format!(
                "{used} places of the service are taken or kept{brings}, and {most} is the bound"
            )
        }
        (Limit::Share | Limit::Request, _) => {
            format!("this tenant has taken {used} places{brings}, and its share is {most} now")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(limit: Limit, asked: u64) -> String {
        let retry_after = Some(Span::from_millis(2_001));
        let refusal = Refusal { limit, most: 8, used: 5, asked, largest: Some(10), retry_after };
        let quota = Quota { limit: 32, remaining: 0, reset: Span::ZERO };
        Problem::limited(refusal, Some(quota)).detail
    }

    #[test]
    fn each_limit_says_whose_it_is_how_full_and_when_to_come_back() {
        let rate = "this tenant may make 32 requests a minute, 8 of them at once; come back in 3 s";
        assert_eq!(detail(Limit::Rate, 1), rate);
        let house =
            "5 places of the service are taken or kept, and 8 is the bound; come back in 3 s";
        assert_eq!(detail(Limit::Capacity, 1), house);
        let share = "this tenant has taken 5 places, this request brings 4 so far (it may bring \
                     10 at most), and its share is 8 now; come back in 3 s";
        assert_eq!(detail(Limit::Share, 4), share);
        assert!(detail(Limit::Request, 11).starts_with("a request may have at most 8 jobs"));
    }
}
