//! Tenants whose jobs count as batch for a while.
use super::{Model, Place};
use claude_pipeline::domain::*;
use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Tenant {
    /// When it got the blame for a 429.
    throttles: Vec<u64>,
    demoted_until: Option<u64>,
    /// Which day, and the input completed on it.
    day: (u64, u128),
}

impl Model {
    pub(super) fn demoted(&self, tenant: &TenantId) -> bool {
        self.tenants.get(tenant).is_some_and(|tenant| tenant.demoted_until.is_some())
    }

    /// A call was refused: whoever uses most of the class, for its weight, and
    /// clearly more than its share, gets the blame.
    pub(super) fn blame(&mut self, class: usize) {
        let limit = self.config.demotion.throttles;
        let Some(tenant) = self.culprit(class).filter(|_| limit > 0) else {
            return;
        };
        if self.demoted(&tenant) {
            self.note("demoted culprit");
            return;
        }
        let (now, window) = (self.now, self.config.demotion.window.as_millis());
        let throttles = &mut self.tenants.entry(tenant.clone()).or_default().throttles;
        throttles.push(now);
        if throttles.iter().filter(|at| **at + window > now).count() >= limit as usize {
            self.note("demoted for throttles");
            self.demote(&tenant);
        }
    }

    fn culprit(&self, class: usize) -> Option<TenantId> {
        let lanes = &self.classes[class].lanes;
        let tenants: BTreeSet<_> = lanes.iter().map(|lane| &lane.tenant).collect();
        let mut active = Vec::new();
        for tenant in tenants {
            let theirs = || lanes.iter().filter(|lane| lane.tenant == *tenant);
            let used = theirs().map(|lane| self.recent(&lane.spent)).sum::<i128>();
            let weight = theirs().map(|lane| lane.weight).max().unwrap_or(1);
            let waits = self.jobs.iter().any(|job| {
                let waits = job.class == class && matches!(job.place, Place::Waiting(_));
                waits && job.submission.tenant == *tenant
            });
            if used > 0 || waits {
                active.push((tenant, used, weight));
            }
        }
        let total: i128 = active.iter().map(|(_, used, _)| used).sum();
        let weights: i128 = active.iter().map(|(_, _, weight)| weight).sum();
        let (tenant, used, weight) = active.into_iter().reduce(|most, next| {
            let more = next.1 * most.2 > most.1 * next.2;
            if more { next } else { most }
        })?;
        (4 * used * weights > 5 * weight * total).then(|| tenant.clone())
    }

    /// Of this minute, and as much of the last one as is not a minute ago.
    fn recent(&self, spent: &[(u64, i128)]) -> i128 {
        let (minute, into) = (self.now / 60_000, self.now % 60_000);
        let of = |minute| {
            let of = spent.iter().filter(move |(at, _)| at / 60_000 == minute);
            of.map(|(_, price)| price).sum::<i128>()
        };
        let before = minute.checked_sub(1).map_or(0, of);
        before * i128::from(60_000 - into) / 60_000 + of(minute)
    }

    /// A job has used this input.
    pub(super) fn count_day(&mut self, tenant: &TenantId, own: Option<Tokens>, input: u64) {
        let today = self.now / 86_400_000;
        let daily = u128::from(own.unwrap_or(self.config.demotion.daily_input).get());
        if daily == 0 {
            return;
        }
        let known = self.tenants.entry(tenant.clone()).or_default();
        let (day, used) = &mut known.day;
        *used = if *day == today { *used + u128::from(input) } else { input.into() };
        *day = today;
        let most = daily * u128::from(self.config.demotion.daily_percent) / 100;
        if *used > most && known.demoted_until.is_none() {
            self.note("demoted for a day's input");
            self.demote(tenant);
        }
    }

    fn demote(&mut self, tenant: &TenantId) {
        let until = self.now + self.config.demotion.lasts.as_millis();
        let known = self.tenants.entry(tenant.clone()).or_default();
        known.demoted_until = Some(until);
        known.throttles.clear();
        self.move_jobs(tenant, &[Priority::Critical, Priority::Standard]);
    }

    pub(super) fn lift_demotions(&mut self) {
        let tenants = self.tenants.iter().filter_map(|(id, tenant)| {
            let until = tenant.demoted_until.filter(|until| *until <= self.now)?;
            Some((until, id.clone()))
        });
        let mut due: Vec<_> = tenants.collect();
        due.sort_unstable();
        for (_, tenant) in due {
            self.tenants.entry(tenant.clone()).or_default().demoted_until = None;
            self.note("demotion lifted");
            self.move_jobs(&tenant, &[Priority::Batch]);
        }
    }

    /// Puts the tenant's jobs in these lanes where they belong now.
    fn move_jobs(&mut self, tenant: &TenantId, from: &[Priority]) {
        for class in 0..self.classes.len() {
            for rank in from {
                let here = |job: &&super::Job| {
                    job.class == class
                        && job.place == Place::Waiting(*rank)
                        && job.submission.tenant == *tenant
                        && (*rank != Priority::Batch || job.submission.priority != Priority::Batch)
                };
                let jobs = self.jobs.iter().filter(here);
                let mut jobs: Vec<_> = jobs.map(|job| (job.order, job.submission.job)).collect();
                jobs.sort_unstable();
                for (_, id) in jobs {
                    self.note("moved between lanes");
                    let Some(at) = self.find(id) else { continue };
                    self.jobs[at].place = Place::Delayed { until: self.now };
                    self.left(class, *rank, tenant);
                    self.put_in(at);
                }
            }
        }
    }
}
