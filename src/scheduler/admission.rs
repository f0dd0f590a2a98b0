//! Who may come in: the backlog is bounded, each tenant has a share of it, and
//! may knock at a rate.
//!
//! ```text
//! admit ──▶ places held ──▶ submit: the jobs take them
//!   │            ├────────▶ vacate: it came to nothing
//!   └▶ refusal   └────────▶ nobody came back: the hold ends by itself
//! ```
//! Places are held before anything is stored, so that a refusal costs nothing,
//! and the backlog is never larger than its bound.
use super::{
    Admission, Limit, Refusal, Scheduler, Wish,
    house::{Hold, Kept, time_of},
    keys::TenantKey,
    rate::Rate,
};
use crate::domain::{Entropy, JobId, Span, TenantId, Timestamp};

/// What can be set (mission C1, C5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AdmissionRules {
    /// The most jobs there may be that have not ended. At nine tenths of it
    /// nobody else is let in. Default 1,000.
    pub capacity: u32,
    /// How much of it one tenant can have, in hundredths, while no other has
    /// any. The more others have, the less: a tenant's jobs are at most
    /// `share ÷ (100 − share)` of the places that are free. Default 50.
    pub share_percent: u32,
    /// How much of a minute's rate may come at once, in hundredths. Default 25.
    pub burst_percent: u32,
}

/// What a wish is measured by.
struct Measure {
    /// Jobs that are there, or have a place.
    depth: u64,
    /// The tenant's among them.
    held: u64,
    /// Those that come on top.
    more: u64,
    /// The places the request has already, if it does.
    own: Option<u64>,
}

impl Scheduler {
    /// Lets a request in, or not. Asking again for the same hold with more
    /// jobs adds places, and is no request of its own. Nothing need be stored
    /// before the answer goes out: a hold that is forgotten has ended.
    pub fn admit(&mut self, wish: &Wish, now: Timestamp, chance: Entropy) -> Admission {
        let now = self.look(now);
        let percent = self.config.admission.burst_percent;
        let rate = wish.per_minute.map(|per_minute| Rate::new(per_minute, percent));
        let key = self.hall.tenant(&wish.tenant);
        let measure = self.measure(key, wish);
        let refused = self.too_fast(key, &measure, rate, (now, chance));
        let refused = refused.or_else(|| self.too_many(key, &measure, (now, chance)));
        if refused.is_none() {
            self.let_in(key, wish, (rate, now));
        }
        let tenant = self.hall.tenants.get(key.0);
        let quota = tenant.zip(rate).map(|(it, rate)| it.knocks.kept.arrival.quota(rate, now));
        if refused.is_none() || tenant.is_some_and(|tenant| tenant.is_blank(now)) {
            self.hall.changed(key);
        }
        Admission { refused, quota, demotion: self.demotion(&wish.tenant) }
    }

    /// Gives back the places of a request.
    pub fn vacate(&mut self, tenant: &TenantId, hold: JobId) {
        let Some(key) = self.hall.known(tenant) else { return };
        let Some(known) = self.hall.tenants.get_mut(key.0) else { return };
        if let Some(hold) = known.knocks.kept.remove(hold) {
            self.house.let_go(hold, key);
            self.hall.changed(key);
        }
    }

    /// Jobs that have not ended, and places held for others.
    #[must_use]
    pub fn depth(&self) -> u64 {
        count(self.jobs.len()).saturating_add(self.house.held)
    }

    /// Ends holds that nobody came back to.
    pub(super) fn end_holds(&mut self, now: Timestamp) {
        while let Some((until, id, key)) = self.house.ends.first().copied() {
            if until > now {
                return;
            }
            let tenant = self.hall.tenants.get_mut(key.0);
            let hold = tenant.and_then(|tenant| tenant.knocks.kept.remove(id));
            self.house.let_go(hold.unwrap_or(Hold { id, jobs: 0, until }), key);
            self.hall.changed(key);
        }
    }

