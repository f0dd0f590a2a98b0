//! Who loses its priorities for a while, and what becomes of its jobs.
//!
//! A refused call is not the fault of the job that met it, but of whoever used
//! more than its share of what is gone.
use super::{
    Demoted, DemotionReason, DemotionRules, Scheduler,
    keys::{ClassKey, LaneKey, TenantKey},
    lane::Waiting,
    tenant::Demotion,
};
use crate::domain::{Priority, TenantId, Timestamp, Tokens};

/// What a tenant used lately in a class, and its part.
#[derive(Clone, Copy, Default)]
struct Use {
    cost: i64,
    weight: u64,
    /// It used something, or waits.
    counts: bool,
}

impl Scheduler {
    /// The next demotion that has begun, for the operator to know.
    pub fn poll_demotion(&mut self) -> Option<(TenantId, Demoted)> {
        self.demoted.pop_front()
    }

    /// A tenant's demotion, by the wall clock.
    #[must_use]
    pub fn demotion(&self, tenant: &TenantId) -> Option<Demoted> {
        let conduct = &self.hall.tenants.get(self.hall.known(tenant)?.0)?.conduct;
        conduct.demotion.map(|demotion| self.shown(demotion))
    }

    /// A demotion as others see it.
    pub(super) fn shown(&self, Demotion { reason, until }: Demotion) -> Demoted {
        Demoted { reason, until: self.clock.on_the_wall(until) }
    }

    /// The upstream has refused a call of this class.
    pub(super) fn blame(&mut self, class: ClassKey) {
        let now = self.clock.now();
        let Some(culprit) = self.culprit(class) else {
            return;
        };
        self.hall.changed(culprit);
        let rules = self.config.demotion;
        let tenant = self.hall.tenants.get_mut(culprit.0);
        if tenant.is_some_and(|tenant| tenant.conduct.throttle(&rules, now)) {
            self.demote(culprit, DemotionReason::Throttles);
        }
    }

    /// A tenant has used input.
    pub(super) fn count_input(&mut self, tenant: TenantKey, own: Option<Tokens>, input: Tokens) {
        let common = self.config.demotion;
        let rules = DemotionRules { daily_input: own.unwrap_or(common.daily_input), ..common };
        if rules.daily_input == Tokens::ZERO {
            return;
        }
        let day = self.hall.see_day(self.clock.now());
        let known = self.hall.tenants.get_mut(tenant.0);
        if known.is_some_and(|known| known.conduct.use_input(&rules, input, day)) {
            self.demote(tenant, DemotionReason::DailyInput);
        }
        self.hall.changed(tenant);
    }

    /// Ends the demotions that are over.
    pub(super) fn lift(&mut self, now: Timestamp) {
        while self.demotions.first().is_some_and(|(until, _)| *until <= now) {
            let known = self.demotions.pop_first().and_then(|(_, id)| self.hall.known(&id));
            let Some(key) = known else { continue };
            if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
                tenant.conduct.demotion = None;
            }
            self.hall.changed(key);
            self.sort_anew(key);
        }
    }

    /// Whose use in the last minute exceeds its share the most, by more than a
    /// quarter.
    fn culprit(&self, class: ClassKey) -> Option<TenantKey> {
        let used = self.used(class);
        let total: i128 = used.iter().map(|(_, it)| i128::from(it.cost)).sum();
        let weights: i128 = used.iter().map(|(_, it)| i128::from(it.weight)).sum();
        let excess = |it: &Use| i128::from(it.cost) * weights;
        let share = |it: &Use| i128::from(it.weight.max(1)) * total;
        let worst = used.iter().reduce(|worst, other| {
            let (a, b) = (&worst.1, &other.1);
            let more =
                excess(b) * i128::from(a.weight.max(1)) > excess(a) * i128::from(b.weight.max(1));
            if more { other } else { worst }
        });
        worst.filter(|(_, it)| excess(it) * 4 > share(it) * 5).map(|(key, _)| *key)
    }

    /// Who used something of a class lately, or waits for it; by name.
    fn used(&self, class: ClassKey) -> Vec<(TenantKey, Use)> {
        let now = self.clock.now();
        let used = self.hall.by_name().map(|(key, tenant)| {
            let mut sum = Use::default();
            let lanes = tenant.lanes.iter().filter_map(|lane| self.hall.lanes.get(lane.0));
            for lane in lanes.filter(|lane| lane.class == class) {
                let cost = lane.account.spent.recent(now);
                sum.cost = sum.cost.saturating_add(cost);
                sum.weight = sum.weight.max(lane.account.weight);
                sum.counts |= cost > 0 || !lane.is_empty();
            }
            (key, sum)
        });
        used.filter(|(_, sum)| sum.counts).collect()
    }

    fn demote(&mut self, key: TenantKey, reason: DemotionReason) {
        let until = self.clock.now() + self.config.demotion.lasts;
        let Some(tenant) = self.hall.tenants.get_mut(key.0) else {
            return;
        };
        tenant.conduct.demote(Demotion { reason, until });
        let id = tenant.id.clone();
        let shown = self.shown(Demotion { reason, until });
        self.demotions.insert((until, id.clone()));
        self.demoted.push_back((id, shown));
        self.hall.changed(key);
        self.sort_anew(key);
    }

    /// Puts all waiting jobs of a tenant where they belong by its rank of now.
    fn sort_anew(&mut self, key: TenantKey) {
        let Some(tenant) = self.hall.tenants.get(key.0) else {
            return;
        };
        let place = |key: &LaneKey| {
            let lane = self.hall.lanes.get(key.0)?;
            Some((self.classes.get(lane.class)?.name.clone(), lane.rank, *key))
        };
        let mut lanes: Vec<_> = tenant.lanes.iter().filter_map(place).collect();
        lanes.sort();
        for (_, rank, lane) in lanes {
            let moving = self.moving(key, rank, lane);
            for waiting in moving.iter().rev() {
                self.leave_lane(lane, *waiting);
            }
            for waiting in moving {
                self.line_up(waiting.job);
            }
        }
    }

    /// The jobs of a lane that belong into another one, in order.
    fn moving(&self, tenant: TenantKey, rank: Priority, lane: LaneKey) -> Vec<Waiting> {
        let (Some(tenant), Some(lane)) =
            (self.hall.tenants.get(tenant.0), self.hall.lanes.get(lane.0))
        else {
            return Vec::new();
        };
        let elsewhere = |waiting: &&Waiting| tenant.rank(waiting.priority) != rank;
        lane.jobs().filter(elsewhere).copied().collect()
    }

    fn leave_lane(&mut self, lane: LaneKey, waiting: Waiting) {
        let now = self.clock.now();
        let Some(class) = self.hall.lanes.get(lane.0).map(|lane| lane.class) else {
            return;
        };
        if let Some(known) = self.classes.get_mut(class) {
            known.order.take(&mut self.hall, lane, (waiting.order, waiting.job), now);
        }
        self.classes.touch(class);
    }
}
