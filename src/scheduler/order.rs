//! The waiting jobs of one model class, and what decides among them.
use super::{
    Config, Ordering, PerPriority, Policy,
    floors::{Floors, Shares},
    hall::Hall,
    keys::{ClassKey, LaneKey, TenantKey},
    lane::{Account, Lane, Seat, Waiting},
    mean::Mean,
    parked::Parking,
    tariff::Tariff,
    tier::Tier,
};
use crate::domain::{JobId, Priority, Timestamp, Tokens};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) tiers: PerPriority<Tier>,
    pub(super) parking: Parking,
    pub(super) memory: Memory,
}

/// What is stored of it beside the lanes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Memory {
    /// What jobs cost at their release.
    pub(super) mean_cost: Mean<64>,
    pub(super) floors: Floors,
    /// How many lots were drawn.
    pub(super) draws: u64,
    /// The round of each tier.
    pub(super) rounds: PerPriority<u64>,
    /// When the last job went for which tokens could be saved.
    pub(super) saved_until: Timestamp,
    /// What an idle lane of each tier has earned.
    pub(super) earned: PerPriority<u64>,
}

/// When and by which rules a lane is changed.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) tariff: &'a Tariff,
    pub(super) now: Timestamp,
}

impl Order {
    /// Puts a job into its lane, which may be new.
    pub(super) fn put(
        &mut self,
        hall: &mut Hall,
        (tenant, class, rank): (TenantKey, ClassKey, Priority),
        waiting: Waiting,
        weight: u64,
        context: Context<'_>,
    ) {
        let key = self.lane(hall, (tenant, class, rank), weight, context);
        let tier = self.tiers.get_mut(rank);
        let Some(lane) = hall.lanes.get_mut(key.0) else {
            return;
        };
        let idle = lane.is_empty();
        if !lane.insert(waiting) {
            return;
        }
        let price = context.tariff.price(waiting.estimate);
        tier.come(price, Some(key).filter(|_| idle), context.now);
        tier.waiting += 1;
        tier.known = tier.known - lane.account.weight + weight;
        tier.busy = tier.busy + weight - if idle { 0 } else { lane.account.weight };
        lane.account.weight = weight;
        if let (true, Seat::Idle { mark, .. }) = (idle, lane.account.seat) {
            let most = context.tariff.burst(context.config.order.burst_quanta);
            lane.account.earn(tier.earned_since(mark), most);
            tier.enter(hall, key, context.tariff);
        }
        hall.changed(tenant);
    }

    /// Takes a job out of its lane, wherever it stands there.
    pub(super) fn take(
        &mut self,
        hall: &mut Hall,
        key: LaneKey,
        (order, job): (u64, JobId),
        now: Timestamp,
    ) {
        if hall.lanes.get_mut(key.0).is_some_and(|lane| lane.remove(order, job)) {
            self.left(hall, key, now);
        }
    }

    /// A lane's first job goes, and is paid for.
    pub(super) fn serve(
        &mut self,
        hall: &mut Hall,
        key: LaneKey,
        price: i64,
        context: Context<'_>,
    ) {
        let Some(lane) = hall.lanes.get_mut(key.0) else {
            return;
        };
        lane.account.credit = lane.account.credit.saturating_sub(price);
        lane.account.spent.add(price, context.now);
        let (rank, head) = (lane.rank, lane.head());
        if let Some(head) = head {
            self.take(hall, key, (head.order, head.job), context.now);
        }
        self.tiers.get_mut(rank).enter_again(hall, key, context.tariff);
    }

    /// A job that was not in a lane, and is paid for, goes.
    pub(super) fn unpark(
        &mut self,
        hall: &mut Hall,
        place: (TenantKey, ClassKey, Priority),
        (weight, price): (u64, i64),
        context: Context<'_>,
    ) {
        let key = self.lane(hall, place, weight, context);
        if let Some(account) = hall.account_mut(key) {
            account.spent.add(price, context.now);
        }
        self.memory.saved_until = context.now;
    }

    /// The lane of a tenant, which is opened if it is not known.
    pub(super) fn lane(
        &mut self,
        hall: &mut Hall,
        (tenant, class, rank): (TenantKey, ClassKey, Priority),
        weight: u64,
        context: Context<'_>,
    ) -> LaneKey {
        if let Some(known) = hall.find(tenant, class, rank) {
            return known;
        }
        let burst = context.config.order.burst_quanta;
        let idle = self.tiers.get(rank).idle(context.now);
        let account = Account::new(weight, context.tariff, burst, idle);
        self.open(hall, Lane::new(tenant, class, rank, account))
    }

    /// Takes a lane in, as it is.
    pub(super) fn open(&mut self, hall: &mut Hall, lane: Lane) -> LaneKey {
        self.tiers.get_mut(lane.rank).known += lane.account.weight;
        hall.open(lane)
    }

