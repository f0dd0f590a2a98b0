//! Why a job waits, and until when.
use super::{Reason, Scheduler, WaitingFor, class::Class, job::Job, job::Place, lanes::Ahead};
use crate::domain::{JobId, Timestamp, Tokens, Usage};

impl Scheduler {
    /// What a job waits for. `None` if it is unknown, or under way.
    #[must_use]
    pub fn explain(&self, job: JobId, now: Timestamp) -> Option<WaitingFor> {
        let mut clock = self.clock;
        let now = clock.see(now);
        let job = self.jobs.get(&job)?;
        let retry = match job.place {
            Place::Waiting => now,
            Place::Delayed(until) => until,
            Place::Leased(_) => return None,
        };
        let class = self.classes.known().get(&job.submission.class)?;
        let ahead = self.lanes.ahead(job);
        let start = self
            .earned_at(class, job, ahead)
            .max(retry)
            .max(class.gate.opens_at().unwrap_or(now))
            .max(self.account.opens_at().unwrap_or(now))
            .max(now);
        Some(WaitingFor {
            reason: self.reason(class, job, ahead, now),
            position: ahead.jobs.saturating_add(1),
            estimated_start: clock.on_the_wall(start),
        })
    }

    fn reason(&self, class: &Class, job: &Job, ahead: Ahead, now: Timestamp) -> Reason {
        let gate_open = class.gate.opens_at().is_some_and(|opens| opens <= now);
        let need = class.need(&self.config, job.submission.estimate);
        if self.account.paused().is_some() {
            Reason::Paused
        } else if job.place != Place::Waiting || !gate_open {
            Reason::Retry
        } else if ahead.jobs > 0 {
            Reason::Turn
        } else if class.budget.fits_at(need) > now {
            Reason::Tokens
        } else if self.slot_free() {
            Reason::Turn
        } else {
            Reason::Slot
        }
    }

    /// When the class will have earned the tokens of this job and of all that
    /// go before it.
    fn earned_at(&self, class: &Class, job: &Job, ahead: Ahead) -> Timestamp {
        let need = class.need(&self.config, job.submission.estimate);
        if ahead.jobs == 0 {
            return class.budget.fits_at(need);
        }
        let calls = u64::try_from(ahead.jobs).unwrap_or(u64::MAX);
        let output = need.output.get().saturating_mul(calls.saturating_add(1));
        let total =
            Usage { input: need.input.saturating_add(ahead.input), output: Tokens::new(output) };
        let requests = Tokens::new(calls.saturating_add(1));
        class.budget.earned_at(requests, total)
    }
}
