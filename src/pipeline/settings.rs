//! What the operator may set, read from the Worker's variables. A wrong value
//! is an error that names the variable, never a silent default.
use super::store::Tenant;
use crate::domain::{Limits, Plan, Priority, Span, Tokens};
use crate::scheduler::{AdmissionRules, Config, DemotionRules, Ordering, PerPriority, Policy};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The settings. `wrangler.toml` lists the variables with their meaning.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `DEFAULT_MODEL`: for jobs that name none.
    pub default_model: String,
    /// `DEFAULT_MAX_TOKENS`: for jobs that name none.
    pub default_max_tokens: u32,
    /// `INLINE_INPUT_BYTES`: a larger request is kept in R2, not in its row.
    pub inline_input_bytes: usize,
    /// `RATE_FREE_PER_MINUTE`, `RATE_PRO_PER_MINUTE`: how many submissions a
    /// minute a tenant may make, by its plan; 0: any number.
    pub rate: [u64; 2],
    /// `RETENTION_DAYS`: how long a job is kept after its end.
    pub retention: Span,
    /// Slots, limits, timeouts, attempts and waits.
    pub scheduler: Config,
}

/// A variable that cannot be used.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("the variable {name} is {value:?}; it must be {allowed}")]
pub struct InvalidSetting {
    name: &'static str,
    value: String,
    allowed: String,
}

impl Settings {
    /// Reads the settings; what is not set has its default.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] for the first value that cannot be used.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let variables = Variables(variable);
        let model = (variables.0)("DEFAULT_MODEL");
        Ok(Self {
            default_model: model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            default_max_tokens: variables.small("DEFAULT_MAX_TOKENS", 4_096, 1_000_000)?,
            inline_input_bytes: variables.small("INLINE_INPUT_BYTES", 16_384, 500_000)? as usize,
            rate: [
                variables.whole("RATE_FREE_PER_MINUTE", 600, (0, MOST))?,
                variables.whole("RATE_PRO_PER_MINUTE", 1_800, (0, MOST))?,
            ],
            retention: Span::from_secs(86_400 * variables.number("RETENTION_DAYS", 30, 3_650)?),
            scheduler: variables.scheduler(&Config::default())?,
        })
    }

    /// How many submissions a minute a tenant may make; `None`: any number.
    #[must_use]
    pub fn per_minute(&self, tenant: &Tenant) -> Option<u64> {
        let [free, pro] = self.rate;
        let by_plan = match tenant.plan {
            Plan::Free => free,
            Plan::Pro => pro,
        };
        Some(tenant.requests_per_minute.unwrap_or(by_plan)).filter(|rate| *rate > 0)
    }

    /// How long a call of this priority may take (mission C3).
    #[must_use]
    pub fn timeout(&self, priority: Priority) -> Span {
        *self.scheduler.timeout.get(priority)
    }
}

