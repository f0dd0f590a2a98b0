//! What the upstream says of its own limits, on every answer.
use super::Timestamp;
use serde::{Deserialize, Serialize};

/// The three buckets of a model class, as the `anthropic-ratelimit-*` headers
/// of one answer described them. A bucket the answer did not mention is `None`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RateLimits {
    /// Calls.
    pub requests: Option<BucketLevel>,
    /// Input tokens; `remaining` is rounded to thousands by the upstream.
    pub input: Option<BucketLevel>,
    /// Output tokens; `remaining` is rounded to thousands by the upstream.
    pub output: Option<BucketLevel>,
}

/// One bucket.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BucketLevel {
    /// What may be used in a minute.
    pub limit: u64,
    /// What is left now.
    pub remaining: u64,
    /// When the bucket will be full again.
    pub reset: Option<Timestamp>,
}

/// What may be used in a minute, per model class.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Limits {
    /// Calls a minute.
    pub requests: u64,
    /// Input tokens a minute.
    pub input: u64,
    /// Output tokens a minute.
    pub output: u64,
}
