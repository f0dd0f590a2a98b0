//! When a waiting job will start, if things go on as they are.
//!
//! What goes before it has to be earned, and has to leave its slots: the later
//! of both counts, and no job starts before its delay, the gate and a pause are
//! over.
use super::{
    Scheduler,
    ahead::{Ahead, plus},
    budget::Margin,
    job::{self, Job},
    parked::{Parked, Savings},
    view::{Place, View},
};
use crate::domain::{Priority, Timestamp, Tokens, Usage};

/// All that an estimate goes by.
pub(super) struct Forecast<'a> {
    pub(super) scheduler: &'a Scheduler,
    pub(super) view: View<'a>,
    pub(super) now: Timestamp,
}

/// What is expected of one job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// How many go before it.
    pub(super) before: u64,
    /// When its tokens are there.
    pub(super) tokens: Timestamp,
    pub(super) start: Timestamp,
}

/// One job that tokens are, or will be, saved for.
struct Saver<'a> {
    parked: &'a Parked,
    begun: Timestamp,
    savings: Savings,
}

impl Forecast<'_> {
    pub(super) fn of(&self, job: &Job) -> Option<Estimate> {
        let need = self.view.tariff.need(job.submission.estimate);
        if let job::Place::Parked { rank, since, .. } = job.place {
            return self.of_parked(job, rank, since);
        }
        let tenant = self.scheduler.hall.tenants.get(job.tenant.0)?;
        let rank = tenant.rank(job.submission.priority);
        let place = self.place(job, rank);
        let mut estimate = self.in_line(&place, need);
        if let Some(lifts) = tenant.conduct.lifts_at().filter(|_| rank > job.submission.priority) {
            let own = Place { rank: job.submission.priority, ..place };
            let wait = self.in_line(&own, need).start.since(self.now);
            estimate.start = estimate.start.min(lifts + wait);
        }
        Some(estimate)
    }

    fn place(&self, job: &Job, rank: Priority) -> Place {
        let weight = self.scheduler.config.weight(&job.submission);
        Place {
            tenant: job.tenant,
            class: job.class,
            lane: rank,
            rank,
            weight,
            order: job.order,
            job: job.submission.job,
            price: self.view.tariff.price(job.submission.estimate),
        }
    }

    /// A job in its lane. One too large for that is set aside when its turn
    /// has come.
    fn in_line(&self, place: &Place, need: Usage) -> Estimate {
        let ahead = self.view.before(place);
        let mut tokens = self.earned_at(&ahead, need);
        let mut before = ahead.jobs;
        if tokens > self.now && self.view.tariff.is_oversized(place.price) {
            let turn = self.earned_at(&ahead, Usage::default());
            let saved = self.saved_at(place, need, (turn, ahead.large));
            tokens = tokens.max(saved.min(self.drained_at(place, need)));
            let parked = self.view.class.order.parking.all().count();
            before = before.saturating_add(u64::try_from(parked).unwrap_or(u64::MAX));
        }
        let start = self.slot_at(place, &ahead).max(tokens);
        Estimate { before, tokens, start }
    }

    /// A job that was set aside: it goes when all is saved for it, or when all
    /// that flows around it has gone.
    fn of_parked(&self, job: &Job, rank: Priority, since: Timestamp) -> Option<Estimate> {
        let place = self.place(job, rank);
        let need = self.view.tariff.need(job.submission.estimate);
        let savers = self.savers();
        let before = savers.iter().position(|saver| saver.parked.job == place.job)?;
        let budget = &self.view.class.known.budget;
        let saved = savers.get(before).map_or(since, |saver| saver.savings.full_at);
        let tokens = saved.max(budget.nearly_fits_at(need)).min(self.drained_at(&place, need));
        let before = u64::try_from(before).unwrap_or(u64::MAX);
        let start = self.slot_at(&place, &Ahead::default()).max(tokens);
        Some(Estimate { before, tokens, start })
    }

    /// When the class will have earned the tokens of this job, of all that go
    /// before it, and what is saved for others meanwhile.
    fn earned_at(&self, ahead: &Ahead, need: Usage) -> Timestamp {
        let budget = &self.view.class.known.budget;
        let keep = ahead.keep;
        let earned = |before: u64, all: Usage| {
            let calls = ahead.jobs.saturating_add(before).saturating_add(1);
            if calls == 1 {
                budget.fits_at(all, Margin { keep, hold: None })
            } else {
                budget.earned_at(Tokens::new(calls), all, keep)
            }
        };
        let tokens = self.beside_savers(plus(ahead.need, need), earned);
        self.now + self.view.stretched(tokens.since(self.now), ahead)
    }

    /// When so much is earned while tokens are saved for large jobs: at a part
    /// of the pace, or after they have gone.
    fn beside_savers(&self, mut all: Usage, earned: impl Fn(u64, Usage) -> Timestamp) -> Timestamp {
        let mut then = earned(0, all).max(self.now);
        for (before, saver) in (0..).zip(self.savers()) {
            let Saver { parked, begun, savings } = saver;
            let from = begun.max(self.now);
            if from > then {
                break;
            }
            let budget = &self.view.class.known.budget;
            let share = self.share_of(parked);
            let saved = parked.savings((begun, from), savings.need, budget, share).saved;
            let part = |tokens| saved.of(tokens);
            let Usage { input, output } = savings.need;
            let saved = Usage { input: part(input), output: part(output) };
            let beside = earned(before, plus(all, saved));
            let left = share.1.saturating_sub(share.0);
            let slower = from + beside.since(from).scaled(share.1, left.max(1));
            if slower <= savings.full_at && (left > 0 || beside <= from) {
                return slower.max(then);
            }
            all = plus(all, savings.need);
            then = earned(before + 1, all).max(savings.full_at);
        }
        then
    }

    /// The jobs that are set aside, in the order in which they are saved up
    /// for.
    fn savers(&self) -> Vec<Saver<'_>> {
        let order = &self.view.class.order;
        let mut savers: Vec<Saver<'_>> = Vec::new();
        while let Some(parked) = order.parking.next(savers.last().map(|last| last.parked)) {
            let before = savers.last().map_or(order.memory.saved_until, |it| it.savings.full_at);
            let begun = before.max(parked.since + self.view.config.order.park);
            let need = self.view.tariff.need(parked.estimate);
            let budget = &self.view.class.known.budget;
            let savings = parked.savings((begun, self.now), need, budget, self.share_of(parked));
            savers.push(Saver { parked, begun, savings });
        }
        savers
    }

    /// When all is saved for a job that will be set aside then, as will be so
    /// many before it.
    fn saved_at(&self, place: &Place, need: Usage, (turn, large): (Timestamp, u64)) -> Timestamp {
        let before = self.savers().last().map_or(self.now, |last| last.savings.full_at);
        let begun = before.max(turn + self.view.config.order.park);
        let order = &self.view.class.order;
        let (part, of) = order.share(place.rank, place.weight, &self.view.shares);
        let each = self.view.class.known.budget.earned_in(need).scaled(of.max(part), part.max(1));
        begun + each.scaled(large.saturating_add(1), 1)
    }

    /// When nothing else will be left to go before a job that was set aside, if
    /// as much comes as lately.
    fn drained_at(&self, place: &Place, need: Usage) -> Timestamp {
        let mut all = Ahead::default();
        for rank in Priority::ALL {
            all.add(self.view.all_of(rank));
        }
        let budget = &self.view.class.known.budget;
        let keep = self.view.keep(place.rank, false);
        let fits = budget.fits_at(need, Margin { keep, hold: None });
        let all_need = plus(all.need, need);
        let earned = budget.earned_at(Tokens::new(all.jobs.saturating_add(1)), all_need, keep);
        let wait = fits.max(earned).since(self.now);
        let comes = |rank| self.view.class.order.tiers.get(rank).came.a_minute(self.now);
        let comes = Priority::ALL.into_iter().map(comes).fold(0, u64::saturating_add);
        let (all, left) = (self.view.capacity(), self.view.capacity().saturating_sub(comes));
        self.now + wait.scaled(all, left.max(1))
    }

    fn share_of(&self, parked: &Parked) -> (u64, u64) {
        self.view.class.order.share(parked.rank, parked.weight, &self.view.shares)
    }
}
