//! The lanes of one rank in one model class: deficit round robin, with those
//! that used less than their share before all others.
//!
//! At each of its turns a lane may use the same quantum; one of greater weight
//! has its turns in more of the rounds. Rounds are a calendar: a lane that
//! cannot afford its next job yet stands in the round in which it will, and
//! rounds in which nobody can are never looked at. So a step costs the same
//! whatever the number of tenants.
use super::{
    Config,
    arrivals::Arrivals,
    hall::Hall,
    keys::LaneKey,
    lane::Seat,
    tariff::{Tariff, whole},
};
use crate::domain::{Priority, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tier {
    fresh: VecDeque<Ticket>,
    rounds: BTreeMap<u64, VecDeque<Ticket>>,
    /// The round of now.
    pub(super) round: u64,
    /// What an idle lane has earned so far for each unit of weight, in parts of
    /// a token.
    pub(super) earned: u64,
    /// How many jobs wait.
    pub(super) waiting: usize,
    /// The weight of its lanes, idle or not.
    pub(super) known: u64,
    /// The weight of those with jobs.
    pub(super) busy: u64,
    /// The jobs that came lately.
    pub(super) came: Arrivals,
    /// Those of them that found none before them in their lane, each of another
    /// lane than the last one.
    pub(super) light: Arrivals,
    last_light: Option<LaneKey>,
    /// How many tickets were looked at, moved or made.
    pub(super) steps: u64,
}

/// A place in line. It is void once its lane has another seat.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Ticket {
    seq: u64,
    lane: LaneKey,
}

/// What an election goes by.
pub(super) struct Rules<'a> {
    pub(super) config: &'a Config,
    pub(super) tariff: &'a Tariff,
    pub(super) rank: Priority,
}

impl Tier {
    /// A job of this price comes. `idle` is its lane, if none waited there.
    pub(super) fn come(&mut self, price: i64, idle: Option<LaneKey>, now: Timestamp) {
        self.came.add(price, now);
        if idle.is_some() {
            if self.last_light != idle {
                self.light.add(price, now);
            }
            self.last_light = idle;
        }
    }

    /// A job of this price goes: idle lanes earn so many hundredths of their
    /// share of it.
    pub(super) fn serve(&mut self, price: i64, percent: u32) {
        let parts = price.max(0).unsigned_abs().saturating_mul(PARTS) / self.known.max(1);
        let earned = parts.saturating_mul(percent.into()) / 100;
        self.earned = self.earned.saturating_add(earned);
    }

    /// What was earned since then for each unit of weight, in tokens.
    pub(super) const fn earned_since(&self, mark: u64) -> i64 {
        whole(self.earned.saturating_sub(mark) / PARTS)
    }

    /// The seat of a lane that has no jobs from now on.
    pub(super) const fn idle(&self, since: Timestamp) -> Seat {
        Seat::Idle { since, mark: self.earned }
    }

    /// Seats a lane that has its first job.
    pub(super) fn enter(&mut self, hall: &mut Hall, lane: LaneKey, tariff: &Tariff) {
        let Some((credit, fare)) = funds(hall, lane, tariff) else {
            return;
        };
        if credit >= fare { self.refresh(hall, lane) } else { self.queue_up(hall, lane, tariff) }
    }

    /// Seats a lane again that has just been served.
    pub(super) fn enter_again(&mut self, hall: &mut Hall, lane: LaneKey, tariff: &Tariff) {
        let Some((credit, fare)) = funds(hall, lane, tariff) else {
            return;
        };
        let seat = hall.lanes.get(lane.0).map(|lane| lane.account.seat);
        match seat {
            Some(Seat::Fresh { .. }) if credit >= fare => self.refresh(hall, lane),
            Some(Seat::Round { .. }) if credit >= fare => self.stand(hall, lane, self.round, 0),
            _ => self.queue_up(hall, lane, tariff),
        }
    }

    /// The lane whose turn it is, of those that are not capped.
    pub(super) fn elect(&mut self, hall: &mut Hall, rules: &Rules<'_>) -> Option<LaneKey> {
        loop {
            let lane = match self.first_fresh(hall, rules) {
                Some(lane) => lane,
                None => self.first_in_round(hall, rules)?,
            };
            let (credit, fare) = funds(hall, lane, rules.tariff)?;
            if credit >= fare {
                return Some(lane);
            }
            self.queue_up(hall, lane, rules.tariff);
        }
    }

    /// Puts a lane back to where it was stored. To be followed by [`Tier::sort`].
    pub(super) fn put_back(&mut self, lane: LaneKey, seat: Seat) {
        match seat {
            Seat::Idle { .. } => {}
            Seat::Fresh { seq } => self.fresh.push_back(Ticket { seq, lane }),
            Seat::Round { round, seq, .. } => {
                self.rounds.entry(round).or_default().push_back(Ticket { seq, lane });
            }
        }
    }

