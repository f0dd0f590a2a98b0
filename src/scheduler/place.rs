//! How a job gets into a place, and out of it.
use super::{
    Effect, Scheduler, Submission, Submitted,
    job::{Job, Place},
    order::Context,
};
use crate::domain::{JobId, Timestamp};

impl Scheduler {
    /// A job with its tenant and class.
    pub(super) fn known(&mut self, submission: Submission, order: u64) -> Job {
        let class = self.classes.key(&submission.class, &self.config, self.clock.now());
        let tenant = self.hall.tenant(&submission.tenant);
        Job { submission, order, throttled: 0, place: Place::Waiting, tenant, class }
    }

    /// Takes a new job in, unless it may not be tried any more.
    pub(super) fn enter(&mut self, submission: Submission, order: u64) -> Submitted {
        let Submission { job: id, attempts, priority, .. } = submission;
        self.changed.insert(id);
        if attempts >= self.config.attempts(priority) {
            self.effects.push_back(Effect::DeadLetter { job: id, attempts });
            return Submitted::DeadLettered;
        }
        let job = self.known(submission, order);
        self.keep(job);
        self.wait(id);
        Submitted::New
    }

    /// Counts a job with its tenant and class.
    pub(super) fn keep(&mut self, job: Job) {
        self.moved(job.tenant, false);
        if let Some(tenant) = self.hall.tenants.get_mut(job.tenant.0) {
            tenant.jobs += 1;
        }
        if let Some(class) = self.classes.get_mut(job.class) {
            class.jobs += 1;
        }
        self.classes.touch(job.class);
        self.jobs.insert(job.submission.job, job);
    }

    /// Puts a job that is nowhere into its lane.
    pub(super) fn wait(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.place = Place::Waiting;
            self.changed.insert(id);
            self.line_up(id);
        }
    }

    /// Puts a job into its lane, by its tenant's rank of now.
    pub(super) fn line_up(&mut self, id: JobId) {
        let (Some(job), now) = (self.jobs.get(&id), self.clock.now()) else {
            return;
        };
        let (Some(class), Some(tenant)) =
            (self.classes.get_mut(job.class), self.hall.tenants.get(job.tenant.0))
        else {
            return;
        };
        let rank = tenant.rank(job.submission.priority);
        let weight = self.config.weight(&job.submission);
        let tariff = class.tariff_for(job.submission.estimate, &self.config);
        let context = Context { config: &self.config, tariff: &tariff, now };
        let lane = (job.tenant, job.class, rank);
        class.order.put(&mut self.hall, lane, job.waiting(), weight, context);
        self.classes.touch(job.class);
    }

    /// Puts a job that is nowhere aside, until then.
    pub(super) fn delay(&mut self, id: JobId, until: Timestamp) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.place = Place::Delayed(until);
            self.delays.insert((until, id));
            self.changed.insert(id);
        }
    }

    /// Removes a job from wherever it is.
    pub(super) fn forget(&mut self, id: JobId) {
        self.leave(id);
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        if let Some(tenant) = self.hall.tenants.get_mut(job.tenant.0) {
            tenant.jobs = tenant.jobs.saturating_sub(1);
        }
        if let Some(class) = self.classes.get_mut(job.class) {
            class.jobs = class.jobs.saturating_sub(1);
        }
        self.changed.insert(id);
        self.moved(job.tenant, true);
        self.hall.changed(job.tenant);
        self.classes.touch(job.class);
    }

    /// Takes a job out of the place where it is.
    fn leave(&mut self, id: JobId) {
        let (Some(job), now) = (self.jobs.get(&id), self.clock.now()) else {
            return;
        };
        match &job.place {
            Place::Delayed(until) => drop(self.delays.remove(&(*until, id))),
            Place::Leased(lease) => drop(self.leases.remove(&(lease.until, id))),
            Place::Parked { rank, since, paid } => {
                let lane = self.hall.find(job.tenant, job.class, *rank);
                let Some(class) = self.classes.get_mut(job.class) else {
                    return;
                };
                class.order.parking.remove(*rank, *since, id);
                let most = class.tariff(&self.config).burst(self.config.order.burst_quanta);
                if let Some(account) = lane.and_then(|lane| self.hall.account_mut(lane)) {
                    account.correct(*paid, 0, most);
                }
            }
            Place::Waiting => {
                let rank =
                    self.hall.tenants.get(job.tenant.0).map(|it| it.rank(job.submission.priority));
                let lane = rank.and_then(|rank| self.hall.find(job.tenant, job.class, rank));
                if let (Some(lane), Some(class)) = (lane, self.classes.get_mut(job.class)) {
                    class.order.take(&mut self.hall, lane, (job.order, id), now);
                }
            }
        }
    }
}
