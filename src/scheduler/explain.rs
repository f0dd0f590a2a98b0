//! Why a job waits, and until when.
use super::{
    PerPriority, Reason, Scheduler, WaitingFor,
    budget::Margin,
    class::Class,
    hall::Hall,
    job::{Job, Place},
    keys::LaneKey,
    lane::{Lane, Seat, Waiting},
    tariff::Tariff,
};
use crate::domain::{JobId, Priority, Timestamp, Tokens, Usage};

/// What goes before a job, as far as can be told.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Ahead {
    jobs: u64,
    /// Their estimated inputs, each lane's taken as average.
    input: u64,
}

/// One job's view of its class.
struct View<'a> {
    hall: &'a Hall,
    class: &'a Class,
    rank: Priority,
    weights: PerPriority<u64>,
    /// What each rank may go before lower ones, in jobs.
    lead: PerPriority<u64>,
}

impl Scheduler {
    /// What a job waits for. `None` if it is unknown, or under way.
    #[must_use]
    pub fn explain(&self, job: JobId, now: Timestamp) -> Option<WaitingFor> {
        let mut clock = self.clock;
        let now = clock.see(now);
        let job = self.jobs.get(&job)?;
        let retry = match job.place {
            Place::Waiting | Place::Parked { .. } => now,
            Place::Delayed(until) => until,
            Place::Leased(_) => return None,
        };
        let class = self.classes.get(job.class)?;
        let tariff = class.tariff(&self.config);
        let ahead = self.ahead(class, job, &tariff);
        let start = earned_at(class, job, ahead, &tariff)
            .max(retry)
            .max(class.opens_at().unwrap_or(now))
            .max(self.account.opens_at().unwrap_or(now))
            .max(now);
        let demotion = self.hall.tenants.get(job.tenant.0)?.conduct.demotion;
        Some(WaitingFor {
            reason: self.reason(class, job, ahead, (&tariff, now)),
            position: usize::try_from(ahead.jobs).unwrap_or(usize::MAX).saturating_add(1),
            estimated_start: clock.on_the_wall(start),
            demotion: demotion.map(|demotion| self.shown(demotion)),
        })
    }

    fn reason(
        &self,
        class: &Class,
        job: &Job,
        ahead: Ahead,
        (tariff, now): (&Tariff, Timestamp),
    ) -> Reason {
        let gate_open = class.opens_at().is_some_and(|opens| opens <= now);
        let need = tariff.need(job.submission.estimate);
        if self.account.paused().is_some() {
            Reason::Paused
        } else if matches!(job.place, Place::Delayed(_)) || !gate_open {
            Reason::Retry
        } else if ahead.jobs > 0 {
            Reason::Turn
        } else if class.known.budget.fits_at(need, Margin::default()) > now
            || matches!(job.place, Place::Parked { .. })
        {
            Reason::Tokens
        } else if self.slot_free() && !self.is_capped(job) {
            Reason::Turn
        } else {
            Reason::Slot
        }
    }

    fn is_capped(&self, job: &Job) -> bool {
        let tenant = self.hall.tenants.get(job.tenant.0);
        let rank = tenant.map(|tenant| tenant.rank(job.submission.priority));
        rank.is_some_and(|rank| self.hall.is_capped(job.tenant, rank, &self.config))
    }

    fn ahead(&self, class: &Class, job: &Job, tariff: &Tariff) -> Ahead {
        let Some(tenant) = self.hall.tenants.get(job.tenant.0) else {
            return Ahead::default();
        };
        if let Place::Parked { .. } = job.place {
            return Ahead::default();
        }
        let order = &self.config.order;
        let lead = |rank| tariff.inflow(*order.lead.get(rank)) / tariff.quantum.max(1);
        let view = View {
            hall: &self.hall,
            class,
            rank: tenant.rank(job.submission.priority),
            weights: order.weights,
            lead: PerPriority::by(|rank| lead(rank).unsigned_abs()),
        };
        let lane = self.hall.find(job.tenant, job.class, view.rank);
        view.ahead(lane, job.waiting(), self.config.weight(job.submission.plan))
    }
}

