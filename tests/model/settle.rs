//! How attempts end, in the model.
use super::{Job, Lease, Model, Place, class::Class, gate};
use claude_pipeline::{domain::*, scheduler::*};

/// What becomes of a job.
enum Fate {
    Ends,
    Returns,
    Waits { until: u64 },
}

/// A call that needs more than a whole minute's limit is in trouble of its own
/// when it is refused.
fn judged(settlement: &Settlement, lease: &Lease) -> Settlement {
    let mut judged = settlement.clone();
    let limits = settlement.limits.unwrap_or_default();
    let beyond = [(limits.input, lease.held[1].0), (limits.output, lease.held[2].0)]
        .into_iter()
        .any(|(level, need)| level.is_some_and(|it| it.limit > 0 && need > it.limit));
    if let (true, Outcome::Throttled { error, .. }) = (beyond, &settlement.outcome) {
        let error = error.clone();
        judged.outcome = Outcome::Transient { error, retry_after: None, begun: false };
    }
    judged
}

impl Model {
    pub(crate) fn settle(&mut self, settlement: &Settlement, chance: Entropy) {
        let Some(at) = self.find(settlement.job) else {
            return;
        };
        let Some(lease) = self.jobs[at].lease().cloned() else {
            return;
        };
        if self.jobs[at].submission.lease != settlement.lease {
            return;
        }
        let settlement = &judged(settlement, &lease);
        let outcome = &settlement.outcome;
        self.refund(at, &lease, outcome);
        self.charge(at, &lease, settlement);
        let probe = self.classes[self.jobs[at].class].gate.probed_by(settlement.job);
        self.gate_answers(at, outcome, chance);
        self.account_answers(settlement.job, outcome);
        let fate = self.judge(at, outcome, probe, chance);
        self.count(at, outcome);
        match fate {
            Fate::Ends => drop(self.jobs.remove(at)),
            Fate::Returns | Fate::Waits { .. } if lease.canceled => drop(self.jobs.remove(at)),
            Fate::Returns => self.put_in(at),
            Fate::Waits { until } => self.jobs[at].place = Place::Delayed { until },
        }
    }

    fn charge(&mut self, at: usize, lease: &Lease, settlement: &Settlement) {
        let used = used(lease, &settlement.outcome);
        for (charged, used) in self.ledger[lease.entry].charged.iter_mut().zip(used) {
            *charged = used.min(*charged);
        }
        let name = self.jobs[at].class;
        let alone = self.running(name) == 1;
        let age = self.now - lease.since;
        let class = &mut self.classes[name];
        for ((bucket, held), used) in class.buckets.iter_mut().zip(lease.held).zip(used) {
            bucket.settle(held, used);
        }
        let alone = alone && class.buckets[0].untouched_since(lease.held[0].1);
        if let Outcome::Completed { usage } = &settlement.outcome {
            let output = usage.output.get().min(1_000_000);
            class.mean = Some(match class.mean {
                None => output * 16,
                Some(mean) => mean * 15 / 16 + output,
            });
        }
        believe(class, settlement, age, alone.then_some(used[2]));
    }

    /// The lane gets back what was charged too much, and pays what was too
    /// little.
    fn refund(&mut self, at: usize, lease: &Lease, outcome: &Outcome) {
        let (class, tenant) = (self.jobs[at].class, &self.jobs[at].submission.tenant);
        let Some(lane) = self.find_lane(class, lease.rank, tenant) else {
            return;
        };
        let known = &mut self.classes[class];
        let actual = match outcome {
            Outcome::Completed { usage } => known.cost(usage.input.get(), usage.output.get()),
            Outcome::Permanent { .. }
            | Outcome::Account { .. }
            | Outcome::Transient { begun: false, .. } => known.cheapest(),
            Outcome::Transient { begun: true, .. } | Outcome::Lost => lease.price,
            Outcome::Throttled { .. } | Outcome::NotStarted | Outcome::AlreadyEnded => 0,
        };
        let cap = known.cap(&self.config);
        let credit = &mut known.lanes[lane].credit;
        let after = *credit + lease.price - actual;
        *credit = if after > *credit { after.min(cap.max(*credit)) } else { after };
    }

