//! What is conserved.
use super::{Scheduler, job::Place};
use crate::domain::{Tokens, Usage};
use std::collections::BTreeMap;

impl Scheduler {
    /// States the scheduler's laws; tests call it after every step.
    ///
    /// Every job is in exactly one place. Every token taken is held by exactly
    /// one lease. Every class stands where its next job is.
    ///
    /// # Panics
    ///
    /// If a law is broken.
    pub fn assert_consistent(&self) {
        let places = self.lanes.len() + self.delays.len() + self.leases.len();
        assert_eq!(places, self.jobs.len(), "a job is in two places, or in none");
        for (id, job) in &self.jobs {
            let there = match &job.place {
                Place::Waiting => self.lanes.holds(job),
                Place::Delayed(until) => self.delays.contains(&(*until, *id)),
                Place::Leased(lease) => self.leases.contains(&(lease.until, *id)),
            };
            assert!(there, "{id} is not where it says");
        }
        self.lanes.assert_sound();
        self.classes.assert_sound();
        self.assert_tokens_held();
        self.assert_standings();
    }

    fn assert_tokens_held(&self) {
        let mut held = BTreeMap::new();
        for job in self.jobs.values() {
            if let Place::Leased(lease) = &job.place {
                let class = held.entry(&job.submission.class);
                let (calls, usage): &mut (Tokens, Usage) = class.or_default();
                let one = lease.held.usage();
                *calls = calls.saturating_add(Tokens::new(1));
                usage.input = usage.input.saturating_add(one.input);
                usage.output = usage.output.saturating_add(one.output);
            }
        }
        for (name, class) in self.classes.known() {
            let by_leases = held.remove(name).unwrap_or_default();
            assert_eq!(class.budget.held(), by_leases, "tokens of {name} leaked");
        }
        assert!(held.is_empty(), "leases of unknown classes: {held:?}");
    }

    /// A class whose time has come since may still be blocked: time passes in
    /// `handle_timeout` only.
    fn assert_standings(&self) {
        for (name, class) in self.classes.known() {
            let head = self.lanes.head(name).and_then(|id| self.jobs.get(&id));
            let waits = class.standing.has_work();
            let expected = head.is_some() && class.gate.opens_at().is_some();
            assert_eq!(waits, expected, "{name} stands idle, or for nobody");
        }
    }
}
