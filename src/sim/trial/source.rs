//! Where a scenario's jobs come from, as the file has it.
use crate::domain::Priority;
use serde::Deserialize;

/// Where jobs come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Whose.
    pub tenants: Who,
    /// How urgent.
    pub tier: Priority,
    /// When.
    pub arrival: Arrival,
    /// How much input.
    pub in_tok: Size,
    /// How much output.
    pub out_tok: Size,
    /// The most output.
    pub max_tokens: u64,
}

/// Some tenants.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Who {
    /// These.
    Named(Vec<String>),
    /// `"*"`: all.
    All(String),
}

/// When jobs arrive.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// With exponential gaps.
    Poisson {
        /// How many a second.
        rate_per_s: f64,
        /// From when.
        #[serde(default)]
        start_s: f64,
        /// Until when.
        end_s: f64,
    },
    /// One job, at any time between.
    Once {
        /// The earliest.
        lo_s: f64,
        /// The latest.
        hi_s: f64,
    },
    /// Many at once.
    Burst {
        /// The moments.
        at_s: Vec<f64>,
        /// How many at each.
        count: u32,
        /// Over how long they are spread.
        #[serde(default)]
        spread_s: f64,
    },
    /// Many at once, at random moments.
    Batches {
        /// How many batches a second.
        rate_per_s: f64,
        /// How many jobs in each.
        count: u32,
        /// From when.
        #[serde(default)]
        start_s: f64,
        /// Until when.
        end_s: f64,
    },
    /// Poisson in some periods, nothing between them.
    Onoff {
        /// How many a second, while on.
        rate_per_s: f64,
        /// Mean length of a period.
        on_s: f64,
        /// Mean length of a pause.
        off_s: f64,
        /// Until when.
        end_s: f64,
    },
}

/// A distribution of tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "dist", rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// Log-normal.
    Lognormal {
        /// Its mean.
        mean: f64,
        /// The deviation of the logarithm.
        sigma: f64,
        /// Raised to this.
        min: Option<f64>,
        /// Cut to this.
        max: Option<f64>,
    },
    /// One of several.
    Mix {
        /// Which, and how often.
        parts: Vec<Part>,
        /// Raised to this.
        min: Option<f64>,
        /// Cut to this.
        max: Option<f64>,
    },
}

/// One part of a mix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// How often.
    pub p: f64,
    /// What.
    pub d: Size,
}
