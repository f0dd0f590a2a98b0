//! When a waiting job finds a free slot.
use super::{
    Wake,
    ahead::Ahead,
    class::{Class, Standing},
    forecast::Forecast,
    hall::FEW_SLOTS,
    job,
    keys::{ClassKey, TenantKey},
    view::Place,
};
use crate::domain::{JobId, Span, Timestamp};
use std::collections::BTreeSet;

/// When the calls under way are expected to end, and whose slots a job cannot
/// hope for.
struct Calls {
    ends: BTreeSet<(Timestamp, JobId)>,
    /// Held by classes that take them again as soon as they have tokens.
    taken: usize,
}

impl Forecast<'_> {
    /// When a slot is free for a job behind so many others: each slot takes the
    /// next of them when its call has ended. While nobody knows how long calls
    /// take, at once.
    pub(super) fn slot_at(&self, place: &Place, ahead: &Ahead) -> Timestamp {
        let begin = self.opens_at(ahead);
        let Some(mean) = self.view.class.known.mean_duration.get() else {
            return begin;
        };
        let narrow = begin + mean.scaled(self.rounds_of_ramp(ahead), 1);
        let slots = usize::try_from(self.scheduler.config.slots).unwrap_or(usize::MAX).max(1);
        let free = slots.saturating_sub(self.scheduler.leases.len());
        let turn = usize::try_from(ahead.jobs).unwrap_or(usize::MAX);
        let (others, cycle) = self.other_classes(place.class, turn, mean);
        let capped = self.scheduler.config.slots >= FEW_SLOTS;
        let alone = capped && ahead.others == 0 && others == 0;
        if turn.saturating_add(others) < free.saturating_sub(alone.into()) {
            return narrow;
        }
        let turn = turn.saturating_add(others);
        let mut calls = self.calls(place.class, begin, mean);
        let free = if alone { self.leave_one(place.tenant, &mut calls, free) } else { free };
        let usable = free.saturating_add(calls.ends.len()).max(1);
        let (rounds, at) = (turn / usable, turn % usable);
        let first = match at.checked_sub(free) {
            None => begin,
            Some(nth) => calls.ends.iter().nth(nth).map_or(begin + mean, |(end, _)| *end),
        };
        let last = first + cycle.scaled(u64::try_from(rounds).unwrap_or(u64::MAX), 1);
        narrow.max(self.now + self.view.stretched_by_slots(last.since(self.now), ahead))
    }

    /// When the gate and the account let it through. Behind a closed one, one
    /// job goes first, and the others after its answer.
    fn opens_at(&self, ahead: &Ahead) -> Timestamp {
        let class = self.view.class;
        let mean = class.known.mean_duration.get().unwrap_or(Span::ZERO);
        let after = |opens: Option<Timestamp>, probe: Option<JobId>| match opens {
            Some(opens) if opens > self.now && ahead.jobs > 0 => opens + mean,
            Some(opens) => opens,
            None => probe.map_or(self.now, |probe| self.ends_at(probe).unwrap_or(self.now)),
        };
        let account = &self.scheduler.account;
        let gate = after(class.opens_at(), class.known.gate.probe());
        gate.max(after(account.opens_at(), account.probe())).max(self.now)
    }

    /// After a closed gate few go, and twice as many each time they are
    /// answered: how many times that has to happen.
    fn rounds_of_ramp(&self, ahead: &Ahead) -> u64 {
        let Some(mut width) = self.view.class.known.gate.width() else {
            return 0;
        };
        let (mut gone, mut rounds) = (width.max(1), 0);
        while gone <= ahead.jobs && width < self.scheduler.config.slots.into() {
            width = width.max(1).saturating_mul(2);
            gone = gone.saturating_add(width);
            rounds += 1;
        }
        rounds
    }

    /// How many jobs of other classes take slots meanwhile, and how long one
    /// call of them all takes.
    fn other_classes(&self, own: ClassKey, turn: usize, mean: Span) -> (usize, Span) {
        let (mut jobs, turn) = (0_usize, turn.saturating_add(1));
        let mut sum = mean.scaled(u64::try_from(turn).unwrap_or(u64::MAX), 1);
        for (key, class) in &self.scheduler.classes.table {
            if key != own.0 && matches!(class.standing, Standing::Ready(_)) {
                let more = class.order.waiting().min(turn);
                let each = class.known.mean_duration.get().unwrap_or(mean);
                sum = sum.saturating_add(each.scaled(u64::try_from(more).unwrap_or(u64::MAX), 1));
                jobs = jobs.saturating_add(more);
            }
        }
        let all = u64::try_from(turn.saturating_add(jobs)).unwrap_or(u64::MAX);
        (jobs, sum.scaled(1, all))
    }

    fn calls(&self, own: ClassKey, begin: Timestamp, mean: Span) -> Calls {
        let mut calls = Calls { ends: BTreeSet::new(), taken: 0 };
        for (_, id) in &self.scheduler.leases {
            let job = self.scheduler.jobs.get(id).filter(|job| job.class != own);
            let class = job.and_then(|job| self.scheduler.classes.get(job.class));
            if class.is_some_and(waits_for_tokens) {
                calls.taken += 1;
            } else {
                let end = self.ends_at(*id).unwrap_or(self.now + mean);
                calls.ends.insert((end.max(begin), *id));
            }
        }
        calls
    }

    /// The last slot is not for a tenant that holds all others.
    fn leave_one(&self, tenant: TenantKey, calls: &mut Calls, free: usize) -> usize {
        let of = |id: &JobId| self.scheduler.jobs.get(id).map(|job| job.tenant);
        let mut latest = calls.ends.iter().rev();
        if let Some(other) = latest.find(|(_, id)| of(id) != Some(tenant)).copied() {
            calls.ends.remove(&other);
            return free;
        }
        free.saturating_sub(usize::from(calls.taken == 0))
    }

    /// When a call is expected to end. One that is over its time needs half as
    /// long again as it is over.
    fn ends_at(&self, id: JobId) -> Option<Timestamp> {
        let job = self.scheduler.jobs.get(&id)?;
        let job::Place::Leased(lease) = &job.place else {
            return None;
        };
        let mean = self.scheduler.classes.get(job.class)?.known.mean_duration.get()?;
        let over = self.now.since(lease.since + mean);
        Some((lease.since + mean).max(self.now) + over.scaled(1, 2))
    }
}

fn waits_for_tokens(class: &Class) -> bool {
    let blocked = matches!(class.standing, Standing::Blocked { wake: Wake::Tokens, .. });
    blocked && class.order.waiting() > 0
}
