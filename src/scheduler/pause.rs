//! The pause of everything, while the account that pays is at fault.
//!
//! ```text
//! running ──fault──▶ paused ──the wait is over: one probe──▶ probing
//!    ▲                 ▲                                      │  │
//!    │                 └──── fault: twice the wait; unclear ──┘  │
//!    └───────────────── passed, or other credentials ────────────┘
//! ```
use super::{Evidence, Paused};
use crate::domain::{AccountFault, JobId, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// One pause. Jobs that were under way when it began prove nothing: only the
/// probe, released after it, ends or prolongs it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Pause {
    fault: AccountFault,
    until: Timestamp,
    wait: Span,
    probe: Option<JobId>,
}

/// Whether there is a pause.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Account(Option<Pause>);

impl Account {
    /// When a job may be released; `None` while a probe is under way.
    pub(super) fn opens_at(&self) -> Option<Timestamp> {
        match self.0 {
            None => Some(Timestamp::from_millis(0)),
            Some(Pause { probe: None, until, .. }) => Some(until),
            Some(Pause { probe: Some(_), .. }) => None,
        }
    }

    /// The job whose answer everything waits for.
    pub(super) fn probe(&self) -> Option<JobId> {
        self.0?.probe
    }

    /// The pause, as others see it.
    pub(super) fn paused(&self) -> Option<Paused> {
        self.0.map(|Pause { fault, until, .. }| Paused { fault, until })
    }

    /// A job is released. During a pause it is the probe.
    pub(super) fn release(&mut self, job: JobId) {
        if let Some(pause) = &mut self.0 {
            pause.probe = Some(job);
        }
    }

    /// A job met a fault. Says how long the pause lasts.
    pub(super) fn fault(&mut self, job: JobId, fault: AccountFault, now: Timestamp) -> Span {
        let wait = match self.0 {
            None => FIRST,
            Some(pause) if pause.probe == Some(job) => pause.wait.scaled(2, 1).min(LONGEST),
            Some(pause) => return pause.until.since(now),
        };
        self.0 = Some(Pause { fault, until: now + wait, wait, probe: None });
        wait
    }

    /// A job was answered without a fault. Only the probe's answer counts.
    pub(super) fn answer(&mut self, job: JobId, evidence: Evidence, now: Timestamp) {
        if let Some(pause) = &mut self.0
            && pause.probe == Some(job)
        {
            match evidence {
                Evidence::Passed => self.0 = None,
                Evidence::Unclear => {
                    pause.probe = None;
                    pause.until = now;
                }
            }
        }
    }

    /// Forgets a probe that nobody will answer for.
    pub(super) fn abandon(&mut self, runs: impl Fn(JobId) -> bool) {
        if let Some(pause) = &mut self.0 {
            pause.probe = pause.probe.filter(|job| runs(*job));
        }
    }
}

const FIRST: Span = Span::from_secs(60);
const LONGEST: Span = Span::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Entropy;

    #[test]
    fn each_failed_probe_doubles_the_pause_up_to_an_hour() {
        let mut account = Account::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            waits.push(account.fault(job(1), FAULT, at(0)).as_secs_rounded_up());
            account.release(job(1));
        }
        assert_eq!(waits, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
    }

    #[test]
    fn jobs_under_way_neither_end_nor_prolong_it() {
        let mut account = Account::default();
        account.fault(job(1), FAULT, at(0));
        account.fault(job(2), FAULT, at(1_000));
        account.answer(job(3), Evidence::Passed, at(2_000));
        assert_eq!(account.opens_at(), Some(at(60_000)));
    }

    #[test]
    fn the_probe_ends_it_and_an_unclear_one_is_repeated() {
        let mut account = Account::default();
        account.fault(job(1), FAULT, at(0));
        account.release(job(2));
        assert_eq!(account.opens_at(), None);
        account.answer(job(2), Evidence::Unclear, at(61_000));
        assert_eq!(account.opens_at(), Some(at(61_000)));
        account.release(job(3));
        account.answer(job(3), Evidence::Passed, at(62_000));
        assert_eq!(account.paused(), None);
    }

    const FAULT: AccountFault = AccountFault::SpendLimit;

    fn job(number: u64) -> JobId {
        JobId::new(at(number), [Entropy(0), Entropy(0)])
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }
}
