//! Jobs too large to wait in a lane without blocking it.
use super::{Model, Place, class::ceil};
use claude_pipeline::domain::*;

impl Model {
    pub(super) fn park(&mut self, job: usize, rank: Priority) {
        self.note("parked");
        let (paid, class) = (self.price(job), self.jobs[job].class);
        let lane = self.lane_for(job, rank);
        self.classes[class].lanes[lane].credit -= paid;
        self.jobs[job].place = Place::Parked { since: self.now, rank, paid };
        let tenant = self.jobs[job].submission.tenant.clone();
        self.left(class, rank, &tenant);
    }

    /// No more than 16 are parked.
    pub(super) fn parking_is_full(&self, class: usize) -> bool {
        self.parked(class).len() >= 16
    }

    pub(super) fn give_back(
        &mut self,
        class: usize,
        rank: Priority,
        tenant: &TenantId,
        paid: i128,
    ) {
        let Some(lane) = self.find_lane(class, rank, tenant) else { return };
        let cap = self.classes[class].cap(&self.config);
        let credit = &mut self.classes[class].lanes[lane].credit;
        *credit = (*credit + paid).min(cap.max(*credit));
    }

    pub(super) fn first_parked(&self, class: usize, rank: Priority) -> Option<usize> {
        let tenant = |job: usize| &self.jobs[job].submission.tenant;
        let parked = self.parked(class).into_iter().filter(|parked| parked.0 == rank);
        let mut free = parked.filter(|parked| !self.capped(tenant(parked.3), rank));
        free.next().map(|parked| parked.3)
    }

    /// By rank, then by when they were parked.
    fn parked(&self, class: usize) -> Vec<(Priority, u64, JobId, usize)> {
        let here = |(at, job): (usize, &super::Job)| match job.place {
            Place::Parked { since, rank, .. } if job.class == class => {
                Some((rank, since, job.submission.job, at))
            }
            Place::Parked { .. } | Place::Waiting(_) | Place::Delayed { .. } | Place::Leased(_) => {
                None
            }
        };
        let mut parked: Vec<_> = self.jobs.iter().enumerate().filter_map(here).collect();
        parked.sort_unstable();
        parked
    }

    /// The job all of which is saved, if its tokens are there.
    pub(super) fn saved_goes(&mut self, class: usize) -> Option<(usize, Priority)> {
        let saver = self.saver(class)?;
        let Place::Parked { rank, .. } = self.jobs[saver].place else {
            return None;
        };
        let (part, all) = self.saved(saver);
        if part < all || self.capped(&self.jobs[saver].submission.tenant, rank) {
            return None;
        }
        let buckets = self.classes[class].buckets.iter().zip(self.need(saver));
        let goes = buckets.into_iter().all(|(bucket, need)| bucket.nearly_fits(need));
        self.note(if goes { "saver fully saved" } else { "fully saved, and waits" });
        goes.then_some((saver, rank))
    }

    /// The one for which tokens are saved: the one parked longest, once it has
    /// waited, and the one before it is gone.
    fn saver(&self, class: usize) -> Option<usize> {
        let oldest = self.parked(class).into_iter().min_by_key(|it| (it.1, it.2))?.3;
        Some(oldest).filter(|saver| self.saving_since(*saver) <= self.now)
    }

    fn saving_since(&self, saver: usize) -> u64 {
        let class = &self.classes[self.jobs[saver].class];
        match self.jobs[saver].place {
            Place::Parked { since, .. } => {
                class.saved_until.max(since + self.config.order.park.as_millis())
            }
            Place::Waiting(_) | Place::Delayed { .. } | Place::Leased(_) => u64::MAX,
        }
    }

    /// What was saved for it, and how much it is to be.
    fn saved(&self, saver: usize) -> (i128, i128) {
        let Place::Parked { rank, .. } = self.jobs[saver].place else {
            return (0, 1);
        };
        let at = self.jobs[saver].class;
        let class = &self.classes[at];
        let needs = class.buckets.iter().zip(self.need(saver));
        let waits = needs.map(|(bucket, need)| {
            ceil(i128::from(bucket.bounded(need)) * 60_000, bucket.limit.into())
        });
        let earn = waits.max().unwrap_or(0).max(1);
        let elapsed = self.now - self.saving_since(saver);
        let weight = self.weight(saver);
        let lanes = 0..class.lanes.len();
        let busy =
            lanes.filter(|lane| class.lanes[*lane].rank == rank && self.head(at, *lane).is_some());
        let busy: i128 = busy.map(|lane| class.lanes[lane].weight).sum();
        let waiting = self.waits(at);
        let share = |rank: Priority| i128::from((*self.config.order.weights.get(rank)).max(1));
        let all: i128 = Priority::ALL
            .into_iter()
            .filter(|other| *other == rank || waiting[*other as usize])
            .map(share)
            .sum();
        let part = weight * share(rank);
        (i128::from(elapsed) * part, earn * (busy.max(weight) * all))
    }

    /// What a job has to leave to the one that saves.
    pub(super) fn hold(&self, job: usize) -> [i128; 3] {
        let class = self.jobs[job].class;
        let Some(saver) = self.saver(class).filter(|saver| *saver != job) else {
            return [0; 3];
        };
        let (part, all) = self.saved(saver);
        let need = self.need(saver);
        let buckets = &self.classes[class].buckets;
        [0, 1, 2].map(|at: usize| buckets[at].reachable(need[at]) * part.min(all) / all)
    }
}
