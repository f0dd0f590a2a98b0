//! What survives a restart: one small snapshot, and the rows.
use super::{
    Config, Row, Scheduler, TenantRow,
    class::{Class, Known},
    clock::Clock,
    few::Few,
    floors::Floors,
    job::{Job, Lease, Place},
    keys::TenantKey,
    lane::{Lane, Seat},
    parked::Parked,
    pause::Account,
    row::{LaneRow, Version},
    settle::LONGEST_WISH,
};
use crate::domain::{JobId, Limits, ModelClass, Priority, Timestamp, from_json};
use serde::{Deserialize, Serialize};

/// All but jobs and tenants.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    v: Version,
    clock: Clock,
    /// The fingerprint under which `account` was found at fault.
    credentials: u64,
    account: Account,
    /// The limits as configured, to tell them from learned ones.
    limits: Limits,
    unknown_before: Option<Timestamp>,
    /// Between the classes.
    floors: Floors,
    classes: Few<ModelClass, Known>,
}

impl Scheduler {
    /// The budgets, gates, means, rounds and the pause, as text. To be stored
    /// together with the rows.
    #[must_use]
    pub fn snapshot(&self) -> String {
        let mut classes = Few::default();
        for (name, _, class) in self.classes.by_name() {
            classes.insert(name.clone(), class.known());
        }
        let snapshot = Snapshot {
            v: Version::Current,
            clock: self.clock,
            credentials: self.config.credentials,
            account: self.account,
            limits: self.config.limits,
            unknown_before: self.classes.unknown_before,
            floors: self.classes.floors,
            classes,
        };
        serde_json::to_string(&snapshot).unwrap_or_default()
    }