    pub(super) fn sort(&mut self) {
        self.fresh.make_contiguous().sort_unstable();
        for round in self.rounds.values_mut() {
            round.make_contiguous().sort_unstable();
        }
    }

    /// The lanes that wait, in the order of their turns.
    pub(super) fn line<'a>(&'a self, hall: &'a Hall) -> impl Iterator<Item = LaneKey> + 'a {
        let rounds = self.rounds.values().flatten();
        self.fresh.iter().chain(rounds).filter(|it| it.is_valid(hall)).map(|it| it.lane)
    }

    fn first_fresh(&mut self, hall: &Hall, rules: &Rules<'_>) -> Option<LaneKey> {
        let (steps, first) = first(&mut self.fresh, hall, rules);
        self.steps += steps;
        first
    }

    /// The round of the first lane in line is the round of now, and brings it
    /// what is due.
    fn first_in_round(&mut self, hall: &mut Hall, rules: &Rules<'_>) -> Option<LaneKey> {
        let mut over = Vec::new();
        let mut found = None;
        for (round, line) in &mut self.rounds {
            let (steps, lane) = first(line, hall, rules);
            self.steps += steps;
            if line.is_empty() {
                over.push(*round);
            }
            if let Some(lane) = lane {
                found = Some((*round, lane));
                break;
            }
        }
        for round in over {
            self.rounds.remove(&round);
        }
        let (round, lane) = found?;
        self.round = self.round.max(round);
        pay_out(hall, lane);
        Some(lane)
    }

    fn refresh(&mut self, hall: &mut Hall, lane: LaneKey) {
        let seq = hall.next_seq();
        self.fresh.push_back(Ticket { seq, lane });
        self.steps += 1;
        hall.seat(lane, Seat::Fresh { seq });
    }

    /// Sends a lane to the round in which it can afford its first job.
    fn queue_up(&mut self, hall: &mut Hall, key: LaneKey, tariff: &Tariff) {
        let Some(lane) = hall.lanes.get(key.0) else {
            return;
        };
        let turns = lane.account.turns_to(lane.fare(tariff).unwrap_or(0), tariff);
        let due = tariff.quantum.saturating_mul(whole(turns));
        let rounds = turns.saturating_mul(Tariff::stride(lane.account.weight));
        self.stand(hall, key, self.round.saturating_add(rounds), due);
    }

    fn stand(&mut self, hall: &mut Hall, lane: LaneKey, round: u64, due: i64) {
        let seq = hall.next_seq();
        self.rounds.entry(round).or_default().push_back(Ticket { seq, lane });
        self.steps += 1;
        hall.seat(lane, Seat::Round { round, seq, due });
    }
}

impl Ticket {
    fn is_valid(self, hall: &Hall) -> bool {
        hall.lanes.get(self.lane.0).and_then(|lane| lane.account.seat.seq()) == Some(self.seq)
    }
}

/// The first lane in line that is not capped. Void tickets on the way are
/// thrown away. At most one tenant is capped while a slot is free, so that no
/// more than one lane is passed over.
fn first(line: &mut VecDeque<Ticket>, hall: &Hall, rules: &Rules<'_>) -> (u64, Option<LaneKey>) {
    let mut steps = 0;
    let mut at = 0;
    while let Some(ticket) = line.get(at).copied() {
        steps += 1;
        if !ticket.is_valid(hall) {
            line.remove(at);
        } else if is_capped(ticket.lane, hall, rules) {
            at += 1;
        } else {
            return (steps, Some(ticket.lane));
        }
    }
    (steps, None)
}

fn is_capped(lane: LaneKey, hall: &Hall, rules: &Rules<'_>) -> bool {
    let tenant = hall.lanes.get(lane.0).map(|lane| lane.tenant);
    tenant.is_some_and(|tenant| hall.is_capped(tenant, rules.rank, rules.config))
}

/// Of a token.
const PARTS: u64 = 1_024;

fn funds(hall: &Hall, lane: LaneKey, tariff: &Tariff) -> Option<(i64, i64)> {
    let lane = hall.lanes.get(lane.0)?;
    Some((lane.account.credit, lane.fare(tariff)?))
}

fn pay_out(hall: &mut Hall, key: LaneKey) {
    if let Some(lane) = hall.lanes.get_mut(key.0)
        && let Seat::Round { due, .. } = &mut lane.account.seat
        && *due > 0
    {
        lane.account.credit = lane.account.credit.saturating_add(*due);
        *due = 0;
        hall.touch(key);
    }
}
