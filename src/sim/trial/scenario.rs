//! The scenarios, as their file has them.
use super::{
    figure::{Check, Demotion, Figure, Timer},
    source::Source,
};
use serde::Deserialize;

/// A file of scenarios.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenarios {
    /// The version of the format: 1.
    pub format: u32,
    /// Where the fields are described.
    pub note: String,
    /// All of them.
    pub scenarios: Vec<Scenario>,
}

/// One workload, and the world it meets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A short name.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// The seeds whose runs are pooled.
    pub seeds: Vec<u64>,
    /// Who answers.
    pub upstream: UpstreamSpec,
    /// How long an answer takes.
    pub latency: Latency,
    /// The least and the longest way to the upstream, in seconds.
    pub net_s: (f64, f64),
    /// How many calls may be under way.
    pub workers: u32,
    /// What the client knows of a job's size.
    pub estimates: Estimates,
    /// What the client believes.
    pub client: Client,
    /// Whose jobs.
    pub tenants: Vec<TenantSpec>,
    /// Where jobs come from.
    pub sources: Vec<Source>,
    /// When the run ends.
    pub horizon_s: f64,
    /// Fairness and request rates are measured from here; default 0.
    #[serde(default)]
    pub measure_from_s: f64,
    /// … to here; default the horizon.
    pub measure_until_s: Option<f64>,
    /// Jobs per tenant in a window of fairness.
    #[serde(default = "ten")]
    pub jain_per: f64,
    /// What its headline measures, if it has one.
    pub figure: Option<Figure>,
    /// For a study of timers; not simulated here.
    pub timer: Option<Timer>,
    /// Budgets for policies that demote tenants.
    pub demotion: Option<Demotion>,
    /// What the first seed's jobs add up to.
    pub check: Check,
}

/// The upstream's limits and manners.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamSpec {
    /// Requests a minute.
    pub rpm: f64,
    /// Input tokens a minute.
    pub itpm: f64,
    /// Output tokens a minute.
    pub otpm: f64,
    /// How many seconds of refill a bucket holds.
    pub burst_s: f64,
    /// How full the buckets are at the start.
    pub initial_fill: f64,
    /// How output is counted.
    pub otpm_mode: OutputMode,
    /// What a refusal asks for.
    pub retry_after: RetryAfter,
    /// How long a refusal takes.
    pub reject_latency_s: f64,
    /// How long a failure takes.
    pub error_latency_s: f64,
    /// Whether a refused call counts as a request.
    pub count_rejected_in_rpm: bool,
    /// From when to when every call fails.
    pub outages: Vec<(f64, f64)>,
}

/// How the upstream counts output.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// As it is produced; a call is let in on any.
    Actual,
    /// `max_tokens` at once, the rest given back at the end.
    ReserveMax,
}

/// What `Retry-After` says.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// Until this request fits.
    Exact,
    /// The same in whole seconds, at least 1.
    Ceil,
    /// Until all buckets are full.
    Full,
}

/// How long an answer takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Seconds for every call.
    pub base_s: f64,
    /// Input tokens read a second.
    pub prefill_tok_s: f64,
    /// Output tokens written a second.
    pub decode_tok_s: f64,
    /// Deviation of the noise's logarithm.
    pub sigma: f64,
}

/// What the client knows of a job's size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimates {
    /// Deviation of the estimated input's logarithm.
    #[serde(default = "tenth")]
    pub in_sigma: f64,
    /// By what the input is misjudged.
    #[serde(default = "one")]
    pub in_scale: f64,
    /// By what the output is misjudged, by a client that guesses it.
    #[serde(default = "one")]
    pub out_scale: f64,
}

/// What the client believes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// By what the limits are misjudged.
    pub limit_scale: f64,
}

/// One tenant, or as many as `count` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// Its name, or what their names begin with.
    pub name: String,
    /// Its share: 1, or 3 on the Pro plan.
    #[serde(default = "one")]
    pub weight: f64,
    /// How many: `name0`, `name1` …
    pub count: Option<u32>,
}

impl Scenarios {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it is not one, with the place.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The scenario of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.id == id)
    }
}

impl Scenario {
    /// Until when fairness and request rates are measured.
    #[must_use]
    pub fn measured_until(&self) -> f64 {
        self.measure_until_s.unwrap_or(self.horizon_s)
    }

    /// What a job costs: its share of the limit that binds, in input tokens.
    #[must_use]
    pub fn cost(&self, input: f64, output: f64) -> f64 {
        let UpstreamSpec { rpm, itpm, otpm, .. } = self.upstream;
        (itpm / rpm).max(input).max(output * itpm / otpm)
    }
}

const fn ten() -> f64 {
    10.0
}

const fn one() -> f64 {
    1.0
}

const fn tenth() -> f64 {
    0.1
}