    /// Puts a job back into its lane, after a restart. The seat is the lane's.
    pub(super) fn put_back(&mut self, hall: &mut Hall, key: LaneKey, waiting: Waiting) {
        let Some(lane) = hall.lanes.get_mut(key.0) else {
            return;
        };
        let tier = self.tiers.get_mut(lane.rank);
        let first = lane.is_empty();
        if lane.insert(waiting) {
            tier.waiting += 1;
            tier.busy += if first { lane.account.weight } else { 0 };
        }
    }

    /// Puts a lane back into its place in line, after a restart, unless its
    /// jobs are gone.
    pub(super) fn seat_again(&mut self, hall: &mut Hall, key: LaneKey, now: Timestamp) {
        let Some(lane) = hall.lanes.get(key.0) else {
            return;
        };
        let (rank, seat) = (lane.rank, lane.account.seat);
        if !lane.is_empty() {
            self.tiers.get_mut(rank).put_back(key, seat);
        } else if seat.seq().is_some() {
            hall.rest(key, self.tiers.get(rank).idle(now));
        }
    }

    /// A lane is forgotten.
    pub(super) fn close(&mut self, lane: &Lane) {
        self.tiers.get_mut(lane.rank).known -= lane.account.weight;
    }

    /// A job of this price is about to go.
    pub(super) fn learn(&mut self, price: i64) {
        let waiting = self.tiers.all().into_iter().filter(|tier| tier.waiting > 0).count();
        self.memory.draws = self.memory.draws.saturating_add(u64::from(waiting > 1));
        self.memory.mean_cost.learn(Tokens::new(price.unsigned_abs()));
    }

    /// How the priorities share, as things are.
    pub(super) fn shares(&self, order: &Ordering, tariff: &Tariff) -> Shares {
        let lead = |priority| match order.policy {
            Policy::Weights => 0,
            Policy::Bounded | Policy::Draw { .. } => {
                tariff.inflow(*order.lead.get(priority)).unsigned_abs()
            }
        };
        Shares {
            weights: order.weights,
            lead: PerPriority::by(lead),
            waiting: PerPriority::by(|priority| self.tiers.get(priority).waiting > 0),
        }
    }

    /// What a large job's tenant has of what flows in: its part of its rank,
    /// and the rank's among those that wait.
    pub(super) fn share(&self, rank: Priority, weight: u64, shares: &Shares) -> (u64, u64) {
        let of_rank = |rank: Priority| (*shares.weights.get(rank)).max(1);
        let waits = |other: &Priority| *other == rank || *shares.waiting.get(*other);
        let all = Priority::ALL.into_iter().filter(waits).map(of_rank);
        let busy = self.tiers.get(rank).busy.max(weight);
        let part = weight.saturating_mul(of_rank(rank));
        (part, busy.saturating_mul(all.fold(0, u64::saturating_add)))
    }

    /// How many jobs wait in lanes.
    pub(super) fn waiting(&self) -> usize {
        self.tiers.all().into_iter().map(|tier| tier.waiting).sum()
    }

    /// Nothing is known here that a new class would not have.
    pub(super) fn is_blank(&self) -> bool {
        self.parking.is_empty() && self.tiers.all().into_iter().all(|tier| tier.known == 0)
    }

    /// A job has left a lane.
    fn left(&mut self, hall: &mut Hall, key: LaneKey, now: Timestamp) {
        let Some(lane) = hall.lanes.get_mut(key.0) else {
            return;
        };
        let rank = lane.rank;
        let tier = self.tiers.get_mut(rank);
        tier.waiting -= 1;
        if lane.is_empty() {
            tier.busy -= lane.account.weight;
            hall.rest(key, tier.idle(now));
        }
        if tier.waiting == 0 {
            self.memory.floors.clear(rank);
        }
        hall.touch(key);
    }

    pub(super) fn assert_sound(&self, hall: &Hall, class: ClassKey) {
        for rank in Priority::ALL {
            let tier = self.tiers.get(rank);
            let lanes = || {
                let lanes = hall.lanes.iter().map(|(_, lane)| lane);
                lanes.filter(|lane| lane.class == class && lane.rank == rank)
            };
            lanes().for_each(Lane::assert_sound);
            let busy = lanes().filter(|lane| !lane.is_empty());
            assert_eq!(tier.waiting, lanes().map(Lane::len).sum::<usize>(), "{rank} miscounted");
            assert_eq!(tier.known, lanes().map(|lane| lane.account.weight).sum::<u64>());
            assert_eq!(tier.busy, busy.map(|lane| lane.account.weight).sum::<u64>());
            let in_line = tier.line(hall).count();
            assert_eq!(in_line, lanes().filter(|lane| !lane.is_empty()).count(), "not in line");
        }
    }
}
