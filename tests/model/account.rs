//! The pause of everything, in the model.
use super::Model;
use claude_pipeline::domain::*;

pub(crate) struct Pause {
    until: u64,
    wait: u64,
    pub(crate) probe: Option<JobId>,
}

impl Pause {
    pub(crate) const fn over(&self, now: u64) -> bool {
        self.probe.is_none() && self.until <= now
    }
}

impl Model {
    /// What an answer says of the account, unless it is a fault.
    pub(super) fn account_answers(&mut self, id: JobId, outcome: &Outcome) {
        let now = self.now;
        let good = matches!(outcome, Outcome::Completed { .. } | Outcome::Permanent { .. });
        if self.pause.as_ref().is_some_and(|pause| pause.probe == Some(id)) {
            if good {
                self.pause = None;
            } else if let Some(pause) = &mut self.pause
                && !matches!(outcome, Outcome::Account { .. })
            {
                pause.probe = None;
                pause.until = now;
            }
        }
    }

    pub(super) fn account_fault(&mut self, id: JobId) {
        let wait = match &self.pause {
            None => 60_000,
            Some(pause) if pause.probe == Some(id) => (pause.wait * 2).min(3_600_000),
            Some(_) => return,
        };
        self.pause = Some(Pause { until: self.now + wait, wait, probe: None });
    }
}