/// Tells one key from another without telling the key.
#[must_use]
pub fn fingerprint(key: &str) -> u64 {
    let hash = Sha256::digest(key.as_bytes());
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn scheduler(&self, base: &Config) -> Result<Config, InvalidSetting> {
        Ok(Config {
            slots: self.small("SLOTS", base.slots, 1_000)?,
            limits: self.limits(base.limits)?,
            timeout: PerPriority {
                critical: self.millis("TIMEOUT_CRITICAL_MS", base.timeout.critical)?,
                standard: self.millis("TIMEOUT_STANDARD_MS", base.timeout.standard)?,
                batch: self.millis("TIMEOUT_BATCH_MS", base.timeout.batch)?,
            },
            slack: self.millis("SLACK_MS", base.slack)?,
            handover: self.millis("HANDOVER_MS", base.handover)?,
            attempts_high: self.small("ATTEMPTS_HIGH", base.attempts_high, 100)?,
            attempts_bulk: self.small("ATTEMPTS_BULK", base.attempts_bulk, 100)?,
            backoff: PerPriority {
                critical: self.millis("BACKOFF_CRITICAL_MS", base.backoff.critical)?,
                standard: self.millis("BACKOFF_STANDARD_MS", base.backoff.standard)?,
                batch: self.millis("BACKOFF_BATCH_MS", base.backoff.batch)?,
            },
            order: self.order(&base.order)?,
            outage_after: self.small("OUTAGE_AFTER", base.outage_after, 1_000)?,
            demotion: self.demotion(base.demotion)?,
            admission: self.admission(base.admission)?,
            ..*base
        })
    }

    fn order(&self, base: &Ordering) -> Result<Ordering, InvalidSetting> {
        let quantum = base.quantum.map_or(0, Tokens::get);
        let quantum = self.whole("QUANTUM_TOKENS", quantum, (0, MOST))?;
        Ok(Ordering {
            policy: self.policy(base.policy)?,
            weights: PerPriority {
                critical: self.number("WEIGHT_CRITICAL", base.weights.critical, 1_000)?,
                standard: self.number("WEIGHT_STANDARD", base.weights.standard, 1_000)?,
                batch: self.number("WEIGHT_BATCH", base.weights.batch, 1_000)?,
            },
            lead: PerPriority {
                critical: self.millis("LEAD_CRITICAL_MS", base.lead.critical)?,
                standard: self.millis("LEAD_STANDARD_MS", base.lead.standard)?,
                batch: base.lead.batch,
            },
            headroom_percent: self.percent("HEADROOM_PERCENT", base.headroom_percent)?,
            fresh_percent: self.percent("FRESH_PERCENT", base.fresh_percent)?,
            quantum: Some(Tokens::new(quantum)).filter(|quantum| *quantum > Tokens::ZERO),
            pro_weight: self.number("PRO_WEIGHT", base.pro_weight, 100)?,
            park: self.millis("PARK_MS", base.park)?,
            ..*base
        })
    }

    fn policy(&self, default: Policy) -> Result<Policy, InvalidSetting> {
        let name = "PRIORITY_POLICY";
        let value = self.0(name);
        match value.as_deref().map(str::trim) {
            None => Ok(default),
            Some("bounded") => Ok(Policy::Bounded),
            Some("weights") => Ok(Policy::Weights),
            Some("draw") => {
                let critical_percent = self.percent("DRAW_CRITICAL_PERCENT", 90)?;
                Ok(Policy::Draw { critical_percent })
            }
            Some(other) => {
                let allowed = "bounded, weights or draw".to_owned();
                Err(InvalidSetting { name, value: other.to_owned(), allowed })
            }
        }
    }

    fn demotion(&self, base: DemotionRules) -> Result<DemotionRules, InvalidSetting> {
        let throttles = self.whole("DEMOTION_THROTTLES", base.throttles.into(), (0, 1_000))?;
        let daily = self.whole("DAILY_INPUT_TOKENS", base.daily_input.get(), (0, MOST * 1_000))?;
        Ok(DemotionRules {
            throttles: u32::try_from(throttles).unwrap_or(base.throttles),
            window: self.millis("DEMOTION_WINDOW_MS", base.window)?,
            daily_input: Tokens::new(daily),
            daily_percent: self.small("DAILY_INPUT_PERCENT", base.daily_percent, 100_000)?,
            lasts: self.millis("DEMOTION_MS", base.lasts)?,
        })
    }

    fn admission(&self, base: AdmissionRules) -> Result<AdmissionRules, InvalidSetting> {
        Ok(AdmissionRules {
            capacity: self.small("QUEUE_CAPACITY", base.capacity, 1_000_000)?,
            share_percent: self.small("TENANT_SHARE_PERCENT", base.share_percent, 100)?,
            burst_percent: self.small("RATE_BURST_PERCENT", base.burst_percent, 100)?,
        })
    }

    fn limits(&self, base: Limits) -> Result<Limits, InvalidSetting> {
        Ok(Limits {
            requests: self.number("LIMIT_REQUESTS_PER_MINUTE", base.requests, MOST)?,
            input: self.number("LIMIT_INPUT_TOKENS_PER_MINUTE", base.input, MOST)?,
            output: self.number("LIMIT_OUTPUT_TOKENS_PER_MINUTE", base.output, MOST)?,
        })
    }

    fn millis(&self, name: &'static str, default: Span) -> Result<Span, InvalidSetting> {
        self.number(name, default.as_millis(), DAY_MS).map(Span::from_millis)
    }

    fn small(&self, name: &'static str, default: u32, high: u32) -> Result<u32, InvalidSetting> {
        let number = self.number(name, default.into(), high.into())?;
        Ok(u32::try_from(number).unwrap_or(high))
    }

    /// A part in hundredths.
    fn percent(&self, name: &'static str, default: u32) -> Result<u32, InvalidSetting> {
        let number = self.whole(name, default.into(), (0, 100))?;
        Ok(u32::try_from(number).unwrap_or(default))
    }

    fn number(&self, name: &'static str, default: u64, high: u64) -> Result<u64, InvalidSetting> {
        self.whole(name, default, (1, high))
    }

    fn whole(
        &self,
        name: &'static str,
        default: u64,
        (low, high): (u64, u64),
    ) -> Result<u64, InvalidSetting> {
        let Some(value) = self.0(name) else {
            return Ok(default);
        };
        let number = value.trim().replace('_', "").parse().ok();
        let fits = number.filter(|number| (low..=high).contains(number));
        let allowed = || format!("a whole number from {low} to {high}");
        fits.ok_or_else(|| InvalidSetting { name, value, allowed: allowed() })
    }
}

