//! Ours: the real scheduler, driven as its object drives it.
use super::super::{
    scenario::Scenario,
    stream::Stream,
    workload::{Job, Workload},
};
use super::{Answer, Level, Policy, Step, Told};
use crate::{
    domain::{
        BucketLevel, Entropy, JobError, JobId, Limits, ModelClass, Outcome, Plan, RateLimits, Span,
        TenantId, Timestamp, Tokens, Usage,
    },
    scheduler::{Config, DemotionRules, Effect, PerPriority, Scheduler, Settlement, Submission},
};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// Settings on top of those that the scenario asks for.
#[derive(Clone)]
pub struct Tune(Arc<dyn Fn(&mut Config) + Send + Sync>);

impl Tune {
    /// These settings.
    pub fn new(tune: impl Fn(&mut Config) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tune))
    }
}

impl Default for Tune {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Tune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tune")
    }
}

/// The settings that a scenario asks for. What belongs to the Worker and not
/// to the queue, its leases and timeouts, never matters here.
#[must_use]
pub fn config_for(scenario: &Scenario) -> Config {
    let upstream = &scenario.upstream;
    let scaled = |limit: f64| (limit * scenario.client.limit_scale).round() as u64;
    let long = Span::from_secs(1_000_000);
    Config {
        slots: scenario.workers,
        limits: Limits {
            requests: scaled(upstream.rpm),
            input: scaled(upstream.itpm),
            output: scaled(upstream.otpm),
        },
        burst: Span::from_millis((upstream.burst_s * 1_000.0).round() as u64),
        timeout: PerPriority { critical: long, standard: long, batch: long },
        free_throttles: u32::MAX,
        // A tenant's own budget is no part of these workloads.
        demotion: DemotionRules { daily_input: Tokens::ZERO, ..DemotionRules::default() },
        ..Config::default()
    }
}

pub(super) struct Core {
    scheduler: Scheduler,
    tenants: Vec<Option<(TenantId, Plan)>>,
    class: ModelClass,
    in_scale: f64,
    /// The lease of each job under way.
    leases: BTreeMap<usize, u32>,
    stream: Stream,
    /// When it was last asked, if nothing has happened since.
    asked: Option<Timestamp>,
}

impl Core {
    pub(super) fn new(scenario: &Scenario, workload: &Workload, tune: &Tune) -> Self {
        let mut config = config_for(scenario);
        (tune.0)(&mut config);
        let tenants = workload.tenants.iter().map(|tenant| {
            let plan = if tenant.weight > 1.0 { Plan::Pro } else { Plan::Free };
            TenantId::try_from(tenant.name.to_lowercase()).ok().map(|id| (id, plan))
        });
        Self {
            scheduler: Scheduler::new(config, START),
            tenants: tenants.collect(),
            class: ModelClass::of("claude-sonnet-4-6"),
            in_scale: scenario.estimates.in_scale,
            leases: BTreeMap::new(),
            stream: Stream::named(&format!("{}|ours", workload.seed)),
            asked: None,
        }
    }

    fn settle(&mut self, job: &Job, outcome: Outcome, limits: Option<RateLimits>, now: f64) {
        if let Some(lease) = self.leases.remove(&job.index) {
            let settlement = Settlement { job: id(job.index), lease, outcome, limits };
            let chance = Entropy(self.stream.draw());
            self.scheduler.settle(settlement, moment(now), chance);
        }
    }
}

impl Policy for Core {
    fn arrive(&mut self, job: &Job, now: f64) {
        self.asked = None;
        let Some(Some((tenant, plan))) = self.tenants.get(job.tenant) else {
            return;
        };
        let input = (job.chars as f64 / 4.0 * self.in_scale).round().max(1.0) as u64;
        let submission = Submission {
            job: id(job.index),
            tenant: tenant.clone(),
            plan: *plan,
            weight: None,
            daily_input: None,
            priority: job.tier,
            class: self.class.clone(),
            estimate: Usage { input: Tokens::new(input), output: Tokens::new(job.max_tokens) },
            attempts: 0,
            lease: 0,
        };
        self.scheduler.submit(submission, moment(now));
    }

    fn answer(&mut self, job: &Job, answer: Answer, now: f64) {
        self.asked = None;
        let error = |kind: &str| JobError::new(kind, "as simulated");
        let (outcome, limits) = match answer {
            Answer::Completed(told) => {
                let (input, output) = (Tokens::new(job.input), Tokens::new(job.output));
                (Outcome::Completed { usage: Usage { input, output } }, Some(headers(told)))
            }
            Answer::Refused { retry_after, told } => {
                let asked = Span::from_millis((retry_after * 1_000.0).ceil() as u64);
                let error = error("rate_limit_error");
                (Outcome::Throttled { error, retry_after: Some(asked) }, Some(headers(told)))
            }
            Answer::Failed => {
                let error = error("overloaded_error");
                (Outcome::Transient { error, retry_after: None, begun: false }, None)
            }
        };
        self.settle(job, outcome, limits, now);
    }

    fn step(&mut self, now: f64) -> Option<Step> {
        if self.asked != Some(moment(now)) {
            self.scheduler.dispatch(moment(now));
            while self.scheduler.poll_change().is_some() {}
            self.asked = Some(moment(now));
        }
        loop {
            match self.scheduler.poll_effect()? {
                Effect::Release(release) => {
                    let index = index(release.job);
                    self.leases.insert(index, release.lease);
                    return Some(Step::Call(index));
                }
                Effect::DeadLetter { job, .. } => return Some(Step::Lose(index(job))),
                // Leases last longer than any run.
                Effect::Reconcile { .. } => {}
            }
        }
    }

    fn wakes_at(&self) -> Option<f64> {
        let (at, _) = self.scheduler.next_deadline()?;
        Some(at.since(START).as_millis() as f64 / 1_000.0)
    }

    fn operations(&self) -> Option<u64> {
        Some(self.scheduler.steps())
    }
}

/// The scheduler counts whole milliseconds: what happens within one is told
/// at its end.
fn moment(now: f64) -> Timestamp {
    START + Span::from_millis((now * 1_000.0 - 1e-6).ceil().max(0.0) as u64)
}

fn id(index: usize) -> JobId {
    JobId::new(Timestamp::from_millis(index as u64), [Entropy(0), Entropy(0)])
}

fn index(job: JobId) -> usize {
    usize::try_from(job.created_at().as_millis()).unwrap_or(usize::MAX)
}

/// As the upstream writes them: tokens rounded to thousands.
fn headers(told: Told) -> RateLimits {
    let level = |level: Level, unit: f64| BucketLevel {
        limit: level.limit.round() as u64,
        remaining: ((level.left / unit).round() * unit).floor() as u64,
        reset: Some(moment(level.full_at)),
    };
    let [requests, input, output] = told.levels;
    RateLimits {
        // Requests are told in whole numbers: what is begun is not there yet.
        requests: Some(level(Level { left: requests.left.floor(), ..requests }, 1.0)),
        input: Some(level(input, 1_000.0)),
        output: Some(level(output, 1_000.0)),
    }
}

const START: Timestamp = Timestamp::from_millis(1_000_000_000);
