//! What callers ask the desk, beside submitting.
use super::{Desk, DeskPorts};
use crate::domain::JobId;
use crate::pipeline::ports::{Ambient, PortResult, Vacated};
use crate::scheduler::{Admission, Scheduler, Wish};
use std::rc::Rc;

impl<P: DeskPorts> Desk<P> {
    /// Lets a request in, or not. Nothing is written: a hold that is lost with
    /// the object's memory has ended.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn admit(self: &Rc<Self>, wish: &Wish) -> PortResult<Admission> {
        let chance = self.shared().chance();
        self.look(|scheduler, now| scheduler.admit(wish, now, chance))
    }

    /// Gives places back.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn vacate(self: &Rc<Self>, places: &Vacated) -> PortResult<()> {
        self.look(|scheduler, _| scheduler.vacate(&places.tenant, places.hold))
    }

    /// Ends jobs by their owner's wish.
    ///
    /// # Errors
    ///
    /// The storage failed; whether they have ended here is not known.
    pub async fn cancel(self: &Rc<Self>, jobs: Vec<JobId>) -> PortResult<()> {
        let cancel = |scheduler: &mut Scheduler, now| {
            for job in &jobs {
                scheduler.cancel(*job, now);
            }
        };
        self.turn(cancel).await?;
        for job in &jobs {
            self.waiters.call(*job);
        }
        Ok(())
    }

    /// Which of these jobs, whose attempts are under way, were canceled.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn canceled(self: &Rc<Self>, mut jobs: Vec<JobId>) -> PortResult<Vec<JobId>> {
        self.look(|scheduler, _| jobs.retain(|job| scheduler.was_canceled(*job)))?;
        Ok(jobs)
    }

    /// Who waits for jobs that are no longer here goes on.
    pub(super) fn call_waiters(self: &Rc<Self>, jobs: &[JobId]) -> PortResult<()> {
        let gone = self.look(|scheduler, _| {
            jobs.iter().copied().filter(|job| !scheduler.knows(*job)).collect::<Vec<_>>()
        });
        gone?.into_iter().for_each(|job| self.waiters.call(job));
        Ok(())
    }
}
