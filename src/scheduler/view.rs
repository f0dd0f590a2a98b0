//! A model class as its waiting jobs see it: what goes before each of them, as
//! far as can be told.
//!
//! Within its rank, its turn comes in a known round of the calendar: what other
//! lanes may use up to then goes first. Each lane counts as so many jobs of its
//! mean size, so that a look costs as much as the class has lanes, however many
//! its jobs. Meanwhile other ranks have their turns.
use super::{
    Config, PerPriority,
    ahead::Ahead,
    between::Outlook,
    class::Class,
    floors::Shares,
    hall::Hall,
    keys::{ClassKey, LaneKey, TenantKey},
    lane::{Lane, Seat},
    ratio::part,
    tariff::{Tariff, whole},
};
use crate::domain::{JobId, Priority, Timestamp, Tokens, Usage};

/// A job that is in line, or would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) tenant: TenantKey,
    pub(super) class: ClassKey,
    /// The rank of the lane it stands in, and the one it is served with.
    pub(super) lane: Priority,
    pub(super) rank: Priority,
    pub(super) weight: u64,
    pub(super) order: u64,
    pub(super) job: JobId,
    pub(super) price: i64,
}

/// One class, as its jobs see it.
pub(super) struct View<'a> {
    pub(super) hall: &'a Hall,
    pub(super) class: &'a Class,
    pub(super) config: &'a Config,
    pub(super) tariff: &'a Tariff,
    pub(super) shares: Shares,
    pub(super) now: Timestamp,
}

/// When a job's turn comes.
#[derive(Clone, Copy)]
enum Turn {
    /// While its lane has credit: after so many jobs of each other such lane.
    Fresh(u64),
    /// In this round, as the first of its lane or not, behind this seat.
    Round { round: u64, behind: Option<u64> },
}

impl<'a> View<'a> {
    pub(super) fn new(
        (hall, class): (&'a Hall, &'a Class),
        (config, tariff): (&'a Config, &'a Tariff),
        now: Timestamp,
    ) -> Self {
        let shares = class.order.shares(&config.order, tariff);
        Self { hall, class, config, tariff, shares, now }
    }

    /// What goes before a job that stands in line, or would stand there.
    pub(super) fn before(&self, place: &Place) -> Ahead {
        let key = self.hall.find(place.tenant, place.class, place.lane);
        let own = key.and_then(|key| self.hall.lanes.get(key.0));
        let gap = own.map(|own| own.place(place.order, place.job).unwrap_or_else(|gap| gap));
        let gap = u64::try_from(gap.unwrap_or(0)).unwrap_or(u64::MAX);
        let mut ahead = Ahead::default();
        if let Some(lane) = own {
            self.add(&mut ahead, lane, gap);
            ahead.large = gap.saturating_sub(ahead.jobs);
            ahead.jobs = gap;
        }
        let turn = self.turn(own, gap, place);
        for (_, lane) in self.line(place.rank).filter(|(other, _)| key != Some(*other)) {
            self.add(&mut ahead, lane, self.jobs_of(lane, turn));
        }
        self.add_ranks(&mut ahead, place, turn);
        ahead.others = ahead.jobs.saturating_sub(gap);
        ahead
    }

    /// What other ranks are served before so much of the job's own.
    fn add_ranks(&self, ahead: &mut Ahead, place: &Place, turn: Turn) {
        let order = &self.class.order;
        let price = place.price.unsigned_abs();
        let own = |rank| rank == place.rank;
        let all_of = |rank| if own(rank) { Ahead::default() } else { self.all_of(rank) };
        let others = PerPriority::by(all_of);
        let mut left = PerPriority::by(|rank| others.get(rank).cost);
        *left.get_mut(place.rank) = ahead.cost.saturating_add(price);
        let comes = |rank| {
            let tier = order.tiers.get(rank);
            match turn {
                _ if rank < place.rank => tier.came.a_minute(self.now),
                Turn::Round { .. } if own(rank) => tier.light.a_minute(self.now),
                Turn::Round { .. } | Turn::Fresh(_) => 0,
            }
        };
        let outlook = Outlook {
            floors: order.memory.floors,
            shares: self.shares,
            left,
            comes: PerPriority::by(comes),
            of: self.capacity(),
        };
        let served = outlook.play(place.rank);
        for rank in Priority::ALL {
            ahead.add(others.get(rank).within(*served.known.get(rank)));
        }
        ahead.later = served.later;
        let fresh = matches!(turn, Turn::Fresh(_));
        ahead.keep = if served.owed { 0 } else { self.keep(place.rank, fresh) };
    }

