//! What a scenario's headline measures, and how its workload is checked.
use crate::domain::Priority;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the headline measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Figure {
    /// Latencies of one tenant.
    TenantLatency {
        /// Which.
        tenant: String,
        /// Which of its percentiles.
        percentiles: Vec<f64>,
    },
    /// Jain's index over all tenants.
    JainAllTenants {
        /// In words.
        of: String,
    },
    /// How often a refusal follows a refusal.
    Recurrence {
        /// In words.
        of: String,
    },
    /// Latencies of one priority.
    TierPercentiles {
        /// Which.
        tier: Priority,
        /// Which of its percentiles.
        percentiles: Vec<f64>,
    },
    /// Deviation of the requests per second.
    RpsSd {
        /// In words.
        of: String,
    },
    /// What an abuser does to the others.
    Abuse {
        /// Who.
        abuser: String,
        /// From when it abuses.
        from_s: f64,
        /// Until when.
        to_s: f64,
        /// How long a window is.
        window_s: f64,
        /// Later than this is late.
        late_s: f64,
        /// A window with more late jobs is bad.
        late_share: f64,
    },
    /// Whether the promises hold.
    Slo {
        /// The promised 99th percentile of each priority, seconds.
        p99_s: Promises,
    },
    /// Small and big jobs apart.
    BySize {
        /// Big from here, in input tokens.
        threshold_tok: u64,
    },
    /// A bursty tenant and its victims apart.
    Victims {
        /// Who.
        abuser: String,
    },
    /// How an outage is got over.
    Recovery {
        /// When it ends.
        from_s: f64,
    },
}

/// One promise for each priority.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promises {
    /// For critical jobs.
    pub critical: f64,
    /// For standard jobs.
    pub standard: f64,
    /// For batch jobs.
    pub batch: f64,
}

/// A study of timers that release one request per tenant and period.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// The period.
    pub period_s: f64,
    /// When the first one fires.
    pub offset_s: f64,
    /// Over how long the tenants' timers are spread.
    pub spread_s: f64,
    /// What each firing releases.
    pub quantum: f64,
}

/// For policies that demote tenants.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demotion {
    /// Tokens a day, by the tenant's number.
    pub daily_budget_tokens: BTreeMap<usize, u64>,
}

/// What a workload adds up to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Of which seed.
    pub seed: u64,
    /// Its jobs.
    pub jobs: usize,
    /// Their input.
    pub in_tok: u64,
    /// Their output.
    pub out_tok: u64,
    /// FNV-1a of `tenant,tier,in,out,millisecond` of every job, joined by `;`.
    pub fnv1a64: String,
}
