//! The words of the system. Each word means one thing, and is spelled the
//! same in Rust, SQL, JSON, metrics and documentation.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod backoff;
mod entropy;
mod ids;
mod job_error;
mod model_class;
mod origin;
mod outcome;
mod priority;
mod rate_limits;
mod reading;
mod status;
mod time;
mod tokens;

pub use backoff::Backoff;
pub use entropy::Entropy;
pub use ids::{BatchId, InvalidId, InvalidTenantId, JobId, TenantId};
pub use job_error::JobError;
pub use model_class::ModelClass;
pub use origin::Origin;
pub use outcome::{AccountFault, Outcome, Verdict};
pub use priority::{Plan, Priority, Queue};
pub use rate_limits::{BucketLevel, Limits, RateLimits};
pub use reading::from_json;
pub use status::{IllegalTransition, JobEvent, JobStatus};
pub use time::{Span, Timestamp, as_rfc3339};
pub use tokens::{Tokens, Usage};
