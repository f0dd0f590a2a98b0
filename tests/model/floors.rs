//! How far each rank has run ahead of each one below it.
use claude_pipeline::{domain::*, scheduler::*};

#[derive(Default)]
pub(super) struct Floors {
    /// Of the first rank, to the second.
    ahead: [[i128; 3]; 3],
}

impl Floors {
    pub(super) fn nobody_waits(&mut self, low: Priority) {
        self.ahead.iter_mut().for_each(|row| row[low as usize] = 0);
    }

    /// A job of this rank went; behind it wait those.
    pub(super) fn released(
        &mut self,
        rank: Priority,
        cost: i128,
        weights: &PerPriority<u64>,
        waits: [bool; 3],
    ) {
        let weight = |rank| i128::from(*weights.get(rank)).max(1);
        for low in Priority::ALL {
            if low > rank && waits[low as usize] {
                self.ahead[rank as usize][low as usize] += cost;
            }
        }
        for high in Priority::ALL {
            if high < rank {
                let ahead = &mut self.ahead[high as usize][rank as usize];
                *ahead = (*ahead).max(0) - cost * weight(high) / weight(rank);
            }
        }
    }

    pub(super) const fn led(&self, high: Priority, low: Priority, lead: [i128; 3]) -> bool {
        self.ahead[high as usize][low as usize] > lead[high as usize]
    }

    pub(super) fn over(&self, rank: Priority, lead: [i128; 3], waits: [bool; 3]) -> bool {
        let mut below = Priority::ALL.into_iter().filter(|low| *low > rank);
        waits[rank as usize] && below.any(|low| waits[low as usize] && self.led(rank, low, lead))
    }

    /// Those that are not over first.
    pub(super) fn ranks(&self, lead: [i128; 3], waits: [bool; 3]) -> [Priority; 3] {
        let mut ranks = Priority::ALL;
        ranks.sort_by_key(|rank| (self.over(*rank, lead, waits), *rank));
        ranks
    }
}
