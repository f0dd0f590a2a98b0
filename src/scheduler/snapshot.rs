//! What survives a restart: one small snapshot, and a row for each job.
use super::{
    Config, Row, Scheduler,
    class::Class,
    classes::Classes,
    clock::Clock,
    job::{Job, Lease, Place, Version},
    pause::Account,
    settle::LONGEST_WISH,
};
use crate::domain::{JobId, Limits, ModelClass, Timestamp};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// All but the jobs.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot<'a> {
    v: Version,
    clock: Clock,
    /// The fingerprint under which `account` was found at fault.
    credentials: u64,
    account: Account,
    /// The limits as configured, to tell them from learned ones.
    limits: Limits,
    unknown_before: Option<Timestamp>,
    classes: Cow<'a, BTreeMap<ModelClass, Class>>,
}

impl Scheduler {
    /// The budgets, gates, means and the pause, as text. To be stored together
    /// with the rows.
    #[must_use]
    pub fn snapshot(&self) -> String {
        let snapshot = Snapshot {
            v: Version::Current,
            clock: self.clock,
            credentials: self.config.credentials,
            account: self.account,
            limits: self.config.limits,
            unknown_before: self.classes.unknown_before(),
            classes: Cow::Borrowed(self.classes.known()),
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
        let mut rows = rows.into_iter().peekable();
        let fresh = snapshot.is_none() && rows.peek().is_none();
        let mut scheduler = Self::new(config, now);
        match snapshot.and_then(|text| serde_json::from_str(text).ok()) {
            Some(snapshot) => scheduler.remember(snapshot, now),
            None if fresh => {}
            None => scheduler.classes = Classes::restore(BTreeMap::new(), Some(now)),
        }
        for row in rows {
            scheduler.readmit(row.job);
        }
        scheduler.abandon_probes();
        let jobs = &scheduler.jobs;
        scheduler.changed.retain(|id| !jobs.contains_key(id));
        scheduler
    }

    fn remember(&mut self, snapshot: Snapshot<'_>, now: Timestamp) {
        self.clock = snapshot.clock;
        self.clock.see(now);
        if snapshot.credentials == self.config.credentials {
            self.account = snapshot.account;
        }
        let mut classes = snapshot.classes.into_owned();
        for class in classes.values_mut() {
            class.budget.reconfigure(snapshot.limits, &self.config);
        }
        self.classes = Classes::restore(classes, snapshot.unknown_before);
    }

    fn readmit(&mut self, mut job: Job) {
        let id = job.submission.job;
        if self.jobs.contains_key(&id) {
            return;
        }
        self.next_order = self.next_order.max(job.order.saturating_add(1));
        let now = self.clock.now();
        match std::mem::replace(&mut job.place, Place::Waiting) {
            Place::Waiting => drop(self.enter(job)),
            Place::Delayed(until) => {
                self.enter(job);
                self.set_aside(id, until.min(now + LONGEST_WISH));
            }
            Place::Leased(lease) => self.readmit_lease(job, *lease),
        }
    }

    fn set_aside(&mut self, id: JobId, until: Timestamp) {
        if let Some(job) = self.jobs.get(&id) {
            let class = job.submission.class.clone();
            self.lanes.remove(job);
            self.delay(id, until);
            self.stand(&class);
        }
    }

    fn readmit_lease(&mut self, mut job: Job, mut lease: Lease) {
        let now = self.clock.now();
        let submission = &job.submission;
        let longest = self.config.lease(submission.priority);
        lease.since = lease.since.min(now);
        lease.until = lease.until.min(now + longest.max(self.config.ask_again));
        let class = self.classes.get(&submission.class, &self.config, now);
        class.budget.find(&mut lease.held);
        self.leases.insert((lease.until, submission.job));
        job.place = Place::Leased(Box::new(lease));
        self.jobs.insert(submission.job, job);
    }

    /// A probe without a lease will never be answered. After this, each class
    /// stands where it belongs.
    fn abandon_probes(&mut self) {
        let now = self.clock.now();
        let jobs = &self.jobs;
        let runs = |id: JobId| {
            let place = jobs.get(&id).map(|job| &job.place);
            matches!(place, Some(Place::Leased(_)))
        };
        self.account.abandon(runs);
        for class in self.classes.known_mut().values_mut() {
            class.gate.abandon(now, runs);
        }
        let names: Vec<_> = self.classes.known().keys().cloned().collect();
        for name in names {
            self.stand(&name);
        }
    }
}