const DEFAULT_MODEL: &str = "claude-sonnet-4-6";
const MOST: u64 = 1_000_000_000;
const DAY_MS: u64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Settings, InvalidSetting> {
        Settings::read(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.default_model, "claude-sonnet-4-6");
        assert_eq!(settings.default_max_tokens, 4_096);
        assert_eq!(settings.scheduler, Config::default());
    }

    #[test]
    fn what_is_set_is_used() {
        let settings = read(&[("SLOTS", "4"), ("TIMEOUT_BATCH_MS", "90_000")]).unwrap();
        assert_eq!(settings.scheduler.slots, 4);
        assert_eq!(settings.timeout(Priority::Batch), Span::from_secs(90));
    }

    #[test]
    fn a_wrong_value_is_named() {
        for value in ["0", "-1", "many", "1001", ""] {
            let error = read(&[("SLOTS", value)]).unwrap_err().to_string();
            assert!(error.starts_with("the variable SLOTS is"), "{error}");
            assert!(error.ends_with("a whole number from 1 to 1000"), "{error}");
        }
    }

    #[test]
    fn the_order_can_be_the_articles_own() {
        let article = [
            ("PRIORITY_POLICY", "draw"),
            ("DRAW_CRITICAL_PERCENT", "90"),
            ("QUANTUM_TOKENS", "20_000"),
            ("HEADROOM_PERCENT", "0"),
            ("DAILY_INPUT_TOKENS", "0"),
        ];
        let scheduler = read(&article).unwrap().scheduler;
        assert_eq!(scheduler.order.policy, Policy::Draw { critical_percent: 90 });
        assert_eq!(scheduler.order.quantum, Some(Tokens::new(20_000)));
        assert_eq!(scheduler.order.headroom_percent, 0);
        assert_eq!(scheduler.demotion.daily_input, Tokens::ZERO);
        let error = read(&[("PRIORITY_POLICY", "fair")]).unwrap_err().to_string();
        assert!(error.ends_with("it must be bounded, weights or draw"), "{error}");
    }

    #[test]
    fn a_fingerprint_tells_keys_apart() {
        assert_ne!(fingerprint("a"), fingerprint("b"));
    }
}
