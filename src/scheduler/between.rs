//! What other priorities are served before a job of one.
use super::{
    PerPriority,
    floors::{Floors, Place, Shares},
    ratio::part,
    tariff::whole,
};
use crate::domain::Priority;

/// What waits now, by rank, and what comes to it meanwhile.
pub(super) struct Outlook {
    pub(super) floors: Floors,
    pub(super) shares: Shares,
    /// In cost. Of the rank that is looked at: up to the job itself.
    pub(super) left: PerPriority<u64>,
    /// What comes and goes before, in cost, while so much is served.
    pub(super) comes: PerPriority<u64>,
    pub(super) of: u64,
}

/// What will have been served, in cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    /// Of what waits now.
    pub(super) known: PerPriority<u64>,
    /// Of what is only expected to come.
    pub(super) later: u64,
    /// The last turn was owed: more urgent ones had had more than their share.
    pub(super) owed: bool,
}

/// What has come, and is let in by steps.
struct Coming {
    outside: PerPriority<u64>,
    step: u64,
    /// How much more is believed in.
    most: u64,
}

impl Outlook {
    /// Lets the priorities have their turns, some cost at a time, until one of
    /// them has got what it waits for.
    pub(super) fn play(mut self, rank: Priority) -> Served {
        let (waiting, all) = (self.left, sum(&self.left));
        let (step, most) = ((all / STEPS).max(1), all.saturating_mul(MOST_LATER));
        let mut coming = Coming { outside: PerPriority::default(), step, most };
        let (mut gone, mut owed) = (PerPriority::<u64>::default(), false);
        for _ in 0..MOST_STEPS {
            if *self.left.get(rank) == 0 {
                break;
            }
            let (Place { priority: first, owed: late }, cost) = self.serve(step);
            owed = if first == rank { late } else { owed };
            *gone.get_mut(first) = gone.get(first).saturating_add(cost);
            self.arrive(cost, &mut coming);
        }
        let known = PerPriority::by(|rank| *gone.get(rank).min(waiting.get(rank)));
        Served { known, later: sum(&gone).saturating_sub(sum(&known)), owed }
    }

    fn serve(&mut self, step: u64) -> (Place, u64) {
        let left = self.left;
        self.shares.waiting = PerPriority::by(|rank| *left.get(rank) > 0);
        let places = self.floors.places(&self.shares);
        let waits = |place: &Place| *left.get(place.priority) > 0;
        let [place, ..] = places;
        let place = places.into_iter().find(waits).unwrap_or(place);
        let first = place.priority;
        let cost = step.min(*left.get(first));
        self.floors.serve(first, whole(cost), &self.shares);
        let left = self.left.get_mut(first);
        *left = left.saturating_sub(cost);
        if *left == 0 {
            self.floors.clear(first);
        }
        (place, cost)
    }

    fn arrive(&mut self, cost: u64, coming: &mut Coming) {
        for rank in Priority::ALL {
            let outside = coming.outside.get_mut(rank);
            *outside = outside.saturating_add(part(cost, *self.comes.get(rank), self.of));
            if *outside >= coming.step && *outside <= coming.most {
                let left = self.left.get_mut(rank);
                *left = left.saturating_add(*outside);
                coming.most = coming.most.saturating_sub(*outside);
                *outside = 0;
            }
        }
    }
}

fn sum(of: &PerPriority<u64>) -> u64 {
    of.all().into_iter().fold(0, |sum, more| sum.saturating_add(*more))
}

/// So many turns show well enough how the priorities share.
const STEPS: u64 = 64;
/// What comes counts as much as so many times all that is known: it makes no
/// wait more than four times as long.
const MOST_LATER: u64 = 3;
/// With what comes, and a rest of each.
const MOST_STEPS: u64 = (2 + MOST_LATER) * STEPS;
