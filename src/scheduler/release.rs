//! How a job goes: its turn has come, its tokens are there, a slot is free.
use super::{
    Effect, Release, Scheduler, Wake,
    job::{Lease, Place},
};
use crate::domain::{JobId, ModelClass, Span, Timestamp};

impl Scheduler {
    /// Lets time pass: delays end, gates open, leases end and are asked for.
    /// Calling early or twice does nothing.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let now = self.clock.see(now);
        while let Some(id) = self.due_delay(now) {
            self.wait(id);
        }
        self.classes.advance(now);
        while let Some(id) = self.due_lease(now) {
            self.ask(id, now);
        }
    }

    /// Releases all jobs that may go now, as effects.
    pub fn dispatch(&mut self, now: Timestamp) {
        self.handle_timeout(now);
        while self.may_release() {
            let Some(class) = self.classes.next().cloned() else {
                break;
            };
            self.release_from(&class);
        }
    }

    /// The next moment at which something can happen, and what: `None` when
    /// only a submission or a settlement can change anything.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Timestamp, Wake)> {
        let lease = self.leases.first().map(|(at, _)| (*at, Wake::LeaseEnd));
        let (at, wake) = lease.into_iter().chain(self.next_turn()).min()?;
        Some((self.clock.on_the_wall(at), wake))
    }

    /// When the next job may go, as far as time decides it.
    fn next_turn(&self) -> Option<(Timestamp, Wake)> {
        if !self.slot_free() {
            return None;
        }
        let opens = (self.account.opens_at()?, Wake::PauseEnds);
        let ready = self.classes.next().map(|_| (self.clock.now(), Wake::Turn));
        let delay = self.delays.first().map(|(at, _)| (*at, Wake::DelayEnd));
        let first = ready.into_iter().chain(self.classes.next_blocked()).chain(delay).min()?;
        Some(if opens.0 > first.0 { opens } else { first })
    }

    fn may_release(&self) -> bool {
        let open = self.account.opens_at();
        self.slot_free() && open.is_some_and(|opens| opens <= self.clock.now())
    }

    pub(super) fn slot_free(&self) -> bool {
        self.leases.len() < usize::try_from(self.config.slots).unwrap_or(usize::MAX)
    }

    fn release_from(&mut self, class: &ModelClass) {
        let now = self.clock.now();
        let next = self.lanes.head(class);
        if let Some(job) = next.and_then(|id| self.jobs.get_mut(&id)) {
            self.lanes.remove(job);
            let submission = &mut job.submission;
            submission.lease = submission.lease.saturating_add(1);
            let until = now + self.config.lease(submission.priority);
            self.effects.push_back(Effect::Release(Release {
                job: submission.job,
                lease: submission.lease,
                attempt: submission.attempts.saturating_add(1),
                until: self.clock.on_the_wall(until),
                queue: submission.priority.queue(),
            }));
            let known = self.classes.get(class, &self.config, now);
            let need = known.need(&self.config, submission.estimate);
            let held = known.release(submission.job, need, now);
            self.account.release(submission.job);
            self.leases.insert((until, submission.job));
            self.changed.insert(submission.job);
            job.place = Place::Leased(Box::new(Lease { since: now, until, held, canceled: false }));
        }
        self.stand(class);
    }

    /// Asks what became of a lease, and means to ask again.
    fn ask(&mut self, id: JobId, now: Timestamp) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let Place::Leased(lease) = &mut job.place {
            lease.until = now + self.config.ask_again.max(MOMENT);
            self.leases.insert((lease.until, id));
            self.changed.insert(id);
            self.effects.push_back(Effect::Reconcile { job: id, lease: job.submission.lease });
        }
    }

    fn due_delay(&mut self, now: Timestamp) -> Option<JobId> {
        let (_, id) = self.delays.first().copied().filter(|(at, _)| *at <= now)?;
        self.delays.pop_first();
        Some(id)
    }

    fn due_lease(&mut self, now: Timestamp) -> Option<JobId> {
        let (_, id) = self.leases.first().copied().filter(|(at, _)| *at <= now)?;
        self.leases.pop_first();
        Some(id)
    }
}

/// Asking again takes time, whatever the settings say.
const MOMENT: Span = Span::from_secs(1);
