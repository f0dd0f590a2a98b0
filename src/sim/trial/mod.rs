//! Trials of the scheduler: known workloads, an upstream that limits and
//! refuses, and other policies to compare with, in virtual time.
//!
//! ```text
//! scenario ─▶ workload ─▶ run ─▶ measure ─▶ report
//!                         │ ▲
//!             policy ◀────┘ └──── upstream
//! ```
//! The scenarios are in `benches/scheduling/scenarios.json`; what they mean,
//! and what came of them, is in `docs/scheduling.md`.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a trial counts in floats: its numbers are small, and never negative"
)]

mod figure;
mod measure;
mod policy;
mod report;
mod run;
mod scenario;
mod source;
mod stream;
mod upstream;
mod workload;

pub use figure::{Check, Demotion, Figure, Promises, Timer};
pub use measure::{Abuse, Recovery, Trial, deviation, jain, percentile, sorted};
pub use policy::{Answer, Kind, Policy, Step, Tune, config_for};
pub use report::{HEADER, figure, number, percent, row, seconds};
pub use run::{Fate, Run, Stretch, run};
pub use scenario::{
    Client, Estimates, Latency, OutputMode, RetryAfter, Scenario, Scenarios, TenantSpec,
    UpstreamSpec,
};
pub use source::{Arrival, Part, Size, Source, Who};
pub use stream::{Stream, fnv1a64, mix64, unit};
pub use upstream::{Level, Reply, Told, Upstream};
pub use workload::{Job, Tenant, Workload, tier_number};
