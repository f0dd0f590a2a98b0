//! How a job comes back: what its attempt used, and what becomes of it.
use super::{
    Effect, Scheduler, Settlement,
    gate::plausible,
    job::{Lease, Place},
};
use crate::domain::{AccountFault, Entropy, JobId, ModelClass, Outcome, Span, Timestamp, Verdict};

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
    class: ModelClass,
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
        let now = self.clock.see(now);
        let Settlement { job, lease, outcome, limits } = settlement;
        let ended = self.end_lease(job, lease)?;
        let class = self.classes.get(&ended.class, &self.config, now);
        class.settle(&ended.lease, &outcome, limits, now);
        self.weigh(&ended, &outcome, now);
        let mut judgment = self.judge(&ended, &outcome, now, chance);
        if ended.lease.canceled {
            judgment = Judgment::ENDED;
        }
        self.carry_out(ended.job, &judgment, now);
        self.stand(&ended.class);
        Some(judgment.verdict)
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
        let ended =
            Ended { job: id, class: job.submission.class.clone(), lease: lease.as_ref().clone() };
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
            Outcome::Transient { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => (Some(Evidence::Unclear), Some(Evidence::Unclear)),
        };
        if let Some(evidence) = gate {
            let class = self.classes.get(&ended.class, &self.config, now);
            class.gate.answer(ended.job, evidence, now);
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
            Outcome::Transient { retry_after, .. } => self.failed(ended.job, *retry_after, chance),
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
        let gate = &mut self.classes.get(&ended.class, &self.config, now).gate;
        let wait = gate.wait(retry_after, chance);
        gate.refuse(ended.job, wait, now);
        let Some(job) = self.jobs.get_mut(&ended.job) else {
            return Judgment::ENDED;
        };
        job.throttled = job.throttled.saturating_add(1);
        let attempt_used = job.throttled > self.config.free_throttles;
        let submission = &mut job.submission;
        submission.attempts = submission.attempts.saturating_add(attempt_used.into());
        let own = retry_after.filter(|wish| !plausible(*wish));
        let delay = own.map(|wish| wish.min(LONGEST_WISH));
        let verdict = if submission.attempts >= self.config.attempts(submission.priority) {
            Verdict::DeadLetter
        } else {
            Verdict::Retry { after: delay.unwrap_or(wait), attempt_used }
        };
        Judgment { verdict, delay }
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

/// Nobody waits longer for one job's sake, whatever the upstream wishes.
pub(super) const LONGEST_WISH: Span = Span::from_secs(600);
