//! What is conserved.
use super::{Scheduler, house::Kept, job::Place, keys::TenantKey};
use crate::domain::{Tokens, Usage};
use std::collections::BTreeMap;

impl Scheduler {
    /// States the scheduler's laws; tests call it after every step.
    ///
    /// Every job is in exactly one place. Every token taken is held by exactly
    /// one lease. Every lane with jobs has one place in line, and every class
    /// stands where it says.
    ///
    /// # Panics
    ///
    /// If a law is broken.
    pub fn assert_consistent(&self) {
        let waiting: usize = self.classes.table.iter().map(|(_, it)| it.order.waiting()).sum();
        let places = waiting + self.parked() + self.delays.len() + self.leases.len();
        assert_eq!(places, self.jobs.len(), "a job is in two places, or in none");
        for (id, job) in &self.jobs {
            let there = match &job.place {
                Place::Waiting => self.hall.tenants.get(job.tenant.0).is_some_and(|tenant| {
                    let rank = tenant.rank(job.submission.priority);
                    let lane = self.hall.find(job.tenant, job.class, rank);
                    let lane = lane.and_then(|lane| self.hall.lanes.get(lane.0));
                    lane.is_some_and(|lane| lane.place(job.order, *id).is_ok())
                }),
                Place::Parked { since, .. } => self.classes.get(job.class).is_some_and(|class| {
                    class.order.parking.all().any(|it| it.job == *id && it.since == *since)
                }),
                Place::Delayed(until) => self.delays.contains(&(*until, *id)),
                Place::Leased(lease) => self.leases.contains(&(lease.until, *id)),
            };
            assert!(there, "{id} is not where it says");
        }
        self.hall.assert_sound();
        self.classes.assert_sound();
        self.assert_classes();
        self.assert_tenants();
        self.assert_holds();
    }

    fn assert_classes(&self) {
        let mut held = BTreeMap::new();
        for job in self.jobs.values() {
            if let Place::Leased(lease) = &job.place {
                let class = held.entry(job.class);
                let (calls, usage): &mut (Tokens, Usage) = class.or_default();
                let one = lease.held.usage();
                *calls = calls.saturating_add(Tokens::new(1));
                usage.input = usage.input.saturating_add(one.input);
                usage.output = usage.output.saturating_add(one.output);
            }
        }
        for (name, key, class) in self.classes.by_name() {
            let by_leases = held.remove(&key).unwrap_or_default();
            assert_eq!(class.known.budget.held(), by_leases, "tokens of {name} leaked");
            class.order.assert_sound(&self.hall, key);
            let jobs = self.jobs.values().filter(|job| job.class == key).count();
            assert_eq!(class.jobs, jobs, "jobs of {name} miscounted");
        }
        assert!(held.is_empty(), "leases of unknown classes: {held:?}");
    }

    fn assert_tenants(&self) {
        for (key, tenant) in &self.hall.tenants {
            let jobs = || self.jobs.values().filter(|job| job.tenant.0 == key);
            let leased = jobs().filter(|job| matches!(job.place, Place::Leased(_))).count();
            assert_eq!(tenant.jobs, jobs().count(), "jobs of {} miscounted", tenant.id);
            assert_eq!(tenant.all_running() as usize, leased, "slots of {} leaked", tenant.id);
        }
        let demoted = self.hall.tenants.iter().filter(|(_, it)| it.conduct.demotion.is_some());
        assert_eq!(demoted.count(), self.demotions.len(), "a demotion never ends");
    }

    fn assert_holds(&self) {
        for (at, tenant) in &self.hall.tenants {
            let stands = self.house.line.claimed(TenantKey(at)).is_some();
            assert_eq!(tenant.knocks.stands, stands, "the line knows another than its tenant");
        }
        let tenants = || self.hall.tenants.iter().map(|(_, tenant)| &tenant.knocks.kept);
        let held: u64 = tenants().map(Kept::held).sum();
        assert_eq!(self.house.held, held, "places leaked");
        let holds: usize = tenants().map(|kept| kept.holds.len()).sum();
        assert_eq!(self.house.ends.len(), holds, "a hold never ends");
    }

    fn parked(&self) -> usize {
        self.classes.table.iter().map(|(_, class)| class.order.parking.all().count()).sum()
    }
}
