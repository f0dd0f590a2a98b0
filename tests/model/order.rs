//! The lanes of a class, and whose turn it is in a tier of them.
use super::{
    Model, Place,
    class::{Class, ceil},
};
use claude_pipeline::domain::*;

/// The jobs of one tenant with one rank.
pub(super) struct Lane {
    pub(super) rank: Priority,
    pub(super) tenant: TenantId,
    pub(super) weight: i128,
    pub(super) credit: i128,
    pub(super) seat: Seat,
    /// When which price was paid.
    pub(super) spent: Vec<(u64, i128)>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Seat {
    /// Since then, when its tier had earned so much.
    Idle {
        since: u64,
        mark: i128,
    },
    Fresh {
        seq: u64,
    },
    Round {
        round: i128,
        seq: u64,
        due: i128,
    },
}

impl Model {
    /// Puts a job that is nowhere into its lane.
    pub(super) fn put_in(&mut self, at: usize) {
        let submission = &self.jobs[at].submission;
        let demoted = self.demoted(&submission.tenant);
        let rank = if demoted { Priority::Batch } else { submission.priority };
        let (class, weight) = (self.jobs[at].class, self.weight(at));
        if self.classes[class].mean_cost.is_none() {
            let price = self.price(at);
            self.classes[class].learn(price);
        }
        let lane = self.lane_for(at, rank);
        self.jobs[at].place = Place::Waiting(rank);
        self.classes[class].lanes[lane].weight = weight;
        if let Seat::Idle { mark, .. } = self.classes[class].lanes[lane].seat {
            let known = &mut self.classes[class];
            let share = (known.earned[rank as usize] - mark) / 1_024 * weight;
            let cap = known.cap(&self.config);
            let credit = &mut known.lanes[lane].credit;
            *credit = cap.min(*credit + share).max(*credit);
            self.enter(class, lane);
        }
        self.look_who_waits(class);
    }

    /// A job of this lane has gone elsewhere.
    pub(super) fn left(&mut self, class: usize, rank: Priority, tenant: &TenantId) {
        if let Some(lane) = self.find_lane(class, rank, tenant)
            && self.head(class, lane).is_none()
        {
            self.empties(class, lane);
        }
        self.look_who_waits(class);
    }

    fn empties(&mut self, class: usize, lane: usize) {
        let now = self.now;
        let known = &mut self.classes[class];
        let lane = &mut known.lanes[lane];
        if matches!(lane.seat, Seat::Round { .. }) {
            lane.credit = lane.credit.min(0);
        }
        lane.seat = Seat::Idle { since: now, mark: known.earned[lane.rank as usize] };
    }

    fn enter(&mut self, class: usize, lane: usize) {
        let rank = self.classes[class].lanes[lane].rank;
        if self.affords(class, lane) {
            let seq = self.next_seq(class);
            self.classes[class].lanes[lane].seat = Seat::Fresh { seq };
        } else {
            self.queue_up(class, lane, self.classes[class].rounds[rank as usize]);
        }
    }

    fn queue_up(&mut self, class: usize, lane: usize, from: i128) {
        let missing = self.fare(class, lane) - self.classes[class].lanes[lane].credit;
        let quantum = self.classes[class].quantum(&self.config);
        let turns = ceil(missing, quantum).max(1);
        let stride = 720_720 / self.classes[class].lanes[lane].weight;
        let seq = self.next_seq(class);
        let seat = Seat::Round { round: from + turns * stride, seq, due: turns * quantum };
        self.classes[class].lanes[lane].seat = seat;
    }

    /// The lane whose turn it is.
    pub(super) fn elect(&mut self, class: usize, rank: Priority) -> Option<usize> {
        loop {
            let lane = self.first_seated(class, rank)?;
            let known = &mut self.classes[class];
            if let Seat::Round { round, due, .. } = &mut known.lanes[lane].seat {
                let tier = &mut known.rounds[rank as usize];
                *tier = (*tier).max(*round);
                known.lanes[lane].credit += std::mem::take(due);
            }
            if self.affords(class, lane) {
                return Some(lane);
            }
            self.note("credit did not last");
            self.queue_up(class, lane, self.classes[class].rounds[rank as usize]);
        }
    }

    fn first_seated(&mut self, class: usize, rank: Priority) -> Option<usize> {
        let lanes = self.classes[class].lanes.iter().enumerate();
        let seated = lanes.filter(|(_, lane)| lane.rank == rank).filter_map(|(at, lane)| {
            let turn = match lane.seat {
                Seat::Idle { .. } => return None,
                Seat::Fresh { seq } => (false, 0, seq),
                Seat::Round { round, seq, .. } => (true, round, seq),
            };
            Some((turn, at))
        });
        let mut seated: Vec<_> = seated.collect();
        seated.sort_unstable();
        for (_, at) in seated {
            if !self.capped(&self.classes[class].lanes[at].tenant, rank) {
                return Some(at);
            }
            self.note("capped lane skipped");
        }
        None
    }

