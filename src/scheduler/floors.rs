//! Between priorities: the most urgent first, but not for ever.
//!
//! Each priority may get ahead of a lower one's share by its lead, and no
//! further: from then on both go by weight. Only what is served while a lower
//! one waits counts, so that a backlog begins without debts on either side.
use super::{PerPriority, ratio::part, tariff::whole};
use crate::domain::Priority;
use serde::{Deserialize, Serialize};

/// By how much each priority is ahead of each lower one, in its own cost:
/// critical of standard, critical of batch, standard of batch.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Floors([i64; 3]);

/// What the floors are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) weights: PerPriority<u64>,
    pub(super) lead: PerPriority<u64>,
    /// Which priorities have jobs waiting.
    pub(super) waiting: PerPriority<bool>,
}

/// A priority whose turn it may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) priority: Priority,
    /// A more urgent one waits, and had more than its share.
    pub(super) owed: bool,
}

impl Floors {
    /// The priorities in the order of their turns: those that are not too far
    /// ahead, then those that are, the most urgent first.
    pub(super) fn places(&self, shares: &Shares) -> [Place; 3] {
        let over = Priority::ALL.map(|priority| self.is_over(priority, shares));
        let [critical, standard, _] = over;
        let place = |priority, owed| Place { priority, owed };
        let (first, second, third) = (
            place(Priority::Critical, false),
            place(Priority::Standard, critical && !standard),
            place(Priority::Batch, critical || standard),
        );
        match (critical, standard) {
            (false, false) => [first, second, third],
            (false, true) => [first, third, second],
            (true, false) => [second, third, first],
            (true, true) => [third, first, second],
        }
    }

    /// Whether `high` has had more than its share and lead beside `low`.
    pub(super) fn exceeds(&self, high: Priority, low: Priority, shares: &Shares) -> bool {
        self.ahead(high, low) > whole(*shares.lead.get(high))
    }

    /// By how much `high` is ahead of the share of `low`, in its own cost.
    pub(super) fn ahead(&self, high: Priority, low: Priority) -> i64 {
        let Self(mut ahead) = *self;
        of(&mut ahead, high, low).map_or(0, |ahead| *ahead)
    }

    /// A job of this priority went.
    pub(super) fn serve(&mut self, priority: Priority, cost: i64, shares: &Shares) {
        for other in Priority::ALL {
            if other > priority && *shares.waiting.get(other) {
                if let Some(ahead) = of(&mut self.0, priority, other) {
                    *ahead = ahead.saturating_add(cost);
                }
            } else if let Some(ahead) = of(&mut self.0, other, priority) {
                let weight = |of| (*shares.weights.get(of)).max(1);
                let worth = part(cost.max(0).unsigned_abs(), weight(other), weight(priority));
                // Behind by one job at most: nobody saves up turns.
                *ahead = (*ahead).max(0).saturating_sub(whole(worth));
            }
        }
    }

    /// Nobody of this priority waits: nobody is ahead of it.
    pub(super) fn clear(&mut self, low: Priority) {
        for high in Priority::ALL {
            if let Some(ahead) = of(&mut self.0, high, low) {
                *ahead = 0;
            }
        }
    }

    fn is_over(&self, high: Priority, shares: &Shares) -> bool {
        let beside = |low: &Priority| *low > high && *shares.waiting.get(*low);
        let mut lower = Priority::ALL.into_iter().filter(beside);
        *shares.waiting.get(high) && lower.any(|low| self.exceeds(high, low, shares))
    }
}

fn of(ahead: &mut [i64; 3], high: Priority, low: Priority) -> Option<&mut i64> {
    let [critical_standard, critical_batch, standard_batch] = ahead;
    match (high, low) {
        (Priority::Critical, Priority::Standard) => Some(critical_standard),
        (Priority::Critical, Priority::Batch) => Some(critical_batch),
        (Priority::Standard, Priority::Batch) => Some(standard_batch),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Priority::{Batch, Critical, Standard};

    #[test]
    fn critical_goes_first_up_to_its_lead_and_then_by_weight() {
        let mut floors = Floors::default();
        let shares = shares(true);
        let mut served = Vec::new();
        for _ in 0..2_000 {
            let [Place { priority, .. }, ..] = floors.places(&shares);
            floors.serve(priority, JOB, &shares);
            served.push(priority);
        }
        let lead = served.iter().take_while(|priority| **priority == Critical).count();
        assert_eq!(lead, 61);
        let count = |of| served[200..].iter().filter(|priority| **priority == of).count();
        assert!((1_250..=1_270).contains(&count(Critical)), "70 %: {}", count(Critical));
        assert!((440..=460).contains(&count(Standard)), "25 %: {}", count(Standard));
        assert!((85..=95).contains(&count(Batch)), "5 %: {}", count(Batch));
    }

    #[test]
    fn without_a_lead_all_goes_by_weight() {
        let mut floors = Floors::default();
        let shares = Shares { lead: PerPriority::default(), ..shares(true) };
        let mut count = PerPriority::<u32>::default();
        for _ in 0..1_000 {
            let [Place { priority, .. }, ..] = floors.places(&shares);
            floors.serve(priority, JOB, &shares);
            *count.get_mut(priority) += 1;
        }
        assert_eq!(count, PerPriority { critical: 700, standard: 250, batch: 50 });
    }

    #[test]
    fn nobody_gets_ahead_of_those_who_do_not_wait() {
        let mut floors = Floors::default();
        (0..1_000).for_each(|_| floors.serve(Critical, JOB, &shares(false)));
        assert_eq!(floors, Floors::default());
    }

    #[test]
    fn an_owed_turn_is_known_as_such() {
        let mut floors = Floors::default();
        (0..61).for_each(|_| floors.serve(Critical, JOB, &shares(true)));
        let [first, ..] = floors.places(&shares(true));
        assert_eq!(first, Place { priority: Standard, owed: true });
        floors.clear(Standard);
        floors.clear(Batch);
        let [first, ..] = floors.places(&shares(true));
        assert_eq!(first, Place { priority: Critical, owed: false });
    }

    const JOB: i64 = 1_000;

    fn shares(lower: bool) -> Shares {
        Shares {
            weights: PerPriority { critical: 70, standard: 25, batch: 5 },
            lead: PerPriority { critical: 60_000, standard: 20_000, batch: 0 },
            waiting: PerPriority { critical: true, standard: lower, batch: lower },
        }
    }
}
