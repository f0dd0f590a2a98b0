//! How a job comes back: what its attempt used, and what becomes of it.
use super::{
    Effect, Scheduler, Settlement,
    gate::plausible,
    job::{Lease, Place},
    keys::{ClassKey, TenantKey},
    reach::{out_of_reach, own_trouble},
};
use crate::domain::{
    AccountFault, Entropy, JobError, JobId, Outcome, RateLimits, Span, Timestamp, Tokens, Verdict,
};

/// What an answer proves about a gate or a pause.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Evidence {
    /// The upstream works for us.
    Passed,
    /// Nothing.
    Unclear,
}

/// What becomes of the job, and where it waits if it does.
struct Judgment {
    verdict: Verdict,
    /// Set aside for that long, or else back in its lane at once.
    delay: Option<Span>,
}

/// One attempt that has ended.
struct Ended {
    job: JobId,
    tenant: TenantKey,
    class: ClassKey,
    /// The tenant's own budget.
    daily_input: Option<Tokens>,
    lease: Lease,
}

impl Scheduler {
    /// Ends a lease: frees its slot, settles its tokens, learns from the
    /// answer, and says what becomes of the job. `None` if the lease is not
    /// the job's present one, or the job is unknown: then nothing changes.
    pub fn settle(
        &mut self,
        settlement: Settlement,
        now: Timestamp,
        chance: Entropy,
    ) -> Option<Verdict> {
        let now = self.look(now);
        let Settlement { job, lease, outcome, limits } = settlement;
        let ended = self.end_lease(job, lease)?;
        let outcome =
            if out_of_reach(&ended.lease, limits) { own_trouble(outcome) } else { outcome };
        self.settle_tokens(&ended, &outcome, limits, now);
        self.weigh(&ended, &outcome, now);
        let mut judgment = self.judge(&ended, &outcome, now, chance);
        if ended.lease.canceled {
            judgment = Judgment::ENDED;
        }
        if let Outcome::Throttled { .. } = outcome {
            self.blame(ended.class);
        } else if let Outcome::Completed { usage } = outcome {
            self.count_input(ended.tenant, ended.daily_input, usage.input);
        }
        self.carry_out(ended.job, &judgment, now);
        self.classes.touch(ended.class);
        Some(judgment.verdict)
    }

    /// The class learns what was used, and the lane is charged for that
    /// instead of what was expected.
    fn settle_tokens(
        &mut self,
        ended: &Ended,
        outcome: &Outcome,
        limits: Option<RateLimits>,
        now: Timestamp,
    ) {
        let Ended { tenant, class: key, lease, .. } = ended;
        if let Some(class) = self.classes.get_mut(*key) {
            let tariff = class.tariff(&self.config);
            let used = class.settle(lease, outcome, limits, (&self.config, now));
            let lane = self.hall.find(*tenant, *key, lease.rank);
            if let Some(account) = lane.and_then(|lane| self.hall.account_mut(lane)) {
                let most = tariff.burst(self.config.order.burst_quanta);
                account.correct(lease.price, used, most);
            }
        }
        self.touch_if_capped(*tenant);
        if let Some(tenant) = self.hall.tenants.get_mut(tenant.0) {
            tenant.end(lease.rank);
        }
    }

    fn carry_out(&mut self, id: JobId, judgment: &Judgment, now: Timestamp) {
        match (judgment.verdict, judgment.delay) {
            (Verdict::Ended, _) => self.forget(id),
            (Verdict::DeadLetter, _) => {
                let attempts = self.jobs.get(&id).map_or(0, |job| job.submission.attempts);
                self.effects.push_back(Effect::DeadLetter { job: id, attempts });
                self.forget(id);
            }
            (Verdict::Retry { .. }, Some(delay)) => self.delay(id, now + delay),
            (Verdict::Retry { .. }, None) => self.wait(id),
        }
    }

    /// The job is nowhere after this, until its verdict is carried out.
    fn end_lease(&mut self, id: JobId, number: u32) -> Option<Ended> {
        let job = self.jobs.get_mut(&id)?;
        let Place::Leased(lease) = &job.place else {
            return None;
        };
        if job.submission.lease != number {
            return None;
        }
        let (tenant, class, daily_input) = (job.tenant, job.class, job.submission.daily_input);
        let ended = Ended { job: id, tenant, class, daily_input, lease: lease.as_ref().clone() };
        self.leases.remove(&(ended.lease.until, ended.job));
        Some(ended)
    }