    /// A job of this lane has just gone, for this price.
    pub(super) fn serve(&mut self, class: usize, lane: usize, price: i128) {
        self.charge_lane(class, lane, price);
        let known = &self.classes[class];
        let seat = known.lanes[lane].seat;
        let round = known.rounds[known.lanes[lane].rank as usize];
        self.note(if matches!(seat, Seat::Fresh { .. }) {
            "fresh release"
        } else {
            "ring release"
        });
        if self.head(class, lane).is_none() {
            self.empties(class, lane);
        } else if self.affords(class, lane) {
            let seq = self.next_seq(class);
            self.classes[class].lanes[lane].seat = match seat {
                Seat::Fresh { .. } => Seat::Fresh { seq },
                Seat::Round { .. } | Seat::Idle { .. } => Seat::Round { round, seq, due: 0 },
            };
        } else {
            self.queue_up(class, lane, round);
        }
    }

    pub(super) fn charge_lane(&mut self, class: usize, lane: usize, price: i128) {
        let now = self.now;
        let lane = &mut self.classes[class].lanes[lane];
        lane.credit -= price;
        lane.spent.push((now, price));
    }

    fn affords(&self, class: usize, lane: usize) -> bool {
        self.classes[class].lanes[lane].credit >= self.fare(class, lane)
    }

    /// What the lane needs to have for its next job.
    fn fare(&self, class: usize, lane: usize) -> i128 {
        let price = self.head(class, lane).map_or(0, |head| self.price(head));
        let known = &self.classes[class];
        if known.oversized(&self.config, price) {
            price.min(known.quantum(&self.config))
        } else {
            price
        }
    }

    /// The lane's next job.
    pub(super) fn head(&self, class: usize, lane: usize) -> Option<usize> {
        let lane = &self.classes[class].lanes[lane];
        let here = |at: &usize| {
            let job = &self.jobs[*at];
            job.class == class
                && job.place == Place::Waiting(lane.rank)
                && job.submission.tenant == lane.tenant
        };
        (0..self.jobs.len()).filter(here).min_by_key(|at| self.jobs[*at].order)
    }

    pub(super) fn find_lane(
        &self,
        class: usize,
        rank: Priority,
        tenant: &TenantId,
    ) -> Option<usize> {
        let mut lanes = self.classes[class].lanes.iter();
        lanes.position(|lane| lane.rank == rank && lane.tenant == *tenant)
    }

    /// The lane of this rank for a job, with a turn's credit if it is a
    /// new one.
    pub(super) fn lane_for(&mut self, job: usize, rank: Priority) -> usize {
        let (class, weight) = (self.jobs[job].class, self.weight(job));
        let tenant = self.jobs[job].submission.tenant.clone();
        let known = &self.classes[class];
        let credit = known.cap(&self.config).min(known.quantum(&self.config));
        self.find_lane(class, rank, &tenant).unwrap_or_else(|| {
            let mark = self.classes[class].earned[rank as usize];
            let seat = Seat::Idle { since: self.now, mark };
            let lane = Lane { rank, tenant, weight, credit, seat, spent: Vec::new() };
            self.classes[class].lanes.push(lane);
            self.classes[class].lanes.len() - 1
        })
    }

    pub(super) fn forget_lanes(&mut self) {
        let now = self.now;
        let forgotten =
            |lane: &Lane| matches!(lane.seat, Seat::Idle { since, .. } if now - since >= 600_000);
        for (at, class) in self.classes.iter_mut().enumerate() {
            let before = class.lanes.len();
            class.lanes.retain(|lane| !forgotten(lane));
            let last = class.lanes.is_empty() && before > 0;
            let used = self.jobs.iter().any(|job| job.class == at);
            if last && !used && class.is_plain(&self.config) {
                *class = Class::new(class.name.clone(), &self.config, now);
            }
        }
    }

    /// A job of this tier has gone: the lanes that are known share in that.
    pub(super) fn earn(&mut self, class: usize, rank: Priority, price: i128) {
        let part = i128::from(*self.config.order.credit_percent.get(rank));
        let known = &mut self.classes[class];
        let lanes = known.lanes.iter().filter(|lane| lane.rank == rank);
        let weights = lanes.map(|lane| lane.weight).sum::<i128>().max(1);
        known.earned[rank as usize] += price * 1_024 / weights * part / 100;
    }

    fn next_seq(&mut self, class: usize) -> u64 {
        self.classes[class].seq += 1;
        self.classes[class].seq
    }

    /// Whether the tenant has all slots but one, with jobs no less urgent.
    pub(super) fn capped(&self, tenant: &TenantId, rank: Priority) -> bool {
        let theirs = self.jobs.iter().filter(|job| job.submission.tenant == *tenant);
        let leases = theirs.filter_map(|job| job.lease()).filter(|lease| lease.rank <= rank);
        self.config.slots >= 3 && leases.count() >= self.config.slots as usize - 1
    }

    /// Of which ranks jobs wait in lanes.
    pub(super) fn waits(&self, class: usize) -> [bool; 3] {
        Priority::ALL.map(|rank| {
            let place = Place::Waiting(rank);
            self.jobs.iter().any(|job| job.class == class && job.place == place)
        })
    }

    /// Nobody is ahead of a rank of which no job waits.
    pub(super) fn look_who_waits(&mut self, class: usize) {
        let waits = self.waits(class);
        for rank in Priority::ALL {
            if !waits[rank as usize] {
                self.classes[class].floors.nobody_waits(rank);
            }
        }
    }
}