    /// Takes holds in again, after a restart.
    pub(super) fn readmit_holds(&mut self, key: TenantKey, mut kept: Kept) {
        let longest = self.clock.now() + HOLD_LASTS;
        for hold in &mut kept.holds {
            hold.until = hold.until.min(longest);
            self.house.hold(*hold, key);
        }
        if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
            tenant.knocks.kept = kept;
        }
    }

    /// A job has left the house.
    pub(super) fn departed(&mut self, key: TenantKey) {
        let now = self.clock.now();
        self.house.drain.count(now);
        if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
            tenant.knocks.drain.count(now);
        }
    }

    fn measure(&self, key: TenantKey, wish: &Wish) -> Measure {
        let tenant = self.hall.tenants.get(key.0);
        let known = tenant.and_then(|tenant| tenant.knocks.kept.find(wish.hold));
        let theirs = tenant.map_or(0, |it| it.knocks.kept.held() + count(it.jobs));
        let own = known.map(|hold| u64::from(hold.jobs));
        let more = u64::from(wish.jobs).saturating_sub(own.unwrap_or(0));
        Measure { depth: self.depth(), held: theirs, more, own }
    }

    fn let_in(&mut self, key: TenantKey, wish: &Wish, (rate, now): (Option<Rate>, Timestamp)) {
        let Some(tenant) = self.hall.tenants.get_mut(key.0) else { return };
        let kept = &mut tenant.knocks.kept;
        let before = kept.remove(wish.hold);
        let jobs = wish.jobs.max(before.map_or(0, |before| before.jobs));
        let hold = Hold { id: wish.hold, jobs, until: now + HOLD_LASTS };
        kept.holds.push(hold);
        if let (None, Some(rate)) = (before, rate) {
            kept.arrival.count(rate, now);
        }
        if let Some(before) = before {
            self.house.let_go(before, key);
        }
        self.house.hold(hold, key);
    }

    fn too_fast(
        &mut self,
        key: TenantKey,
        measure: &Measure,
        rate: Option<Rate>,
        (now, chance): (Timestamp, Entropy),
    ) -> Option<Refusal> {
        let (rate, tenant) = (rate?, self.hall.tenants.get_mut(key.0)?);
        let wait = tenant.knocks.kept.arrival.wait(rate, now);
        if measure.own.is_some() || wait == Span::ZERO {
            return None;
        }
        let most = tenant.knocks.kept.arrival.quota(rate, now).limit;
        let retry_after = tenant.knocks.turns.next(wait, rate.interval(), now, chance);
        Some(Refusal { limit: Limit::Rate, most, used: most, retry_after: Some(retry_after) })
    }

    fn too_many(
        &mut self,
        key: TenantKey,
        measure: &Measure,
        at: (Timestamp, Entropy),
    ) -> Option<Refusal> {
        let rules = self.config.admission;
        let Measure { depth, held, more, own } = *measure;
        let (most, own) = (rules.most_at_once(), own.unwrap_or(0));
        if own + more > most {
            let used = own + more;
            return Some(Refusal { limit: Limit::Request, most, used, retry_after: None });
        }
        let excess = rules.excess(measure);
        if excess > 0 {
            let retry_after = Some(self.house_empties((excess, more), at));
            let most = rules.capacity.into();
            let used = depth.saturating_sub(own);
            return Some(Refusal { limit: Limit::Capacity, most, used, retry_after });
        }
        let excess = rules.excess_of_share(measure);
        if excess > 0 {
            let retry_after = Some(self.tenant_empties(key, (excess, more), at));
            let most = rules.share(measure);
            let used = held.saturating_sub(own);
            return Some(Refusal { limit: Limit::Share, most, used, retry_after });
        }
        None
    }

    /// When so many jobs will have ended, and so many more can come.
    fn house_empties(
        &mut self,
        (jobs, more): (u64, u64),
        (now, chance): (Timestamp, Entropy),
    ) -> Span {
        let rate = self.house.drain.rate(now).unwrap_or(self.supposed_rate());
        let earliest = time_of(jobs, rate).max(self.pause_left(now));
        self.house.promised.next(earliest, time_of(more, rate), now, chance)
    }

    fn tenant_empties(
        &mut self,
        key: TenantKey,
        (jobs, more): (u64, u64),
        (now, chance): (Timestamp, Entropy),
    ) -> Span {
        let (supposed, pause) = (self.supposed_rate(), self.pause_left(now));
        let Some(tenant) = self.hall.tenants.get_mut(key.0) else { return pause };
        let rate = tenant.knocks.drain.rate(now).unwrap_or(supposed);
        let earliest = time_of(jobs, rate).max(pause);
        tenant.knocks.places.next(earliest, time_of(more, rate), now, chance)
    }

    fn pause_left(&self, now: Timestamp) -> Span {
        self.account.opens_at().map_or(Span::ZERO, |opens| opens.since(now))
    }

    /// How many jobs end in a minute, while nobody knows.
    fn supposed_rate(&self) -> u64 {
        let by_slots = u64::from(self.config.slots) * SUPPOSED_CALLS;
        self.config.limits.requests.min(by_slots).max(1)
    }
}

impl AdmissionRules {
    /// The most jobs one request can ever have.
    fn most_at_once(&self) -> u64 {
        (u64::from(self.capacity) * self.share_part()).div_ceil(100)
    }

    /// How many jobs must end before the house has room.
    fn excess(&self, measure: &Measure) -> u64 {
        let full = (measure.depth + measure.more).saturating_sub(self.capacity.into());
        let saturated = (u64::from(self.capacity) * SATURATED / 100).max(1);
        let over = (measure.depth + 1).saturating_sub(saturated);
        if measure.own.is_some() { full } else { full.max(over) }
    }

    /// How many of the tenant's jobs must end before its share has room: its
    /// last one may see no fewer free places than its part of them asks for.
    fn excess_of_share(&self, measure: &Measure) -> u64 {
        let last = measure.more.saturating_sub(1);
        let free = u64::from(self.capacity).saturating_sub(measure.depth + last);
        let theirs = (measure.held + last) * (100 - self.share_part());
        let allowed = free * self.share_part();
        if measure.more == 0 || theirs < allowed { 0 } else { (theirs - allowed) / 100 + 1 }
    }

    /// How many jobs the tenant may have, as things are.
    fn share(&self, measure: &Measure) -> u64 {
        let others = measure.depth.saturating_sub(measure.held);
        let free = u64::from(self.capacity).saturating_sub(others);
        (free * self.share_part()).div_ceil(100)
    }

    fn share_part(&self) -> u64 {
        self.share_percent.clamp(1, 100).into()
    }
}

impl Default for AdmissionRules {
    fn default() -> Self {
        Self { capacity: 1_000, share_percent: 50, burst_percent: 25 }
    }
}

fn count(jobs: usize) -> u64 {
    u64::try_from(jobs).unwrap_or(u64::MAX)
}

/// The backlog is saturated at so many hundredths (mission C1). What is left
/// is room for those who are in already.
const SATURATED: u64 = 90;
/// A request that takes longer has died, or its caller has.
const HOLD_LASTS: Span = Span::from_secs(600);
/// Calls that a slot is supposed to serve in a minute.
const SUPPOSED_CALLS: u64 = 6;
