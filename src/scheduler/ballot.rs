//! Which job of a model class goes next, and when.
use super::{
    Config, Policy,
    budget::{Budget, Margin},
    floors::{Place, Shares},
    hall::Hall,
    keys::LaneKey,
    lane::{Seat, Waiting},
    order::Order,
    parked::{Parked, Savings},
    tariff::Tariff,
    tier::Rules,
};
use crate::domain::{JobId, Priority, Timestamp, Usage};

/// All that one election goes by.
pub(super) struct Ballot<'a> {
    pub(super) order: &'a mut Order,
    pub(super) hall: &'a mut Hall,
    pub(super) budget: &'a Budget,
    pub(super) tariff: &'a Tariff,
    pub(super) config: &'a Config,
    /// Who goes next is the probe of a closed gate.
    pub(super) probing: bool,
    pub(super) now: Timestamp,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This job may go now.
    Go(Candidate),
    /// A job may go then.
    Wait(Timestamp),
    /// The first job of this lane is too large to wait in line: it is to be
    /// parked, and another election held.
    Park(LaneKey),
    /// Nobody may go before something changes.
    Nobody,
}

/// A job that may go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Candidate {
    pub(super) rank: Priority,
    pub(super) order: u64,
    pub(super) job: JobId,
    pub(super) need: Usage,
    pub(super) price: i64,
    pub(super) from: From,
}

/// Where a job waited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum From {
    Lane(LaneKey),
    Parked { since: Timestamp },
}

