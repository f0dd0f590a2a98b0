//! Who goes next: in a class, and between them.
use super::{Entry, Lease, Model, Place, gate::Gate, order::Seat};
use claude_pipeline::{domain::*, scheduler::*};

pub(super) struct Next {
    job: usize,
    rank: Priority,
    /// `None` for a parked job.
    lane: Option<usize>,
}

impl Model {
    pub(super) fn next(&mut self) -> Option<Next> {
        let paused = self.pause.as_ref().is_some_and(|pause| !pause.over(self.now));
        let classes = 0..self.classes.len();
        let mut ready: Vec<_> = classes.filter_map(|class| self.evaluate(class)).collect();
        if !self.slot_free() || paused {
            return None;
        }
        ready.retain(|next| self.may_go(self.jobs[next.job].class));
        let waits = Priority::ALL.map(|rank| ready.iter().any(|next| next.rank == rank));
        for rank in Priority::ALL {
            if !waits[rank as usize] {
                self.floors.nobody_waits(rank);
            }
        }
        let lead = match self.config.order.policy {
            Policy::Weights => [0; 3],
            Policy::Bounded | Policy::Draw { .. } => [60_000, 20_000, 0],
        };
        let ranks = self.floors.ranks(lead, waits);
        let rank = ranks.into_iter().find(|rank| waits[*rank as usize])?;
        if ready.iter().any(|next| next.rank < rank) {
            self.note("over its lead between classes");
        }
        let next = ready.into_iter().filter(|next| next.rank == rank).min_by_key(|next| {
            let class = &self.classes[self.jobs[next.job].class];
            (class.served, self.jobs[next.job].order)
        })?;
        self.floors.released(rank, 1_000, &self.config.order.weights, waits);
        Some(next)
    }

    pub(super) fn slot_free(&self) -> bool {
        let running = self.jobs.iter().filter(|job| job.lease().is_some()).count();
        running < self.config.slots as usize
    }

    pub(super) fn running(&self, class: usize) -> usize {
        let here = self.jobs.iter().filter(|job| job.class == class);
        here.filter(|job| job.lease().is_some()).count()
    }

    pub(super) fn may_go(&self, class: usize) -> bool {
        self.classes[class].gate.is_open(self.now, self.running(class))
    }

    fn evaluate(&mut self, class: usize) -> Option<Next> {
        if let Some((job, rank)) = self.saved_goes(class) {
            return Some(Next { job, rank, lane: None });
        }
        let waits = self.waits(class);
        let ranks = self.ranks(class, waits);
        for (place, rank) in ranks.into_iter().enumerate() {
            let [fresh, other] = self.keep(class, rank, &ranks[place..], waits);
            if let Some(job) = self.first_parked(class, rank)
                && self.fits(job, other, self.hold(job))
            {
                return Some(Next { job, rank, lane: None });
            }
            let Some(lane) = self.elect(class, rank) else {
                continue;
            };
            let job = self.head(class, lane)?;
            let seat = self.classes[class].lanes[lane].seat;
            let keep = match (self.classes[class].gate, seat) {
                (Gate::Closed { .. }, _) => 0,
                (_, Seat::Fresh { .. }) => fresh,
                (_, Seat::Round { .. } | Seat::Idle { .. }) => other,
            };
            if self.fits(job, keep, self.hold(job)) {
                return Some(Next { job, rank, lane: Some(lane) });
            }
            let oversized = self.classes[class].oversized(&self.config, self.price(job));
            if !oversized || self.parking_is_full(class) {
                return None;
            }
            self.park(job, rank);
            return self.evaluate(class);
        }
        None
    }

    fn ranks(&self, class: usize, waits: [bool; 3]) -> [Priority; 3] {
        let known = &self.classes[class];
        let Policy::Draw { critical_percent } = self.config.order.policy else {
            return known.floors.ranks(self.lead(class), waits);
        };
        let mut ranks = Priority::ALL;
        if waits.into_iter().filter(|waits| *waits).count() >= 2 {
            let number = split_mix(known.draws);
            let PerPriority { standard, batch, .. } = self.config.order.weights;
            let by_weight = (number / 100) % (standard + batch).max(1) < standard;
            let first = match waits {
                [true, ..] if number % 100 < u64::from(critical_percent) => Priority::Critical,
                [_, true, batch] if by_weight || !batch => Priority::Standard,
                [..] => Priority::Batch,
            };
            ranks.sort_by_key(|rank| (*rank != first, *rank));
        }
        ranks
    }

