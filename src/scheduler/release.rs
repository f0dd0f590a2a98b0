//! How a job goes: its turn has come, its tokens are there, a slot is free.
use super::{
    Effect, Release, Scheduler, Wake,
    ballot::{Ballot, Candidate, From, Next},
    class::Standing,
    classes::RELEASE,
    job::{Lease, Place},
    keys::{ClassKey, LaneKey, TenantKey},
    order::Context,
    parked::Parked,
};
use crate::domain::{JobId, Priority, Span, Timestamp};

impl Scheduler {
    /// Lets time pass: demotions and delays end, gates open, leases end and are
    /// asked for. Calling early or twice does nothing.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let now = self.look(now);
        self.lift(now);
        while let Some(id) = self.due_delay(now) {
            self.wait(id);
        }
        self.classes.advance(now);
        while let Some(id) = self.due_lease(now) {
            self.ask(id, now);
        }
    }

    /// Releases all jobs that may go now, as effects.
    pub fn dispatch(&mut self, now: Timestamp) {
        self.handle_timeout(now);
        self.classes.doubt_ready(self.clock.now());
        loop {
            while let Some(class) = self.classes.next_stale() {
                self.stand(class);
            }
            if !self.may_release() || !self.release_next() {
                return;
            }
        }
    }

    /// The next moment at which something can happen, and what: `None` when
    /// only a submission or a settlement can change anything.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Timestamp, Wake)> {
        let lease = self.leases.first().map(|(at, _)| (*at, Wake::LeaseEnd));
        let (at, wake) = lease.into_iter().chain(self.next_turn()).min()?;
        Some((self.clock.on_the_wall(at), wake))
    }

    /// When the next job may go, as far as time decides it.
    fn next_turn(&self) -> Option<(Timestamp, Wake)> {
        if !self.slot_free() {
            return None;
        }
        let opens = (self.account.opens_at()?, Wake::PauseEnds);
        let ready = self.classes.any_ready() || self.classes.any_stale();
        let ready = Some((self.clock.now(), Wake::Turn)).filter(|_| ready);
        let delay = self.delays.first().map(|(at, _)| (*at, Wake::DelayEnd));
        let waits = self.jobs.len() > self.leases.len() + self.delays.len();
        let lifted = self.demotions.first().map(|(at, _)| (*at, Wake::DemotionEnds));
        let lifted = lifted.filter(|_| waits);
        let first = ready
            .into_iter()
            .chain(self.classes.next_blocked())
            .chain(delay)
            .chain(lifted)
            .min()?;
        Some(if opens.0 > first.0 { opens } else { first })
    }

    fn may_release(&self) -> bool {
        let open = self.account.opens_at();
        self.slot_free() && open.is_some_and(|opens| opens <= self.clock.now())
    }

    pub(super) fn slot_free(&self) -> bool {
        self.leases.len() < usize::try_from(self.config.slots).unwrap_or(usize::MAX)
    }

    /// Finds out when the next job of a class may go.
    fn stand(&mut self, key: ClassKey) {
        let now = self.clock.now();
        let Some(next) = self.elect(key) else {
            return;
        };
        let Some(class) = self.classes.get(key) else {
            return;
        };
        let standing = match (next, class.opens_at()) {
            (Next::Go(candidate), Some(opens)) if opens <= now => Standing::Ready(candidate),
            (Next::Go(_), Some(until)) => Standing::Blocked { until, wake: Wake::GateOpens },
            (Next::Wait(until), Some(opens)) => {
                let (until, wake) = (opens, Wake::GateOpens).max((until, Wake::Tokens));
                Standing::Blocked { until, wake }
            }
            (Next::Go(_) | Next::Wait(_), None) | (Next::Nobody | Next::Park(_), _) => {
                Standing::Quiet
            }
        };
        self.classes.stand(key, standing, now);
    }

    /// Holds elections until one has a winner. What is too large to wait in
    /// line is parked on the way.
    fn elect(&mut self, key: ClassKey) -> Option<Next> {
        loop {
            let class = self.classes.get_mut(key)?;
            let tariff = class.tariff(&self.config);
            let ballot = Ballot {
                order: &mut class.order,
                hall: &mut self.hall,
                budget: &class.known.budget,
                tariff: &tariff,
                config: &self.config,
                probing: class.known.gate.is_closed(),
                now: self.clock.now(),
            };
            match ballot.hold() {
                Next::Park(lane) => self.park(key, lane)?,
                next @ (Next::Go(_) | Next::Wait(_) | Next::Nobody) => return Some(next),
            }
        }
    }

    fn park(&mut self, class: ClassKey, key: LaneKey) -> Option<()> {
        let since = self.clock.now();
        let lane = self.hall.lanes.get(key.0)?;
        let (head, rank, tenant) = (lane.head()?, lane.rank, lane.tenant);
        let weight = self.config.weight(&self.jobs.get(&head.job)?.submission);
        let class = self.classes.get_mut(class)?;
        let paid = class.tariff(&self.config).price(head.estimate);
        let account = self.hall.account_mut(key)?;
        account.credit = account.credit.saturating_sub(paid);
        let (job, order, estimate) = (head.job, head.order, head.estimate);
        class.order.take(&mut self.hall, key, (order, job), since);
        let parked = Parked { rank, since, job, order, tenant, weight, estimate, paid };
        class.order.parking.insert(parked);
        self.jobs.get_mut(&job)?.place = Place::Parked { rank, since, paid };
        self.changed.insert(job);
        Some(())
    }

    fn release_next(&mut self) -> bool {
        let Some((class, shares)) = self.classes.pick(&self.config) else {
            return false;
        };
        let standing = self.classes.get(class).map(|class| class.standing);
        let Some(Standing::Ready(candidate)) = standing else {
            return false;
        };
        self.classes.floors.serve(candidate.rank, RELEASE, &shares);
        self.classes.serve(class);
        self.take_turn(class, candidate);
        self.lease(class, candidate).is_some()
    }

    /// The candidate leaves its place, and is paid for.
    fn take_turn(&mut self, key: ClassKey, candidate: Candidate) {
        let (config, now) = (&self.config, self.clock.now());
        let Candidate { rank, job, price, from, .. } = candidate;
        let Some(class) = self.classes.get_mut(key) else {
            return;
        };
        class.order.learn(price);
        let tariff = class.tariff(config);
        let context = Context { config, tariff: &tariff, now };
        match from {
            From::Lane(lane) => class.order.serve(&mut self.hall, lane, price, context),
            From::Parked { since } => {
                class.order.parking.remove(rank, since, job);
                if let Some(known) = self.jobs.get(&job) {
                    let weight = config.weight(&known.submission);
                    let lane = (known.tenant, key, rank);
                    class.order.unpark(&mut self.hall, lane, (weight, price), context);
                }
            }
        }
        class.order.tiers.get_mut(rank).serve(price, *config.order.credit_percent.get(rank));
        let shares = class.order.shares(&config.order, &tariff);
        class.order.memory.floors.serve(rank, price, &shares);
        if !shares.waiting.get(rank) {
            class.order.memory.floors.clear(rank);
        }
    }

    fn lease(&mut self, key: ClassKey, candidate: Candidate) -> Option<()> {
        let now = self.clock.now();
        let Candidate { rank, job: id, need, price, .. } = candidate;
        let job = self.jobs.get_mut(&id)?;
        let submission = &mut job.submission;
        submission.lease = submission.lease.saturating_add(1);
        let until = now + self.config.lease(submission.priority);
        self.effects.push_back(Effect::Release(Release {
            job: id,
            lease: submission.lease,
            attempt: submission.attempts.saturating_add(1),
            until: self.clock.on_the_wall(until),
            queue: submission.priority.queue(),
        }));
        let held = self.classes.get_mut(key)?.release(id, need, now);
        self.account.release(id);
        self.leases.insert((until, id));
        self.changed.insert(id);
        let lease = Lease { since: now, until, held, rank, price, canceled: false };
        job.place = Place::Leased(Box::new(lease));
        let tenant = job.tenant;
        self.hall.tenants.get_mut(tenant.0)?.begin(rank);
        self.touch_if_capped(tenant);
        Some(())
    }

    /// A tenant at its cap is passed over in all classes, and no more once it
    /// is below.
    pub(super) fn touch_if_capped(&mut self, tenant: TenantKey) {
        if self.hall.is_capped(tenant, Priority::Batch, &self.config) {
            self.classes.touch_all();
        }
    }

    /// Asks what became of a lease, and means to ask again.
    fn ask(&mut self, id: JobId, now: Timestamp) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let Place::Leased(lease) = &mut job.place {
            lease.until = now + self.config.ask_again.max(MOMENT);
            self.leases.insert((lease.until, id));
            self.changed.insert(id);
            self.effects.push_back(Effect::Reconcile { job: id, lease: job.submission.lease });
        }
    }

    fn due_delay(&mut self, now: Timestamp) -> Option<JobId> {
        let (_, id) = self.delays.first().copied().filter(|(at, _)| *at <= now)?;
        self.delays.pop_first();
        Some(id)
    }

    fn due_lease(&mut self, now: Timestamp) -> Option<JobId> {
        let (_, id) = self.leases.first().copied().filter(|(at, _)| *at <= now)?;
        self.leases.pop_first();
        Some(id)
    }
}

/// Asking again takes time, whatever the settings say.
const MOMENT: Span = Span::from_secs(1);