    /// What the answer proves. Refusals and faults are dealt with where their
    /// waits are known.
    fn weigh(&mut self, ended: &Ended, outcome: &Outcome, now: Timestamp) {
        let (gate, account) = match outcome {
            Outcome::Completed { .. } | Outcome::Permanent { .. } => {
                (Some(Evidence::Passed), Some(Evidence::Passed))
            }
            Outcome::Throttled { .. } => (None, Some(Evidence::Unclear)),
            Outcome::Account { .. } => (Some(Evidence::Unclear), None),
            Outcome::Transient { error, .. } if is_fault(error) => (None, Some(Evidence::Unclear)),
            Outcome::Transient { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => (Some(Evidence::Unclear), Some(Evidence::Unclear)),
        };
        if let (Some(evidence), Some(class)) = (gate, self.classes.get_mut(ended.class)) {
            let under_way = class.known.budget.held().0.get();
            class.known.gate.answer(ended.job, evidence, (under_way, self.config.slots), now);
        }
        if let Some(evidence) = account {
            self.account.answer(ended.job, evidence, now);
        }
    }

    /// The one place where outcomes become verdicts.
    fn judge(
        &mut self,
        ended: &Ended,
        outcome: &Outcome,
        now: Timestamp,
        chance: Entropy,
    ) -> Judgment {
        match outcome {
            Outcome::Completed { .. } | Outcome::Permanent { .. } | Outcome::AlreadyEnded => {
                Judgment::ENDED
            }
            Outcome::Transient { error, retry_after, begun } => {
                let fault = (error, *retry_after, *begun);
                let stood_in = self.upstream_failed(ended, fault, now, chance);
                stood_in.unwrap_or_else(|| self.failed(ended.job, *retry_after, chance))
            }
            Outcome::Lost => self.failed(ended.job, None, chance),
            Outcome::Throttled { retry_after, .. } => {
                self.throttled(ended, *retry_after, now, chance)
            }
            Outcome::Account { fault, .. } => {
                let after = self.account.fault(ended.job, *fault, now);
                match fault {
                    AccountFault::Credentials => Judgment::ENDED,
                    AccountFault::SpendLimit => Judgment::back_in_place(after),
                }
            }
            Outcome::NotStarted => Judgment::back_in_place(Span::ZERO),
        }
    }

    /// The gate hears of it. A job that was the probe of an upstream that is
    /// down stood in for all that wait: that uses up no attempt.
    fn upstream_failed(
        &mut self,
        ended: &Ended,
        (error, retry_after, begun): (&JobError, Option<Span>, bool),
        now: Timestamp,
        chance: Entropy,
    ) -> Option<Judgment> {
        if !is_fault(error) {
            return None;
        }
        let class = self.classes.get_mut(ended.class)?;
        let others = class.order.waiting() > 0 || !class.order.parking.is_empty();
        let stood_in = class.known.gate.is_probe(ended.job) && others;
        let wait = class.known.gate.outage(retry_after, chance);
        class.known.gate.fault(ended.job, wait, self.config.outage_after, now);
        if !stood_in || begun || error.kind != OVERLOADED {
            return None;
        }
        self.refused(ended.job, wait, None)
    }

    /// An attempt is used up.
    fn failed(&mut self, id: JobId, retry_after: Option<Span>, chance: Entropy) -> Judgment {
        let Some(job) = self.jobs.get_mut(&id) else {
            return Judgment::ENDED;
        };
        let submission = &mut job.submission;
        job.throttled = 0;
        submission.attempts = submission.attempts.saturating_add(1);
        let (attempts, priority) = (submission.attempts, submission.priority);
        let backoff = self.config.backoff(priority).delay(attempts, chance);
        let wish = retry_after.unwrap_or(Span::ZERO).min(LONGEST_WISH);
        let after = backoff.max(wish);
        let verdict = if attempts >= self.config.attempts(priority) {
            Verdict::DeadLetter
        } else {
            Verdict::Retry { after, attempt_used: true }
        };
        Judgment { verdict, delay: Some(after) }
    }

    /// The gate closes for the whole class, and the job goes back to its
    /// place. A wish that cannot be about the class's buckets holds back this
    /// job alone.
    fn throttled(
        &mut self,
        ended: &Ended,
        retry_after: Option<Span>,
        now: Timestamp,
        chance: Entropy,
    ) -> Judgment {
        let own = retry_after.filter(|wish| !plausible(*wish)).map(|wish| wish.min(LONGEST_WISH));
        let Some(class) = self.classes.get_mut(ended.class) else {
            return Judgment::ENDED;
        };
        let wait = class.known.gate.wait(retry_after, chance);
        class.known.gate.refuse(ended.job, wait, now);
        self.refused(ended.job, wait, own).unwrap_or(Judgment::ENDED)
    }

    /// The job did not run, for a reason that is not its own. That may happen
    /// often, but not for ever.
    fn refused(&mut self, id: JobId, wait: Span, delay: Option<Span>) -> Option<Judgment> {
        let job = self.jobs.get_mut(&id)?;
        job.throttled = job.throttled.saturating_add(1);
        let attempt_used = job.throttled > self.config.free_throttles;
        let submission = &mut job.submission;
        submission.attempts = submission.attempts.saturating_add(attempt_used.into());
        let verdict = if submission.attempts >= self.config.attempts(submission.priority) {
            Verdict::DeadLetter
        } else {
            Verdict::Retry { after: delay.unwrap_or(wait), attempt_used }
        };
        Some(Judgment { verdict, delay })
    }
}

impl Judgment {
    const ENDED: Self = Self { verdict: Verdict::Ended, delay: None };

    /// No attempt was made. What holds the job back, for `after`, holds back
    /// others too.
    const fn back_in_place(after: Span) -> Self {
        Self { verdict: Verdict::Retry { after, attempt_used: false }, delay: None }
    }
}

/// Whether an error tells of the upstream, and not of us or the job.
fn is_fault(error: &JobError) -> bool {
    FAULTS.contains(&error.kind.as_str())
}

/// The upstream is there, and has no room: it has not begun to work.
const OVERLOADED: &str = "overloaded_error";
const FAULTS: [&str; 5] = [OVERLOADED, "api_error", "timeout_error", "timeout", "connection_error"];

/// Nobody waits longer for one job's sake, whatever the upstream wishes.
pub(super) const LONGEST_WISH: Span = Span::from_secs(600);
