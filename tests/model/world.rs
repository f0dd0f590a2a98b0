//! A stage for the scheduler: it stores what is to be stored, notes what is
//! to be carried out, and checks the laws after every step.
#![allow(dead_code, reason = "each test file plays its own part of it")]

use claude_pipeline::{domain::*, scheduler::*};
use std::collections::BTreeMap;

pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    pub(crate) config: Config,
    pub(crate) now: Timestamp,
    /// What was carried out, and when.
    pub(crate) log: Vec<(Timestamp, Effect)>,
    /// The last release of each job.
    pub(crate) releases: BTreeMap<JobId, Release>,
    pub(crate) rows: BTreeMap<String, String>,
    pub(crate) snapshot: String,
    /// Settled attempts draw this.
    pub(crate) chance: Entropy,
}

impl World {
    #[allow(clippy::large_types_passed_by_value, reason = "made in place, and kept")]
    pub(crate) fn new(config: Config) -> Self {
        let now = Timestamp::from_millis(1_000_000_000);
        let scheduler = Scheduler::new(config, now);
        Self {
            snapshot: scheduler.snapshot(),
            scheduler,
            config,
            now,
            log: Vec::new(),
            releases: BTreeMap::new(),
            rows: BTreeMap::new(),
            chance: Entropy(0),
        }
    }

    pub(crate) fn submit(&mut self, submission: Submission) -> Submitted {
        let submitted = self.scheduler.submit(submission, self.now);
        self.turn();
        submitted
    }

    pub(crate) fn submit_all(&mut self, submissions: impl IntoIterator<Item = Submission>) {
        for submission in submissions {
            self.scheduler.submit(submission, self.now);
        }
        self.turn();
    }

    /// Settles the job's latest release.
    pub(crate) fn settle(&mut self, number: u64, outcome: Outcome) -> Option<Verdict> {
        self.settle_told(number, outcome, None)
    }

    pub(crate) fn settle_told(
        &mut self,
        number: u64,
        outcome: Outcome,
        limits: Option<RateLimits>,
    ) -> Option<Verdict> {
        let settlement = Settlement {
            job: id(number),
            lease: self.releases.get(&id(number)).map_or(0, |it| it.lease),
            outcome,
            limits,
        };
        let verdict = self.scheduler.settle(settlement, self.now, self.chance);
        self.turn();
        verdict
    }

    pub(crate) fn cancel(&mut self, number: u64) -> bool {
        let known = self.scheduler.cancel(id(number), self.now);
        self.turn();
        known
    }

    /// Lets time pass, waking only when the scheduler wants to.
    pub(crate) fn pass(&mut self, span: Span) {
        let end = self.now + span;
        let mut wakes = 0;
        while let Some((at, _)) = self.scheduler.next_deadline() {
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            self.turn();
            wakes += 1;
            assert!(wakes < 10_000, "woken for nothing");
        }
        self.now = end;
        self.turn();
    }

    /// Forgets everything that was not stored.
    pub(crate) fn restart(&mut self) {
        let (snapshot, rows) = (Some(self.snapshot.as_str()), self.stored());
        self.scheduler = Scheduler::restore(self.config, snapshot, rows, self.now);
        self.turn();
    }

    pub(crate) fn turn(&mut self) {
        self.scheduler.dispatch(self.now);
        self.scheduler.assert_consistent();
        self.store();
        while let Some(effect) = self.scheduler.poll_effect() {
            if let Effect::Release(release) = effect {
                self.releases.insert(release.job, release);
            }
            self.log.push((self.now, effect));
        }
    }

    fn store(&mut self) {
        while let Some(change) = self.scheduler.poll_change() {
            match change {
                Change::Put(row) => self.rows.insert(row.key(), row.to_json()),
                Change::Delete(key) => self.rows.remove(&key),
            };
        }
        self.snapshot = self.scheduler.snapshot();
    }

    /// All rows, read back.
    pub(crate) fn stored(&self) -> Vec<Row> {
        self.rows.iter().filter_map(|(key, row)| Row::read(key, row)).collect()
    }