impl Ballot<'_> {
    pub(super) fn hold(mut self) -> Next {
        let shares = self.order.shares(&self.config.order, self.tariff);
        let savings = self.savings(&shares);
        let patience = self.config.order.park;
        let mut wait = self.order.parking.next_patience((patience, self.now));
        match self.try_saved(savings.as_ref()) {
            Some(Next::Wait(until)) => wait = Some(wait.map_or(until, |other| other.min(until))),
            Some(next) => return next,
            None => {}
        }
        for place in self.places(&shares) {
            let earliest = match self.try_parked(place, &shares, savings.as_ref()) {
                Some(Next::Go(candidate)) => return Next::Go(candidate),
                Some(Next::Wait(until)) => Some(until),
                _ => None,
            };
            wait = wait.into_iter().chain(earliest).min();
            if let Some(lane) = self.elect(place.priority) {
                return match self.try_lane(lane, place, &shares, savings.as_ref()) {
                    Some(Next::Wait(until)) => {
                        Next::Wait(wait.map_or(until, |other| other.min(until)))
                    }
                    other => other.unwrap_or(Next::Nobody),
                };
            }
        }
        wait.map_or(Next::Nobody, Next::Wait)
    }

    fn try_lane(
        &self,
        key: LaneKey,
        place: Place,
        shares: &Shares,
        savings: Option<&Savings>,
    ) -> Option<Next> {
        let lane = self.hall.lanes.get(key.0)?;
        let Waiting { order, job, estimate, .. } = lane.head()?;
        let fresh = matches!(lane.account.seat, Seat::Fresh { .. });
        let (rank, need) = (place.priority, self.tariff.need(estimate));
        let margin = Margin {
            keep: if self.probing { 0 } else { self.keep(place, fresh, shares) },
            hold: savings.map(|it| (it.need, it.saved)),
        };
        let price = self.tariff.cost(need);
        let fits = self.budget.fits_at(need, margin);
        Some(if fits <= self.now {
            Next::Go(Candidate { rank, order, job, need, price, from: From::Lane(key) })
        } else if self.tariff.is_oversized(price) && !self.order.parking.is_full() {
            Next::Park(key)
        } else {
            Next::Wait(fits)
        })
    }

    /// The oldest parked job of a rank: it goes as soon as it fits, but holds
    /// up nobody.
    fn try_parked(&self, place: Place, shares: &Shares, savings: Option<&Savings>) -> Option<Next> {
        let rank = place.priority;
        let capped = |it: &&Parked| self.hall.is_capped(it.tenant, rank, self.config);
        let parked = self.order.parking.of(rank).find(|it| !capped(it))?;
        let need = self.tariff.need(parked.estimate);
        let others = savings.filter(|it| it.job != parked.job);
        let hold = others.map(|it| (it.need, it.saved));
        let margin = Margin { keep: self.keep(place, false, shares), hold };
        Some(self.unparked(parked, self.budget.fits_at(need, margin)))
    }

    /// The job that is saved up for goes before all others, once all of it is
    /// saved: its tenant has had no more than its share.
    fn try_saved(&self, savings: Option<&Savings>) -> Option<Next> {
        let Savings { job, need, full_at, .. } = savings?;
        let parked = self.order.parking.all().find(|parked| parked.job == *job)?;
        let capped = self.hall.is_capped(parked.tenant, parked.rank, self.config);
        let fits = self.budget.nearly_fits_at(*need).max(*full_at);
        Some(self.unparked(parked, fits)).filter(|_| !capped)
    }

    fn unparked(&self, parked: &Parked, fits: Timestamp) -> Next {
        if fits > self.now {
            return Next::Wait(fits);
        }
        let Parked { rank, since, job, order, paid: price, .. } = *parked;
        let (need, from) = (self.tariff.need(parked.estimate), From::Parked { since });
        Next::Go(Candidate { rank, order, job, need, price, from })
    }

    /// How many hundredths of each bucket a job of this place leaves to more
    /// urgent ones that are within their share, and to fresh tenants. One
    /// that is owed its turn leaves nothing.
    fn keep(&self, place: Place, fresh: bool, shares: &Shares) -> u32 {
        let order = &self.config.order;
        let lot = matches!(order.policy, Policy::Draw { .. });
        if place.owed && !lot {
            return 0;
        }
        let floors = &self.order.memory.floors;
        let within = |high: &Priority| {
            *high < place.priority && (lot || !floors.exceeds(*high, place.priority, shares))
        };
        let higher = Priority::ALL.into_iter().filter(within).map(|_| order.headroom_percent);
        let rest = if fresh { 0 } else { order.fresh_percent };
        higher.fold(rest, u32::saturating_add)
    }

    fn elect(&mut self, rank: Priority) -> Option<LaneKey> {
        let rules = Rules { config: self.config, tariff: self.tariff, rank };
        self.order.tiers.get_mut(rank).elect(self.hall, &rules)
    }

    fn savings(&self, shares: &Shares) -> Option<Savings> {
        let (patience, before) = (self.config.order.park, self.order.memory.saved_until);
        let need = |estimate| self.tariff.need(estimate);
        let share = |it: &Parked| self.order.share(it.rank, it.weight, shares);
        self.order.parking.savings(need, self.budget, share, (patience, before, self.now))
    }

    fn places(&self, shares: &Shares) -> [Place; 3] {
        match self.config.order.policy {
            Policy::Bounded | Policy::Weights => self.order.memory.floors.places(shares),
            Policy::Draw { critical_percent } => {
                drawn(self.order.memory.draws, critical_percent, shares)
            }
        }
    }
}

/// The priorities in the order in which a lot puts them.
fn drawn(draws: u64, critical_percent: u32, shares: &Shares) -> [Place; 3] {
    let waits = |priority: &Priority| *shares.waiting.get(*priority);
    let all = Priority::ALL.map(|priority| Place { priority, owed: false });
    if Priority::ALL.iter().filter(|priority| waits(priority)).count() < 2 {
        return all;
    }
    let lot = mixed(draws);
    let weight = |of| (*shares.weights.get(of)).max(1);
    let (standard, batch) = (weight(Priority::Standard), weight(Priority::Batch));
    let lower = if lot / 100 % standard.saturating_add(batch) < standard {
        [Priority::Standard, Priority::Batch]
    } else {
        [Priority::Batch, Priority::Standard]
    };
    let critical = lot % 100 < critical_percent.into();
    let first = Some(Priority::Critical).filter(|it| critical && waits(it));
    let winner = first.or_else(|| lower.into_iter().find(waits)).unwrap_or(Priority::Critical);
    let [a, b, c] = all;
    match winner {
        Priority::Critical => [a, b, c],
        Priority::Standard => [b, a, c],
        Priority::Batch => [c, a, b],
    }
}

/// One step of `SplitMix64`: as good as chance, and the same in every run.
const fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