impl View<'_> {
    fn ahead(&self, key: Option<LaneKey>, job: Waiting, weight: u64) -> Ahead {
        let own = key.and_then(|key| self.hall.lanes.get(key.0));
        let place = own.map_or(0, |lane| lane.place(job.order, job.job).unwrap_or_else(|gap| gap));
        let turns = u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1);
        let mut ahead = Ahead::default();
        if let Some(lane) = own {
            ahead.add(lane, turns - 1);
        }
        let fresh = own.is_none_or(|lane| !matches!(lane.account.seat, Seat::Round { .. }));
        for lane in self.before(key, self.rank) {
            ahead.add(lane, Self::jobs_of(lane, fresh, turns, weight));
        }
        let served = ahead.jobs.saturating_add(1);
        for rank in Priority::ALL.into_iter().filter(|rank| *rank < self.rank) {
            let share = served.saturating_mul(*self.weights.get(rank));
            let floor = share / (*self.weights.get(self.rank)).max(1);
            self.add_rank(&mut ahead, rank, self.lead.get(rank).saturating_add(floor));
        }
        ahead
    }

    /// How many jobs of another lane go before this one has had its turns.
    fn jobs_of(lane: &Lane, fresh: bool, turns: u64, weight: u64) -> u64 {
        let other = lane.account.weight.max(1);
        match lane.account.seat {
            Seat::Fresh { .. } => turns,
            Seat::Round { .. } if fresh => 0,
            Seat::Round { .. } => turns.saturating_mul(other).div_ceil(weight.max(1)),
            Seat::Idle { .. } => 0,
        }
    }

    /// The other lanes of a rank.
    fn before(&self, own: Option<LaneKey>, rank: Priority) -> impl Iterator<Item = &Lane> {
        let line = self.class.order.tiers.get(rank).line(self.hall);
        line.filter(move |key| own != Some(*key)).filter_map(|key| self.hall.lanes.get(key.0))
    }

    /// Adds the jobs of a more urgent rank, no more than its share and lead.
    fn add_rank(&self, ahead: &mut Ahead, rank: Priority, most: u64) {
        let mut all = Ahead::default();
        for lane in self.before(None, rank) {
            all.add(lane, u64::MAX);
        }
        let jobs = all.jobs.min(most);
        let input = u128::from(all.input) * u128::from(jobs) / u128::from(all.jobs.max(1));
        ahead.jobs = ahead.jobs.saturating_add(jobs);
        ahead.input = ahead.input.saturating_add(u64::try_from(input).unwrap_or(u64::MAX));
    }
}

impl Ahead {
    /// Adds so many jobs of a lane, or as many as it has.
    fn add(&mut self, lane: &Lane, jobs: u64) {
        let all = u64::try_from(lane.len()).unwrap_or(u64::MAX);
        let jobs = jobs.min(all);
        let inputs = lane.jobs().map(|job| u128::from(job.estimate.input.get()));
        let mean = inputs.sum::<u128>() / u128::from(all.max(1));
        let input = u64::try_from(mean.saturating_mul(jobs.into())).unwrap_or(u64::MAX);
        self.jobs = self.jobs.saturating_add(jobs);
        self.input = self.input.saturating_add(input);
    }
}

/// When the class will have earned the tokens of this job and of all that go
/// before it.
fn earned_at(class: &Class, job: &Job, ahead: Ahead, tariff: &Tariff) -> Timestamp {
    let need = tariff.need(job.submission.estimate);
    if ahead.jobs == 0 {
        return class.known.budget.fits_at(need, Margin::default());
    }
    let calls = ahead.jobs.saturating_add(1);
    let output = Tokens::new(need.output.get().saturating_mul(calls));
    let input = need.input.saturating_add(Tokens::new(ahead.input));
    class.known.budget.earned_at(Tokens::new(calls), Usage { input, output })
}
