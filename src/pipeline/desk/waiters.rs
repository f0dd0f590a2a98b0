//! Callers who wait for the end of a job. They are known to this instance of
//! the object only: if it goes, they ask again.
use super::{Desk, DeskPorts};
use crate::domain::{JobId, Span};
use crate::pipeline::ports::{Ambient, PortResult};
use futures_channel::oneshot::{Sender, channel};
use futures_util::future::select;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

/// By the job they wait for.
#[derive(Default)]
pub(super) struct Waiters(RefCell<BTreeMap<JobId, Vec<Sender<()>>>>);

impl Waiters {
    /// The job has left: all who wait for it go on.
    pub(super) fn call(&self, job: JobId) {
        // A sender that is dropped has told, too.
        drop(self.0.borrow_mut().remove(&job));
    }

    fn add(&self, job: JobId, waiter: Sender<()>) {
        self.0.borrow_mut().entry(job).or_default().push(waiter);
    }

    /// Forgets those who have given up.
    fn tidy(&self, job: JobId) {
        let mut waiters = self.0.borrow_mut();
        if let Some(of_job) = waiters.get_mut(&job) {
            of_job.retain(|waiter| !waiter.is_canceled());
            if of_job.is_empty() {
                waiters.remove(&job);
            }
        }
    }
}

impl<P: DeskPorts> Desk<P> {
    /// Returns when the job is no longer here, or after `span`; says whether
    /// it was here at first.
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub async fn wait(self: &Rc<Self>, job: JobId, span: Span) -> PortResult<bool> {
        if !self.look(|scheduler, _| scheduler.knows(job))? {
            return Ok(false);
        }
        let (waiter, left) = channel();
        self.waiters.add(job, waiter);
        select(left, pin!(self.shared().pause(span))).await;
        self.waiters.tidy(job);
        Ok(true)
    }
}