    /// Goes on where a scheduler was that left this snapshot and these rows.
    ///
    /// Without a readable snapshot no job is lost, but nobody knows what was
    /// used of the budgets: they begin empty, unless there are no rows either.
    #[must_use]
    pub fn restore(
        config: Config,
        snapshot: Option<&str>,
        rows: impl IntoIterator<Item = Row>,
        now: Timestamp,
    ) -> Self {
        let (mut jobs, mut tenants) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Row::Job(row) => jobs.push(row.job),
                Row::Tenant(row) => tenants.push(row),
            }
        }
        let mut scheduler = Self::new(config, now);
        match snapshot.map(from_json::<Snapshot>) {
            Some(Ok(snapshot)) => scheduler.remember(&snapshot, now),
            None if jobs.is_empty() => {}
            Some(Err(_)) | None => scheduler.classes.unknown_before = Some(now),
        }
        for row in tenants {
            scheduler.readmit_tenant(row);
        }
        let unseated: Vec<_> = jobs.into_iter().filter_map(|job| scheduler.readmit(job)).collect();
        scheduler.seat_all();
        for Job { submission, order, throttled, .. } in unseated {
            let id = submission.job;
            scheduler.enter(submission, order);
            if let Some(job) = scheduler.jobs.get_mut(&id) {
                job.throttled = throttled;
            }
        }
        scheduler.abandon_probes();
        let jobs = &scheduler.jobs;
        scheduler.changed.retain(|id| !jobs.contains_key(id));
        scheduler
    }

    fn remember(&mut self, snapshot: &Snapshot, now: Timestamp) {
        self.clock = snapshot.clock;
        self.clock.see(now);
        if snapshot.credentials == self.config.credentials {
            self.account = snapshot.account;
        }
        self.classes.unknown_before = snapshot.unknown_before;
        self.classes.floors = snapshot.floors;
        for (name, known) in snapshot.classes.iter() {
            let mut known = *known;
            known.budget.reconfigure(snapshot.limits, &self.config);
            self.classes.open(Class::new(name.clone(), &known, self.clock.now()));
        }
    }

    fn readmit_tenant(&mut self, row: TenantRow) {
        let key = self.hall.tenant(&row.tenant);
        for lane in row.lanes {
            self.readmit_lane(key, &lane);
        }
        if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
            let longest = self.clock.now() + self.config.demotion.lasts;
            tenant.conduct = row.conduct;
            if let Some(demotion) = &mut tenant.conduct.demotion {
                demotion.until = demotion.until.min(longest);
                self.demotions.insert((demotion.until, row.tenant));
            }
        }
        self.readmit_holds(key, row.knocks.unwrap_or_default());
    }

    /// A lane comes back with its account and seat; its jobs follow.
    fn readmit_lane(&mut self, tenant: TenantKey, row: &LaneRow) {
        let now = self.clock.now();
        let key = self.classes.key(&row.class, &self.config, now);
        let mut account = row.account;
        if let Seat::Idle { since, .. } = &mut account.seat {
            *since = now.min(*since);
        }
        if self.hall.find(tenant, key, row.rank).is_none()
            && let Some(class) = self.classes.get_mut(key)
        {
            class.order.open(&mut self.hall, Lane::new(tenant, key, row.rank, account));
        }
    }

    /// Puts a job where it was. One whose lane is not there any more comes back.
    fn readmit(&mut self, job: Job) -> Option<Job> {
        let id = job.submission.job;
        if self.jobs.contains_key(&id) {
            return None;
        }
        self.next_order = self.next_order.max(job.order.saturating_add(1));
        let now = self.clock.now();
        let known = self.known(job.submission, job.order);
        let (throttled, place) = (job.throttled, job.place);
        let job = Job { throttled, ..known };
        match place {
            Place::Waiting => return self.readmit_waiting(job),
            Place::Delayed(until) => {
                self.keep(job);
                self.delay(id, until.min(now + LONGEST_WISH));
            }
            Place::Parked { rank, since, paid } => {
                self.readmit_parked(job, rank, (since.min(now), paid));
            }
            Place::Leased(lease) => self.readmit_lease(job, *lease),
        }
        None
    }

    /// A waiting job finds its lane seated, unless the lane's row was lost.
    fn readmit_waiting(&mut self, job: Job) -> Option<Job> {
        let (class, waiting) = (job.class, job.waiting());
        let rank = self.hall.tenants.get(job.tenant.0).map(|it| it.rank(waiting.priority));
        let lane = rank.and_then(|rank| self.hall.find(job.tenant, class, rank));
        let seated = lane.filter(|lane| {
            self.hall.lanes.get(lane.0).is_some_and(|lane| lane.account.seat.seq().is_some())
        });
        let (Some(lane), Some(known)) = (seated, self.classes.get_mut(class)) else {
            return Some(job);
        };
        known.order.put_back(&mut self.hall, lane, waiting);
        self.keep(job);
        None
    }

    fn readmit_parked(&mut self, mut job: Job, rank: Priority, (since, paid): (Timestamp, i64)) {
        let weight = self.config.weight(&job.submission);
        if let Some(class) = self.classes.get_mut(job.class) {
            class.order.parking.insert(Parked {
                rank,
                since,
                job: job.submission.job,
                order: job.order,
                tenant: job.tenant,
                weight,
                estimate: job.submission.estimate,
                paid,
            });
        }
        job.place = Place::Parked { rank, since, paid };
        self.keep(job);
    }

    fn readmit_lease(&mut self, mut job: Job, mut lease: Lease) {
        let now = self.clock.now();
        let id = job.submission.job;
        let longest = self.config.lease(job.submission.priority);
        lease.since = lease.since.min(now);
        lease.until = lease.until.min(now + longest.max(self.config.ask_again));
        if let Some(class) = self.classes.get_mut(job.class) {
            class.known.budget.find(&mut lease.held);
        }
        if let Some(tenant) = self.hall.tenants.get_mut(job.tenant.0) {
            tenant.begin(lease.rank);
        }
        self.leases.insert((lease.until, id));
        job.place = Place::Leased(Box::new(lease));
        self.keep(job);
    }

    /// Every lane takes its place in line, and leaves it if its jobs are gone.
    fn seat_all(&mut self) {
        let now = self.clock.now();
        let lanes: Vec<_> = self.hall.lanes.iter().map(|(key, lane)| (key, lane.class)).collect();
        for (key, class) in lanes {
            if let Some(class) = self.classes.get_mut(class) {
                class.order.seat_again(&mut self.hall, super::keys::LaneKey(key), now);
            }
        }
        for (_, class) in &mut self.classes.table {
            class.order.tiers.all_mut().into_iter().for_each(super::tier::Tier::sort);
        }
    }

    /// A probe without a lease will never be answered.
    fn abandon_probes(&mut self) {
        let now = self.clock.now();
        let jobs = &self.jobs;
        let runs = |id: JobId| {
            let place = jobs.get(&id).map(|job| &job.place);
            matches!(place, Some(Place::Leased(_)))
        };
        self.account.abandon(runs);
        for (_, class) in &mut self.classes.table {
            class.known.gate.abandon(now, runs);
        }
    }
}
