//! Why a job waits, and until when.
use super::{
    Reason, Scheduler, WaitingFor,
    class::Class,
    forecast::{Estimate, Forecast},
    job::{Job, Place},
    view::View,
};
use crate::domain::{JobId, Timestamp};

impl Scheduler {
    /// What a job waits for. `None` if it is unknown, or under way.
    #[must_use]
    pub fn explain(&self, job: JobId, now: Timestamp) -> Option<WaitingFor> {
        let mut clock = self.clock;
        let now = clock.see(now);
        let job = self.jobs.get(&job)?;
        let retry = match job.place {
            Place::Waiting | Place::Parked { .. } => now,
            Place::Delayed(until) => until,
            Place::Leased(_) => return None,
        };
        let class = self.classes.get(job.class)?;
        let tariff = class.tariff(&self.config);
        let view = View::new((&self.hall, class), (&self.config, &tariff), now);
        let estimate = Forecast { scheduler: self, view, now }.of(job)?;
        let demotion = self.hall.tenants.get(job.tenant.0)?.conduct.demotion;
        Some(WaitingFor {
            reason: self.reason(class, job, estimate, now),
            position: usize::try_from(estimate.before).unwrap_or(usize::MAX).saturating_add(1),
            estimated_start: clock.on_the_wall(estimate.start.max(retry)),
            demotion: demotion.map(|demotion| self.shown(demotion)),
        })
    }

    fn reason(&self, class: &Class, job: &Job, estimate: Estimate, now: Timestamp) -> Reason {
        let gate_open = class.opens_at().is_some_and(|opens| opens <= now);
        let parked = matches!(job.place, Place::Parked { .. });
        if self.account.paused().is_some() {
            Reason::Paused
        } else if matches!(job.place, Place::Delayed(_)) || !gate_open {
            Reason::Retry
        } else if estimate.before > 0 && !parked {
            Reason::Turn
        } else if estimate.tokens > now || parked {
            Reason::Tokens
        } else if self.slot_free() && !self.is_capped(job) {
            Reason::Turn
        } else {
            Reason::Slot
        }
    }

    fn is_capped(&self, job: &Job) -> bool {
        let tenant = self.hall.tenants.get(job.tenant.0);
        let rank = tenant.map(|tenant| tenant.rank(job.submission.priority));
        rank.is_some_and(|rank| self.hall.is_capped(job.tenant, rank, &self.config))
    }
}