    /// The share of each bucket that a job of this rank leaves to others, in
    /// percent: if its lane is fresh, and if not.
    fn keep(
        &mut self,
        class: usize,
        rank: Priority,
        later: &[Priority],
        waits: [bool; 3],
    ) -> [u32; 2] {
        let draws = matches!(self.config.order.policy, Policy::Draw { .. });
        let mut later = later.iter();
        if !draws && later.any(|high| *high < rank && waits[*high as usize]) {
            self.note("over its lead");
            return [0, 0];
        }
        let floors = &self.classes[class].floors;
        let lead = self.lead(class);
        let above = Priority::ALL.into_iter().filter(|high| *high < rank);
        let above = above.filter(|high| draws || !floors.led(*high, rank, lead));
        let headroom = above.map(|_| self.config.order.headroom_percent).sum::<u32>();
        [headroom, headroom + self.config.order.fresh_percent]
    }

    fn lead(&self, class: usize) -> [i128; 3] {
        let minute = self.classes[class].minute();
        Priority::ALL.map(|rank| match self.config.order.policy {
            Policy::Weights => 0,
            Policy::Bounded | Policy::Draw { .. } => {
                minute * i128::from(self.config.order.lead.get(rank).as_millis()) / 60_000
            }
        })
    }

    pub(super) fn fits(&self, job: usize, keep: u32, hold: [i128; 3]) -> bool {
        let buckets = &self.classes[self.jobs[job].class].buckets;
        let mut needs = buckets.iter().zip(self.need(job)).zip(hold);
        needs.all(|((bucket, need), hold)| bucket.fits(need, keep, hold))
    }

    pub(super) fn release(&mut self, next: &Next) {
        let (at, rank, class) = (next.job, next.rank, self.jobs[next.job].class);
        let price = match self.jobs[at].place {
            Place::Parked { paid, .. } => paid,
            Place::Waiting(_) | Place::Delayed { .. } | Place::Leased(_) => self.price(at),
        };
        let drawn = self.waits(class).into_iter().filter(|waits| *waits).count() >= 2;
        if drawn && matches!(self.config.order.policy, Policy::Draw { .. }) {
            self.classes[class].draws += 1;
            self.note("draw");
        }
        self.classes[class].learn(price);
        let lane = next.lane.unwrap_or_else(|| self.lane_for(at, rank));
        self.lease(at, rank, price);
        if next.lane.is_some() {
            self.serve(class, lane, price);
        } else {
            let now = self.now;
            self.classes[class].lanes[lane].spent.push((now, price));
            self.classes[class].saved_until = now;
            self.note("parked release");
        }
        self.earn(class, rank, price);
        let waits = self.waits(class);
        self.classes[class].floors.released(rank, price, &self.config.order.weights, waits);
        self.look_who_waits(class);
        self.classes[class].served = Some(self.ledger.len());
    }

    /// The right to run, and what it takes.
    fn lease(&mut self, at: usize, rank: Priority, price: i128) {
        let need = self.need(at);
        let job = &mut self.jobs[at];
        let (class, submission) = (&mut self.classes[job.class], &mut job.submission);
        submission.lease += 1;
        let mut held = [(0, 0); 3];
        for ((held, bucket), need) in held.iter_mut().zip(&mut class.buckets).zip(need) {
            *held = bucket.take(need);
        }
        class.gate.release(submission.job);
        if let Some(pause) = &mut self.pause {
            pause.probe = Some(submission.job);
        }
        let lasts = self.config.lease(submission.priority);
        self.effects.push(Effect::Release(Release {
            job: submission.job,
            lease: submission.lease,
            attempt: submission.attempts + 1,
            until: Timestamp::from_millis(self.wall) + lasts,
            queue: submission.priority.queue(),
        }));
        let (since, entry) = (self.now, self.ledger.len());
        let until = since + lasts.as_millis();
        job.place =
            Place::Leased(Lease { since, until, rank, price, held, entry, canceled: false });
        let reserved = held.map(|(amount, _)| amount);
        self.ledger.push(Entry {
            at: since,
            class: submission.class.clone(),
            tenant: submission.tenant.clone(),
            rank,
            price,
            reserved,
            charged: reserved,
        });
    }
}

/// What `SplitMix64` draws in this state.
const fn split_mix(state: u64) -> u64 {
    let number = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
