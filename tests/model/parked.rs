//! Jobs too large to wait in a lane without blocking it.
use super::{Model, Place, class::ceil};
use claude_pipeline::domain::*;

impl Model {
    pub(super) fn park(&mut self, job: usize, rank: Priority) {
        self.note("parked");
        self.jobs[job].place = Place::Parked { since: self.now, rank };
        let tenant = self.jobs[job].submission.tenant.clone();
        self.left(self.jobs[job].class, rank, &tenant);
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
            Place::Parked { since, rank } if job.class == class => {
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

    pub(super) fn parked_goes(&mut self, job: usize, rank: Priority, keep: u32) -> bool {
        let class = self.jobs[job].class;
        let saver = self.saver(class).filter(|saver| *saver == job);
        if let Some((saved, all)) = saver.map(|saver| self.saved(saver))
            && saved >= all
        {
            let buckets = self.classes[class].buckets.iter().zip(self.need(job));
            let goes = buckets.into_iter().all(|(bucket, need)| bucket.nearly_fits(need));
            self.note(if goes { "saver fully saved" } else { "fully saved, and waits" });
            return goes;
        }
        self.fits(job, keep, self.hold(job, rank))
    }

    /// The one for which tokens are saved.
    fn saver(&self, class: usize) -> Option<usize> {
        let park = self.config.order.park.as_millis();
        let parked = self.parked(class).into_iter();
        parked.filter(|parked| self.now >= parked.1 + park).map(|parked| parked.3).next()
    }

    /// What was saved for it, and how much it is to be.
    fn saved(&self, saver: usize) -> (i128, i128) {
        let Place::Parked { since, .. } = self.jobs[saver].place else {
            return (0, 1);
        };
        let class = &self.classes[self.jobs[saver].class];
        let needs = class.buckets.iter().zip(self.need(saver));
        let waits = needs.map(|(bucket, need)| {
            ceil(i128::from(bucket.bounded(need)) * 60_000, bucket.limit.into())
        });
        let earn = waits.max().unwrap_or(0).max(1);
        let elapsed = self.now - since - self.config.order.park.as_millis();
        let weight = self.weight(saver);
        let lanes = 0..class.lanes.len();
        let busy = lanes.filter(|lane| self.head(self.jobs[saver].class, *lane).is_some());
        let all: i128 = busy.map(|lane| class.lanes[lane].weight).sum();
        (i128::from(elapsed) * weight, earn * all.max(weight))
    }

    /// What a job of this rank has to leave to the one that saves.
    pub(super) fn hold(&self, job: usize, rank: Priority) -> [i128; 3] {
        let class = self.jobs[job].class;
        let saver = self.saver(class).filter(|saver| *saver != job);
        let Some(saver) = saver.filter(|saver| match self.jobs[*saver].place {
            Place::Parked { rank: saving, .. } => rank >= saving,
            Place::Waiting(_) | Place::Delayed { .. } | Place::Leased(_) => false,
        }) else {
            return [0; 3];
        };
        let (part, all) = self.saved(saver);
        let need = self.need(saver);
        let buckets = &self.classes[class].buckets;
        [0, 1, 2].map(|at: usize| i128::from(buckets[at].bounded(need[at])) * part.min(all) / all)
    }
}