    /// All that waits in lanes of a rank.
    pub(super) fn all_of(&self, rank: Priority) -> Ahead {
        let mut all = Ahead::default();
        for (_, lane) in self.line(rank) {
            self.add(&mut all, lane, u64::MAX);
        }
        all
    }

    /// How many hundredths of each bucket a job leaves to more urgent ones and
    /// to fresh tenants, if its turn is not owed.
    pub(super) fn keep(&self, rank: Priority, fresh: bool) -> u32 {
        let order = &self.config.order;
        let higher = Priority::ALL.into_iter().filter(|high| *high < rank);
        let rest = if fresh { 0 } else { order.fresh_percent };
        higher.map(|_| order.headroom_percent).fold(rest, u32::saturating_add)
    }

    /// When its turn comes, with so many of its own lane before it.
    fn turn(&self, own: Option<&Lane>, before: u64, place: &Place) -> Turn {
        let each = own.map_or(0, |lane| self.tariff.price(lane.mean()));
        let cost = each.saturating_mul(whole(before));
        let cost = cost.saturating_add(self.tariff.fare(place.price));
        let now = self.class.order.tiers.get(place.rank).round;
        let turns = |missing: i64| {
            let missing = missing.max(0).unsigned_abs();
            let turns = missing.div_ceil(self.tariff.quantum.max(1).unsigned_abs());
            turns.saturating_mul(Tariff::stride(place.weight))
        };
        let account = own.filter(|lane| lane.rank == place.rank).map(|lane| lane.account);
        let credit = account.map_or(self.tariff.quantum, |account| account.credit);
        match account.map(|account| account.seat) {
            Some(Seat::Round { round, seq, due }) => {
                let missing = cost.saturating_sub(credit).saturating_sub(due);
                let behind = Some(seq).filter(|_| before == 0);
                Turn::Round { round: round.max(now).saturating_add(turns(missing)), behind }
            }
            _ if credit >= cost => Turn::Fresh(before.saturating_add(1)),
            _ => {
                let round = now.saturating_add(turns(cost.saturating_sub(credit)));
                Turn::Round { round, behind: None }
            }
        }
    }

    /// How many jobs of another lane go before such a turn.
    fn jobs_of(&self, lane: &Lane, turn: Turn) -> u64 {
        let price = self.tariff.price(lane.mean()).max(1).unsigned_abs();
        let credit = lane.account.credit.max(0).unsigned_abs();
        let now = self.class.order.tiers.get(lane.rank).round;
        let until = |round: u64, from: u64| {
            let quantum = self.tariff.quantum.max(1).unsigned_abs();
            let stride = Tariff::stride(lane.account.weight);
            part(round.saturating_sub(from), quantum, stride.saturating_mul(price).max(1))
        };
        match (lane.account.seat, turn) {
            (Seat::Idle { .. }, _) | (Seat::Round { .. }, Turn::Fresh(_)) => 0,
            (Seat::Fresh { .. }, Turn::Fresh(turns)) => turns.min((credit / price).max(1)),
            (Seat::Fresh { .. }, Turn::Round { round, .. }) => {
                (credit / price).max(1).saturating_add(until(round, now))
            }
            (Seat::Round { round: from, seq, .. }, Turn::Round { round, behind }) => {
                let first = from < round || (from == round && behind.is_none_or(|own| seq < own));
                if first { until(round, from).saturating_add(1) } else { 0 }
            }
        }
    }

    /// The lanes of a rank in which jobs wait.
    fn line(&self, rank: Priority) -> impl Iterator<Item = (LaneKey, &Lane)> {
        let line = self.class.order.tiers.get(rank).line(self.hall);
        line.filter_map(|key| Some((key, self.hall.lanes.get(key.0)?)))
    }

    /// Adds so many jobs of a lane, or as many as it has. Large ones are set
    /// aside when their turn comes.
    fn add(&self, ahead: &mut Ahead, lane: &Lane, jobs: u64) {
        let jobs = jobs.min(u64::try_from(lane.len()).unwrap_or(u64::MAX));
        let mean = self.tariff.need(lane.mean());
        let parking = &self.class.order.parking;
        if self.tariff.is_oversized(self.tariff.cost(mean)) && !parking.is_full() {
            return;
        }
        let times = |tokens: Tokens| Tokens::new(tokens.get().saturating_mul(jobs));
        ahead.add(Ahead {
            jobs,
            need: Usage { input: times(mean.input), output: times(mean.output) },
            cost: self.tariff.cost(mean).unsigned_abs().saturating_mul(jobs),
            ..Ahead::default()
        });
    }
}
