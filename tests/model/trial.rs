//! The scheduler, and the model beside it: whatever happens to one happens to
//! the other, and they have to do the same.
use crate::{
    model::Model,
    steps::Step,
    world::{id, usage},
};
use claude_pipeline::{domain::*, scheduler::*};
use std::collections::BTreeMap;

pub(crate) struct Trial {
    scheduler: Scheduler,
    pub(crate) model: Model,
    pub(crate) now: Timestamp,
    pub(crate) leased: BTreeMap<JobId, u32>,
    rows: BTreeMap<String, Row>,
}

impl Trial {
    pub(crate) fn new(config: &Config) -> Self {
        let now = Timestamp::from_millis(1_000_000_000);
        Self {
            scheduler: Scheduler::new(*config, now),
            model: Model::new(config, now),
            now,
            leased: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Submit(submission) => self.submit(*submission),
            Step::Settle { pick, outcome, limits, chance } => {
                self.settle_any(pick, 0, outcome, limits, chance);
            }
            Step::SettleStale { pick, outcome } => self.settle_any(pick, 1, outcome, None, 0),
            Step::SettleUnknown { number } => {
                let lease = self.leased.get(&id(number)).map_or(0, |lease| lease + 1);
                self.settle(id(number), lease, Outcome::Lost, None, 0);
            }
            Step::Cancel { number } => {
                self.model.cancel(id(number));
                self.scheduler.cancel(id(number), self.now);
            }
            Step::Pass { millis } => self.now = self.now + Span::from_millis(millis),
            Step::Sleep => return self.sleep(),
            Step::Rewind { millis } => {
                let now = self.now.as_millis().saturating_sub(millis);
                self.now = Timestamp::from_millis(now);
            }
            Step::Restart => self.restart(),
        }
        self.compare();
    }

    pub(crate) fn submit(&mut self, submission: Submission) {
        self.model.submit(submission.clone());
        self.scheduler.submit(submission, self.now);
    }

    fn settle_any(
        &mut self,
        pick: usize,
        off: u32,
        outcome: Outcome,
        limits: Option<RateLimits>,
        chance: u64,
    ) {
        let running: Vec<_> = self.leased.iter().collect();
        if let Some(&(&job, &lease)) = running.get(pick % running.len().max(1)) {
            self.settle(job, lease + off, outcome, limits, chance);
        }
    }

    pub(crate) fn settle(
        &mut self,
        job: JobId,
        lease: u32,
        outcome: Outcome,
        limits: Option<RateLimits>,
        chance: u64,
    ) {
        let present = self.leased.get(&job) == Some(&lease);
        let settlement = Settlement { job, lease, outcome, limits };
        self.model.settle(&settlement, Entropy(chance));
        let verdict = self.scheduler.settle(settlement, self.now, Entropy(chance));
        assert_eq!(verdict.is_some(), present, "only the present lease can be settled");
        if present {
            self.leased.remove(&job);
        }
    }

    /// Nothing happens before the deadline.
    fn sleep(&mut self) {
        let Some((at, _)) = self.scheduler.next_deadline() else {
            return;
        };
        if at > self.now {
            self.now = Timestamp::from_millis(at.as_millis() - 1);
            assert!(self.compare_effects().is_empty(), "something happened before its time");
            self.now = at;
        }
        self.compare();
    }

    /// Forgets everything that was not stored.
    fn restart(&mut self) {
        let (config, snapshot) = (self.model.config, self.scheduler.snapshot());
        let rows = self.rows.iter().filter_map(|(key, row)| Row::read(key, &row.to_json()));
        self.scheduler = Scheduler::restore(config, Some(&snapshot), rows, self.now);
    }

    pub(crate) fn compare(&mut self) {
        self.compare_effects();
    }

    /// Both do what they can now: it must be the same.
    fn compare_effects(&mut self) -> Vec<Effect> {
        self.model.see(self.now);
        self.model.dispatch();
        let expected = std::mem::take(&mut self.model.effects);
        let effects = self.turn();
        assert_eq!(effects, expected, "at {}", self.now);
        for effect in &effects {
            if let Effect::Release(release) = effect {
                let twice = self.leased.insert(release.job, release.lease);
                assert_eq!(twice, None, "leased twice");
            }
        }
        assert!(self.leased.len() <= self.model.config.slots as usize, "more than the slots");
        assert_eq!(self.job_rows(), self.model.jobs.len(), "a job was lost, or kept");
        self.model.assert_busy();
        effects
    }

    fn turn(&mut self) -> Vec<Effect> {
        self.scheduler.dispatch(self.now);
        self.scheduler.assert_consistent();
        while let Some(change) = self.scheduler.poll_change() {
            match change {
                Change::Put(row) => self.rows.insert(row.key(), row),
                Change::Delete(key) => self.rows.remove(&key),
            };
        }
        std::iter::from_fn(|| self.scheduler.poll_effect()).collect()
    }

    fn job_rows(&self) -> usize {
        self.rows.values().filter(|row| matches!(row, Row::Job(_))).count()
    }

    /// Every job ends, once attempts are answered.
    pub(crate) fn finish(&mut self) {
        for _ in 0..5_000 {
            if self.model.jobs.is_empty() {
                break;
            }
            if self.leased.is_empty() {
                self.sleep();
            } else {
                let outcome = Outcome::Completed { usage: usage(10, 10) };
                self.settle_any(0, 0, outcome, None, 0);
                self.compare();
            }
        }
        assert!(self.model.jobs.is_empty(), "a job waits for ever");
        assert_eq!(self.job_rows(), 0, "a row stays for ever");
        assert_eq!(self.scheduler.next_deadline(), None, "woken for nothing");
    }
}
