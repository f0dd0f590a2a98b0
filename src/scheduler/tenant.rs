//! One tenant: what it has under way, what it used today, and whether it has
//! lost its priorities.
use super::{DemotionRules, PerPriority, house::Knocks, keys::LaneKey};
use crate::domain::{Priority, TenantId, Timestamp, Tokens};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// See the module.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) id: TenantId,
    /// One a model class and rank.
    pub(super) lanes: Vec<LaneKey>,
    /// Its jobs, wherever they are.
    pub(super) jobs: usize,
    /// Its attempts under way, by the rank they were released with.
    running: PerPriority<u32>,
    pub(super) conduct: Conduct,
    pub(super) knocks: Knocks,
    /// Its row is out of date.
    pub(super) changed: bool,
}

/// What may demote a tenant, and what has.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Conduct {
    /// The UTC day, counted from 1970, that `input` is of. By the scheduler's
    /// clock, which never goes back.
    day: u64,
    /// Input tokens used that day.
    input: Tokens,
    /// When it was to blame for a 429, lately.
    throttles: Vec<Timestamp>,
    pub(super) demotion: Option<Demotion>,
}

/// A demotion as it is stored.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Demotion {
    pub(super) reason: DemotionReason,
    /// By the scheduler's clock.
    pub(super) until: Timestamp,
}

/// Why a tenant was demoted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DemotionReason {
    /// The upstream refused calls while it had used more than its share.
    Throttles,
    /// It has used more input than its daily budget allows.
    DailyInput,
}

impl DemotionReason {
    /// The word used in JSON and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Throttles => "throttles",
            Self::DailyInput => "daily_input",
        }
    }
}

impl Tenant {
    pub(super) fn new(id: TenantId) -> Self {
        Self {
            id,
            lanes: Vec::new(),
            jobs: 0,
            running: PerPriority::default(),
            conduct: Conduct::default(),
            knocks: Knocks::default(),
            changed: false,
        }
    }

    /// How many of its attempts are at least as urgent.
    pub(super) fn running(&self, rank: Priority) -> u32 {
        let urgent = Priority::ALL.into_iter().filter(|other| *other <= rank);
        urgent.map(|other| *self.running.get(other)).sum()
    }

    /// All its attempts under way.
    pub(super) fn all_running(&self) -> u32 {
        self.running(Priority::Batch)
    }

    pub(super) fn begin(&mut self, rank: Priority) {
        *self.running.get_mut(rank) += 1;
    }

    pub(super) fn end(&mut self, rank: Priority) {
        let running = self.running.get_mut(rank);
        *running = running.saturating_sub(1);
    }

    /// The rank of a job of this priority.
    pub(super) const fn rank(&self, priority: Priority) -> Priority {
        if self.conduct.demotion.is_some() { Priority::Batch } else { priority }
    }

    /// Nothing is known of it that a new tenant would not have.
    pub(super) fn is_blank(&self, now: Timestamp) -> bool {
        let busy = self.all_running() > 0 || self.jobs > 0 || !self.lanes.is_empty();
        !busy && self.conduct.is_clean() && self.knocks.kept.is_blank(now)
    }
}

impl Conduct {
    /// It is to blame for a 429. Says whether that was one too many.
    pub(super) fn throttle(&mut self, rules: &DemotionRules, now: Timestamp) -> bool {
        if self.demotion.is_some() || rules.throttles == 0 {
            return false;
        }
        self.throttles.retain(|at| now.since(*at) < rules.window);
        self.throttles.push(now);
        self.throttles.len() >= usize::try_from(rules.throttles).unwrap_or(usize::MAX)
    }

    /// It has used input, on that day. Says whether that was too much.
    pub(super) fn use_input(&mut self, rules: &DemotionRules, input: Tokens, day: u64) -> bool {
        if day > self.day {
            self.day = day;
            self.input = Tokens::ZERO;
        }
        if rules.daily_input == Tokens::ZERO {
            return false;
        }
        self.input = self.input.saturating_add(input);
        let budget = u128::from(rules.daily_input.get()) * u128::from(rules.daily_percent) / 100;
        self.demotion.is_none() && u128::from(self.input.get()) > budget
    }

    pub(super) fn demote(&mut self, demotion: Demotion) {
        self.demotion = Some(demotion);
        self.throttles.clear();
    }

    /// When a demotion ends for good. One by the day's input begins again with
    /// the next job.
    pub(super) fn lifts_at(&self) -> Option<Timestamp> {
        let demotion = self.demotion?;
        Some(demotion.until).filter(|_| demotion.reason == DemotionReason::Throttles)
    }

    /// Forgets what no longer counts.
    pub(super) fn tidy(&mut self, rules: &DemotionRules, now: Timestamp, day: u64) {
        self.throttles.retain(|at| now.since(*at) < rules.window);
        if day > self.day {
            self.input = Tokens::ZERO;
        }
    }

    fn is_clean(&self) -> bool {
        self.input == Tokens::ZERO && self.throttles.is_empty() && self.demotion.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_throttles_within_a_minute_are_too_many() {
        let rules = DemotionRules::default();
        let mut conduct = Conduct::default();
        let mut blame = |seconds| conduct.throttle(&rules, at(seconds));
        assert_eq!([0, 10, 20, 30].map(&mut blame), [false; 4]);
        assert!(!blame(60), "the first one is a minute old");
        assert!(blame(61));
    }

    #[test]
    fn a_daily_budget_begins_anew_each_day() {
        let rules = DemotionRules::default();
        let mut conduct = Conduct::default();
        let mut spend = |input, day| conduct.use_input(&rules, Tokens::new(input), day);
        assert!(!spend(150_000, 1));
        assert!(spend(1, 1));
        assert!(!spend(150_000, 2));
        assert!(spend(1, 1), "a clock set back takes nothing off");
    }

    #[test]
    fn either_rule_can_be_switched_off() {
        let rules = DemotionRules { throttles: 0, daily_input: Tokens::ZERO, ..rules() };
        let mut conduct = Conduct::default();
        assert!(!(0..100).any(|_| conduct.throttle(&rules, at(0))));
        assert!(!conduct.use_input(&rules, Tokens::new(u64::MAX), 1));
        assert!(conduct.is_clean());
    }

    fn rules() -> DemotionRules {
        DemotionRules::default()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_000 * seconds)
    }
}
