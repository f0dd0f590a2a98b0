//! Who may come in: the backlog is bounded, each tenant has a share of it, and
//! may knock at a rate.
//!
//! ```text
//! admit ──▶ places held ──▶ submit: the jobs take them
//!   │            ├────────▶ vacate: it came to nothing
//!   └▶ refusal   └────────▶ nobody came back: the hold ends by itself
//! ```
//! Places are held before anything is stored, so that a refusal costs nothing,
//! and the backlog is never larger than its bound. Who was refused and comes
//! back when told finds the room that was kept meanwhile.
use super::{
    Admission, Limit, Refusal, Scheduler, Wish,
    bound::{Excess, Measure},
    house::{Hold, Kept, time_of},
    keys::TenantKey,
    line::Claim,
    rate::Rate,
    tenant::Tenant,
};
use crate::domain::{Entropy, JobId, Span, TenantId, Timestamp};
use Crowd::{House, Share};

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
        let places = match refused {
            None => self.let_in(key, (wish, self.places(key, wish, &measure)), (rate, now)),
            Some(_) => 0,
        };
        let tenant = self.hall.tenants.get(key.0);
        let quota = tenant.zip(rate).map(|(it, rate)| it.knocks.kept.arrival.quota(rate, now));
        let forgotten = |it: &Tenant| it.is_blank(now) && !it.knocks.stands;
        if refused.is_none() || tenant.is_some_and(forgotten) {
            self.hall.changed(key);
        }
        Admission { refused, places, quota, demotion: self.demotion(&wish.tenant) }
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

    /// A job comes into the house, or has left it: just before it is counted,
    /// or just after.
    pub(super) fn moved(&mut self, key: TenantKey, left: bool) {
        let (now, all) = (self.clock.now(), self.jobs.len());
        self.house.drain.see(all, left, now);
        if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
            tenant.knocks.drain.see(tenant.jobs, left, now);
        }
    }

    fn measure(&self, key: TenantKey, wish: &Wish) -> Measure {
        let tenant = self.hall.tenants.get(key.0);
        let known = tenant.and_then(|tenant| tenant.knocks.kept.find(wish.hold));
        let theirs = tenant.map_or(0, |it| it.knocks.kept.held() + count(it.jobs));
        let own = known.map(|hold| u64::from(hold.jobs));
        let more = u64::from(wish.jobs).saturating_sub(own.unwrap_or(0));
        let line = &self.house.line;
        // Who is in already need not stand in line.
        let kept = if own.is_some() { 0 } else { line.kept_from(key, theirs) };
        let first = theirs == 0 && kept == 0 && line.claimed(key).is_some();
        let behind = kept.saturating_sub(self.config.admission.most_kept());
        let kept = kept - behind;
        Measure { depth: self.depth(), kept, behind, held: theirs, more, own, first }
    }

    /// How many places a request is given: if it may have more jobs than it
    /// came with, as many as it was refused with before, or those ahead.
    fn places(&self, key: TenantKey, wish: &Wish, measure: &Measure) -> u32 {
        let rules = self.config.admission;
        let before = self.house.line.claimed(key).filter(|_| measure.own.is_none());
        let before = before.and_then(|jobs| u32::try_from(jobs).ok());
        let fits = |jobs: &u32| {
            let more = u64::from(*jobs).saturating_sub(measure.own.unwrap_or(0));
            u64::from(*jobs) <= rules.most_at_once() && rules.fits(&Measure { more, ..*measure })
        };
        let better = [before.unwrap_or(0).max(wish.ahead), wish.ahead];
        let grows = wish.ahead > wish.jobs;
        better.into_iter().filter(|_| grows).find(fits).unwrap_or(wish.jobs)
    }

    /// Says how many places the request has now.
    fn let_in(
        &mut self,
        key: TenantKey,
        (wish, places): (&Wish, u32),
        (rate, now): (Option<Rate>, Timestamp),
    ) -> u32 {
        let Some(tenant) = self.hall.tenants.get_mut(key.0) else { return 0 };
        let kept = &mut tenant.knocks.kept;
        let before = kept.remove(wish.hold);
        let jobs = places.max(before.map_or(0, |before| before.jobs));
        let hold = Hold { id: wish.hold, jobs, until: now + HOLD_LASTS };
        kept.holds.push(hold);
        if let (None, Some(rate)) = (before, rate) {
            kept.arrival.count(rate, now);
        }
        let theirs = kept.held() + count(tenant.jobs);
        tenant.knocks.stands = self.house.line.let_in(key, jobs.into(), theirs);
        tenant.knocks.told = None;
        if let Some(before) = before {
            self.house.let_go(before, key);
        }
        self.house.hold(hold, key);
        jobs
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
        let most = rate.at_once();
        let retry_after = Some(tenant.knocks.turns.next(wait, rate.interval(), now, chance));
        let (limit, asked, largest) = (Limit::Rate, 1, None);
        Some(Refusal { limit, most, used: most, asked, largest, retry_after })
    }

    fn too_many(
        &mut self,
        key: TenantKey,
        measure: &Measure,
        at: (Timestamp, Entropy),
    ) -> Option<Refusal> {
        let rules = self.config.admission;
        let (own, asked) = (measure.own.unwrap_or(0), measure.own.unwrap_or(0) + measure.more);
        let (largest, retry_after) = (rules.most_at_once(), None);
        let refusal = |limit, most, used| {
            let largest = Some(largest);
            Refusal { limit, most, used, asked, largest, retry_after }
        };
        if asked > largest {
            return Some(refusal(Limit::Request, largest, asked));
        }
        let (excess, refusal) = if let Some(excess) = rules.excess(measure) {
            let used = measure.taken().saturating_sub(own);
            (House(excess), refusal(Limit::Capacity, excess.most, used))
        } else {
            let excess = rules.excess_of_share(measure)?;
            let used = measure.held.saturating_sub(own);
            (Share(excess), refusal(Limit::Share, excess.most, used))
        };
        let wait = self.places_empty(key, excess, measure.more, at);
        self.stand_in_line(key, measure, (at.0, wait));
        Some(Refusal { retry_after: Some(wait), ..refusal })
    }

    /// Keeps room for a tenant that was refused, if others can make it. How
    /// many jobs a request has that was refused on its way, nobody knows: it
    /// stands for twice as many as it came with.
    fn stand_in_line(&mut self, key: TenantKey, measure: &Measure, at: (Timestamp, Span)) {
        let rules = self.config.admission;
        let (more, held) = match measure.own {
            None => (measure.more, measure.held),
            Some(own) => {
                let twice = (own + measure.more).saturating_mul(2);
                (twice.min(rules.most_at_once()), measure.held.saturating_sub(own))
            }
        };
        let whole = Measure { more, held, own: None, first: held == 0, ..*measure };
        let Some(room) = rules.room(&whole) else { return };
        let claim = Claim { jobs: more, held, room };
        let stands = self.house.line.stand(key, claim, at);
        if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
            tenant.knocks.stands = stands;
        }
    }

    /// Those who are late leave the line.
    pub(super) fn leave_line(&mut self, now: Timestamp) {
        for key in self.house.line.pass(now) {
            if let Some(tenant) = self.hall.tenants.get_mut(key.0) {
                tenant.knocks.stands = false;
                self.hall.changed(key);
            }
        }
    }

    /// When so many places will have become free, and so many more can come.
    fn places_empty(
        &mut self,
        key: TenantKey,
        excess: Crowd,
        more: u64,
        (now, chance): (Timestamp, Entropy),
    ) -> Span {
        let all = self.house.drain.rate(now).unwrap_or(self.supposed_rate());
        let (pause, [own, other]) = (self.pause_left(now), self.config.admission.worth());
        let depth = count(self.jobs.len()).max(1);
        let Some(tenant) = self.hall.tenants.get_mut(key.0) else { return pause };
        let known = tenant.knocks.drain.rate(now);
        let theirs = known.unwrap_or(all * count(tenant.jobs) / depth).min(all);
        let [first, each] = match excess {
            House(excess) => [time_of(excess.jobs, all), time_of(more, all)],
            Share(excess) => {
                // What one job that ends is worth to it, on the average.
                let worth = ((theirs * own + (all - theirs) * other) / all.max(1)).max(1);
                let jobs = [excess.jobs, more * own].map(|jobs| jobs.div_ceil(worth));
                jobs.map(|jobs| time_of(jobs, all))
            }
        };
        let first = first.max(pause).max(tenant.knocks.at_least(now));
        let wait = tenant.knocks.places.next(first, each, now, chance);
        tenant.knocks.told = Some((now + wait, wait));
        wait
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

fn count(jobs: usize) -> u64 {
    u64::try_from(jobs).unwrap_or(u64::MAX)
}

/// What is too full.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    House(Excess),
    Share(Excess),
}

/// A request that takes longer has died, or its caller has.
const HOLD_LASTS: Span = Span::from_secs(600);
/// Calls that a slot is supposed to serve in a minute.
const SUPPOSED_CALLS: u64 = 6;
