//! All tenants and their lanes.
//!
//! A lane that was idle for ten minutes is forgotten, and so is a tenant of
//! which nothing else is known: so few as were active lately are kept.
use super::{
    Config, DemotionRules,
    keys::{ClassKey, LaneKey, TenantKey},
    lane::{Account, Lane, Seat},
    tenant::Tenant,
};
use crate::domain::{Priority, Span, TenantId, Timestamp};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Hall {
    pub(super) lanes: Slab<Lane>,
    pub(super) tenants: Slab<Tenant>,
    names: BTreeMap<TenantId, TenantKey>,
    /// Idle lanes, by since when.
    idle: BTreeSet<(Timestamp, LaneKey)>,
    next_seq: u64,
    changed: Vec<TenantKey>,
    gone: Vec<TenantId>,
    /// The latest UTC day seen, counted from 1970.
    day: u64,
}

/// What became of a tenant's row.
pub(super) enum Stale {
    Changed(TenantKey),
    Gone(TenantId),
}

impl Hall {
    /// The tenant of this name, new if need be.
    pub(super) fn tenant(&mut self, id: &TenantId) -> TenantKey {
        if let Some(known) = self.names.get(id) {
            return *known;
        }
        let key = TenantKey(self.tenants.insert(Tenant::new(id.clone())));
        self.names.insert(id.clone(), key);
        key
    }

    /// The tenant of this name, if anything is known of it.
    pub(super) fn known(&self, id: &TenantId) -> Option<TenantKey> {
        self.names.get(id).copied()
    }

    /// The tenants by name.
    pub(super) fn by_name(&self) -> impl Iterator<Item = (TenantKey, &Tenant)> {
        self.names.values().filter_map(|key| Some((*key, self.tenants.get(key.0)?)))
    }

    /// The tenant's lane in this class and rank, if it is known.
    pub(super) fn find(
        &self,
        tenant: TenantKey,
        class: ClassKey,
        rank: Priority,
    ) -> Option<LaneKey> {
        let mut lanes = self.tenants.get(tenant.0)?.lanes.iter().copied();
        lanes.find(|key| {
            self.lanes.get(key.0).is_some_and(|lane| lane.class == class && lane.rank == rank)
        })
    }

    /// Takes in a lane. An idle one is remembered for a while.
    pub(super) fn open(&mut self, lane: Lane) -> LaneKey {
        let (tenant, seat) = (lane.tenant, lane.account.seat);
        let key = LaneKey(self.lanes.insert(lane));
        if let Some(tenant) = self.tenants.get_mut(tenant.0) {
            tenant.lanes.push(key);
        }
        self.seated(key, seat);
        key
    }

    /// Gives a lane another seat.
    pub(super) fn seat(&mut self, key: LaneKey, seat: Seat) {
        let Some(lane) = self.lanes.get_mut(key.0) else {
            return;
        };
        if let Seat::Idle { since, .. } = lane.account.seat {
            self.idle.remove(&(since, key));
        }
        lane.account.seat = seat;
        self.seated(key, seat);
        self.touch(key);
    }

    /// A lane that has no jobs left leaves its place in line.
    pub(super) fn rest(&mut self, key: LaneKey, idle: Seat) {
        if let Some(lane) = self.lanes.get_mut(key.0) {
            lane.account.leave();
        }
        self.seat(key, idle);
    }

    fn seated(&mut self, key: LaneKey, seat: Seat) {
        match seat {
            Seat::Idle { since, .. } => drop(self.idle.insert((since, key))),
            Seat::Fresh { seq } | Seat::Round { seq, .. } => {
                self.next_seq = self.next_seq.max(seq.saturating_add(1));
            }
        }
    }