    /// The rows of jobs.
    pub(crate) fn job_rows(&self) -> Vec<String> {
        let jobs = self.rows.iter().filter(|(key, _)| key.starts_with("job/"));
        jobs.map(|(_, row)| row.clone()).collect()
    }

    /// The numbers of the jobs released so far, in order.
    pub(crate) fn released(&self) -> Vec<u64> {
        let jobs = self.log.iter().filter_map(|(_, effect)| match effect {
            Effect::Release(release) => Some(number(release.job)),
            Effect::DeadLetter { .. } | Effect::Reconcile { .. } => None,
        });
        jobs.collect()
    }

    /// The same, from now on.
    pub(crate) fn clear(&mut self) {
        self.log.clear();
    }

    pub(crate) fn waits_for(&self, number: u64) -> Option<WaitingFor> {
        self.scheduler.explain(id(number), self.now)
    }

    pub(crate) fn since_start(&self, at: Timestamp) -> Span {
        at.since(World::new(self.config).now)
    }
}

/// A standard job of tenant `acme` that may write 500 tokens.
pub(crate) fn job(number: u64) -> Submission {
    Submission {
        job: id(number),
        tenant: TenantId::try_from("acme".to_owned()).unwrap(),
        plan: Plan::Free,
        weight: None,
        daily_input: None,
        priority: Priority::Standard,
        class: ModelClass::of("claude-sonnet-4-6"),
        estimate: usage(100, 500),
        attempts: 0,
        lease: 0,
    }
}

pub(crate) fn of(priority: Priority, number: u64) -> Submission {
    Submission { priority, ..job(number) }
}

/// The same job of another tenant.
pub(crate) fn by(tenant: &str, submission: Submission) -> Submission {
    Submission { tenant: tenant_of(tenant), ..submission }
}

pub(crate) fn tenant_of(name: &str) -> TenantId {
    TenantId::try_from(name.to_owned()).unwrap()
}

pub(crate) fn on(model: &str, number: u64) -> Submission {
    Submission { class: ModelClass::of(model), ..job(number) }
}

pub(crate) fn id(number: u64) -> JobId {
    JobId::new(Timestamp::from_millis(number), [Entropy(0), Entropy(0)])
}

pub(crate) fn number(id: JobId) -> u64 {
    let text = id.to_string().replace('-', "");
    u64::from_str_radix(&text[..12], 16).unwrap()
}

pub(crate) fn usage(input: u64, output: u64) -> Usage {
    Usage { input: Tokens::new(input), output: Tokens::new(output) }
}

pub(crate) fn completed() -> Outcome {
    Outcome::Completed { usage: usage(100, 500) }
}

pub(crate) fn transient(retry_after: Option<u64>) -> Outcome {
    Outcome::Transient {
        error: JobError::new("overloaded_error", "Overloaded"),
        retry_after: retry_after.map(Span::from_secs),
        begun: true,
    }
}

pub(crate) fn throttled(retry_after: Option<u64>) -> Outcome {
    Outcome::Throttled {
        error: JobError::new("rate_limit_error", "Slow down"),
        retry_after: retry_after.map(Span::from_secs),
    }
}

pub(crate) fn permanent() -> Outcome {
    Outcome::Permanent { error: JobError::new("invalid_request_error", "No") }
}

pub(crate) fn account(fault: AccountFault) -> Outcome {
    Outcome::Account { fault, error: JobError::new("authentication_error", "Who?") }
}

pub(crate) fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

/// 60 requests, 60,000 input and 60,000 output tokens a minute: one, and a
/// thousand, a second. No slack and no headroom, so that the figures are round.
pub(crate) fn one_a_second() -> Config {
    Config {
        slots: 1_000,
        limits: Limits { requests: 60, input: 60_000, output: 60_000 },
        slack: Span::ZERO,
        ..without_headroom()
    }
}

/// Nothing is kept for anybody else, and nobody has a budget by the day.
pub(crate) fn without_headroom() -> Config {
    let order = Ordering { headroom_percent: 0, fresh_percent: 0, ..Ordering::default() };
    let demotion = DemotionRules { daily_input: Tokens::ZERO, ..DemotionRules::default() };
    Config { order, demotion, ..Config::default() }
}