    fn gate_answers(&mut self, at: usize, outcome: &Outcome, chance: Entropy) {
        let (id, now) = (self.jobs[at].submission.job, self.now);
        let (slots, after) = (self.config.slots, self.config.outage_after);
        let others = self.running(self.jobs[at].class) - 1;
        let gate = &mut self.classes[self.jobs[at].class].gate;
        match outcome {
            Outcome::Completed { .. } | Outcome::Permanent { .. } => {
                gate.passed(id, slots, others);
                if matches!(gate, gate::Gate::Ramp { .. }) {
                    self.note("ramp");
                }
            }
            Outcome::Transient { error, retry_after, .. }
                if FAULTS.contains(&error.kind.as_str()) =>
            {
                let wait = |n| now + gate::outage_wait(n, millis(*retry_after), chance);
                if gate.fault(id, after, wait) {
                    self.note("outage");
                }
            }
            Outcome::Throttled { retry_after, .. } => {
                let wait = gate::refusal_wait(gate.refusals(), millis(*retry_after), chance);
                gate.refuse(id, now + wait);
                self.note("refused");
            }
            Outcome::Transient { .. }
            | Outcome::Account { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => gate.unclear(id, now),
        }
    }

    fn count(&mut self, at: usize, outcome: &Outcome) {
        match outcome {
            Outcome::Completed { usage } => {
                let Submission { tenant, daily_input, .. } = self.jobs[at].submission.clone();
                self.count_day(&tenant, daily_input, usage.input.get());
            }
            Outcome::Throttled { .. } => self.blame(self.jobs[at].class),
            Outcome::Permanent { .. }
            | Outcome::Transient { .. }
            | Outcome::Account { .. }
            | Outcome::NotStarted
            | Outcome::Lost
            | Outcome::AlreadyEnded => {}
        }
    }

    fn judge(&mut self, at: usize, outcome: &Outcome, probe: bool, chance: Entropy) -> Fate {
        match outcome {
            Outcome::Completed { .. } | Outcome::Permanent { .. } | Outcome::AlreadyEnded => {
                Fate::Ends
            }
            Outcome::Transient { error, begun: false, .. }
                if probe && error.kind == "overloaded_error" && self.others_wait(at) =>
            {
                self.note("overloaded probe");
                self.refused(at, Fate::Returns)
            }
            Outcome::Transient { retry_after, .. } => self.failed(at, *retry_after, chance),
            Outcome::Lost => self.failed(at, None, chance),
            Outcome::Throttled { retry_after, .. } => {
                let fate = match millis(*retry_after) {
                    0..=60_000 => Fate::Returns,
                    wish => Fate::Waits { until: self.now + wish.min(600_000) },
                };
                self.refused(at, fate)
            }
            Outcome::Account { fault, .. } => {
                self.account_fault(self.jobs[at].submission.job);
                match fault {
                    AccountFault::Credentials => Fate::Ends,
                    AccountFault::SpendLimit => Fate::Returns,
                }
            }
            Outcome::NotStarted => Fate::Returns,
        }
    }

    fn others_wait(&self, at: usize) -> bool {
        let class = self.jobs[at].class;
        let waits = |job: &Job| matches!(job.place, Place::Waiting(_) | Place::Parked { .. });
        self.jobs.iter().any(|job| job.class == class && waits(job))
    }

    fn failed(&mut self, at: usize, wish: Option<Span>, chance: Entropy) -> Fate {
        self.jobs[at].throttled = 0;
        if self.last_attempt(at) {
            return Fate::Ends;
        }
        let submission = &self.jobs[at].submission;
        let backoff = self.config.backoff(submission.priority);
        let delay = backoff.delay(submission.attempts, chance).as_millis();
        Fate::Waits { until: self.now + delay.max(millis(wish).min(600_000)) }
    }

    /// No attempt is used, or not for long.
    fn refused(&mut self, at: usize, fate: Fate) -> Fate {
        self.jobs[at].throttled += 1;
        let counts = self.jobs[at].throttled > self.config.free_throttles;
        if counts && self.last_attempt(at) { Fate::Ends } else { fate }
    }

    /// Uses an attempt. Says whether there is none left.
    fn last_attempt(&mut self, at: usize) -> bool {
        let submission = &mut self.jobs[at].submission;
        submission.attempts += 1;
        let (job, attempts) = (submission.job, submission.attempts);
        let last = attempts >= self.config.attempts(submission.priority);
        let canceled = self.jobs[at].lease().is_some_and(|lease| lease.canceled);
        if last && !canceled {
            self.effects.push(Effect::DeadLetter { job, attempts });
        }
        last
    }
}

fn used(lease: &Lease, outcome: &Outcome) -> [u64; 3] {
    match outcome {
        Outcome::Completed { usage } => [1, usage.input.get(), usage.output.get()],
        Outcome::Permanent { .. }
        | Outcome::Account { .. }
        | Outcome::Transient { begun: false, .. } => [1, 0, 0],
        Outcome::Transient { begun: true, .. } | Outcome::Lost => {
            lease.held.map(|(amount, _)| amount)
        }
        Outcome::Throttled { .. } | Outcome::NotStarted | Outcome::AlreadyEnded => [0, 0, 0],
    }
}

/// What the upstream said of its limits.
fn believe(class: &mut Class, settlement: &Settlement, age: u64, alone: Option<u64>) {
    let refused = matches!(settlement.outcome, Outcome::Throttled { .. });
    let told = settlement.limits.unwrap_or_default();
    let told = [told.requests, told.input, told.output];
    if refused && told == [None; 3] {
        class.buckets.iter_mut().for_each(|bucket| bucket.lower(0, 0));
    }
    let completed = matches!(settlement.outcome, Outcome::Completed { .. });
    let used = alone.unwrap_or(0);
    let margins = [0, 500, used.saturating_add(500)];
    for ((bucket, told), margin) in class.buckets.iter_mut().zip(told).zip(margins) {
        let Some(told) = told.filter(|told| told.limit > 0) else {
            continue;
        };
        bucket.believe(told.limit);
        bucket.lower(told.remaining, if refused { 0 } else { age });
        if completed && alone.is_some() {
            bucket.raise(told.remaining.saturating_sub(margin));
        }
    }
}

fn millis(wish: Option<Span>) -> u64 {
    wish.map_or(0, Span::as_millis)
}

const FAULTS: [&str; 5] =
    ["overloaded_error", "api_error", "timeout_error", "timeout", "connection_error"];