    /// The place behind all others.
    pub(super) fn next_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq = seq.saturating_add(1);
        seq
    }

    /// The next lane that was idle long enough, taken out.
    pub(super) fn forget(&mut self, now: Timestamp) -> Option<Lane> {
        let (since, key) = self.idle.first().copied()?;
        if now.since(since) < REMEMBERED {
            return None;
        }
        self.idle.pop_first();
        let lane = self.lanes.try_remove(key.0)?;
        if let Some(tenant) = self.tenants.get_mut(lane.tenant.0) {
            tenant.lanes.retain(|known| *known != key);
        }
        self.changed(lane.tenant);
        Some(lane)
    }

    /// Whether a tenant holds as many slots as one may, as far as a job of
    /// this rank is concerned: the last one is left to others, or to
    /// something more urgent of its own.
    pub(super) fn is_capped(&self, tenant: TenantKey, rank: Priority, config: &Config) -> bool {
        let running = self.tenants.get(tenant.0).map_or(0, |tenant| tenant.running(rank));
        config.slots >= FEW_SLOTS && running >= config.slots - 1
    }

    /// A lane's account, to be changed.
    pub(super) fn account_mut(&mut self, key: LaneKey) -> Option<&mut Account> {
        self.touch(key);
        self.lanes.get_mut(key.0).map(|lane| &mut lane.account)
    }

    /// Notes that a lane's row is out of date.
    pub(super) fn touch(&mut self, lane: LaneKey) {
        if let Some(tenant) = self.lanes.get(lane.0).map(|lane| lane.tenant) {
            self.changed(tenant);
        }
    }

    /// Notes that a tenant's row is out of date.
    pub(super) fn changed(&mut self, key: TenantKey) {
        if let Some(tenant) = self.tenants.get_mut(key.0)
            && !std::mem::replace(&mut tenant.changed, true)
        {
            self.changed.push(key);
        }
    }

    /// The next row that is out of date. A tenant of which nothing is known
    /// any more is forgotten here.
    pub(super) fn poll(&mut self, rules: &DemotionRules, now: Timestamp) -> Option<Stale> {
        while let Some(key) = self.changed.pop() {
            let Some(tenant) = self.tenants.get_mut(key.0) else { continue };
            tenant.changed = false;
            tenant.conduct.tidy(rules, now, self.day);
            if !tenant.is_blank(now) {
                return Some(Stale::Changed(key));
            }
            // Nothing of it is worth a row, but it is to come back.
            if tenant.knocks.stands {
                return Some(Stale::Gone(tenant.id.clone()));
            }
            let tenant = self.tenants.remove(key.0);
            self.names.remove(&tenant.id);
            self.gone.push(tenant.id);
        }
        while let Some(id) = self.gone.pop() {
            if !self.names.contains_key(&id) {
                return Some(Stale::Gone(id));
            }
        }
        None
    }

    /// On a new day, what is counted by the day begins anew.
    pub(super) fn see_day(&mut self, now: Timestamp) -> u64 {
        let day = now.as_millis() / DAY_MS;
        if day > self.day {
            self.day = day;
            self.dawn();
        }
        day
    }

    fn dawn(&mut self) {
        let keys: Vec<_> = self.tenants.iter().map(|(key, _)| TenantKey(key)).collect();
        for key in keys {
            self.changed(key);
        }
    }

    pub(super) fn assert_sound(&self) {
        assert_eq!(self.names.len(), self.tenants.len(), "a tenant has no name");
        for (key, lane) in &self.lanes {
            let key = LaneKey(key);
            let tenant = self.tenants.get(lane.tenant.0);
            assert!(tenant.is_some_and(|tenant| tenant.lanes.contains(&key)), "a stray lane");
            let idle = match lane.account.seat {
                Seat::Idle { since, .. } => self.idle.contains(&(since, key)),
                Seat::Fresh { .. } | Seat::Round { .. } => false,
            };
            assert_eq!(idle, lane.is_empty(), "a lane waits for nothing, or forgot its jobs");
        }
    }
}

/// How long an idle lane is remembered.
const REMEMBERED: Span = Span::from_secs(600);
const DAY_MS: u64 = 86_400_000;
/// With fewer slots there is none to keep free.
pub(super) const FEW_SLOTS: u32 = 3;
