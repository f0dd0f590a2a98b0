//! How attempts end, in the model.
use super::{Class, Lease, Model, Place};
use claude_pipeline::{domain::*, scheduler::*};

pub(crate) struct Pause {
    until: u64,
    wait: u64,
    pub(crate) probe: Option<JobId>,
}

impl Pause {
    pub(crate) const fn over(&self, now: u64) -> bool {
        self.probe.is_none() && self.until <= now
    }
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
        self.charge(at, &lease, settlement);
        self.evidence(at, &settlement.outcome);
        let place = self.judge(at, &settlement.outcome, chance);
        match place {
            Some(place) if !lease.canceled => self.jobs[at].place = place,
            Some(_) | None => drop(self.jobs.remove(at)),
        }
    }

    fn charge(&mut self, at: usize, lease: &Lease, settlement: &Settlement) {
        let reserved = lease.held.map(|(amount, _)| amount);
        let used = match &settlement.outcome {
            Outcome::Completed { usage } => [1, usage.input.get(), usage.output.get()],
            Outcome::Permanent { .. } | Outcome::Account { .. } => [1, 0, 0],
            Outcome::Transient { .. } | Outcome::Lost => reserved,
            Outcome::Throttled { .. } | Outcome::NotStarted | Outcome::AlreadyEnded => [0, 0, 0],
        };
        for (charged, used) in self.ledger[lease.entry].charged.iter_mut().zip(used) {
            *charged = used.min(*charged);
        }
        let name = self.jobs[at].submission.class.clone();
        let running = |job: &&super::Job| job.lease().is_some() && job.submission.class == name;
        let alone = self.jobs.iter().filter(running).count() == 1;
        let age = self.now - lease.since;
        let class = self.class(&name);
        for ((bucket, held), used) in class.buckets.iter_mut().zip(lease.held).zip(used) {
            bucket.settle(held, used);
        }
        let alone = alone && class.buckets[0].untouched_since(lease.held[0].1);
        if let Outcome::Completed { usage } = &settlement.outcome {
            let output = usage.output.get();
            class.mean = Some(match class.mean {
                None => output * 16,
                Some(mean) => mean * 15 / 16 + output,
            });
        }
        believe(class, settlement, age, alone.then_some(used[2]));
    }

    fn evidence(&mut self, at: usize, outcome: &Outcome) {
        let (id, now) = (self.jobs[at].submission.job, self.now);
        let good = matches!(outcome, Outcome::Completed { .. } | Outcome::Permanent { .. });
        let name = self.jobs[at].submission.class.clone();
        let gate = &mut self.class(&name).gate;
        if let Some((_, refusals, Some(probe))) = *gate
            && probe == id
            && !matches!(outcome, Outcome::Throttled { .. })
        {
            *gate = if good { None } else { Some((now, refusals, None)) };
        }
        if self.pause.as_ref().is_some_and(|pause| pause.probe == Some(id)) {
            if good {
                self.pause = None;
            } else if let Some(pause) = &mut self.pause
                && !matches!(outcome, Outcome::Account { .. })
            {
                pause.probe = None;
                pause.until = now;
            }
        }
    }

    /// Where the job goes, or `None` if it has ended.
    fn judge(&mut self, at: usize, outcome: &Outcome, chance: Entropy) -> Option<Place> {
        match outcome {
            Outcome::Completed { .. } | Outcome::Permanent { .. } | Outcome::AlreadyEnded => None,
            Outcome::Transient { retry_after, .. } => self.failed(at, *retry_after, chance),
            Outcome::Lost => self.failed(at, None, chance),
            Outcome::Throttled { retry_after, .. } => self.throttled(at, *retry_after, chance),
            Outcome::Account { fault, .. } => {
                self.fault(at);
                (*fault == AccountFault::SpendLimit).then_some(Place::Waiting)
            }
            Outcome::NotStarted => Some(Place::Waiting),
        }
    }

    fn failed(&mut self, at: usize, wish: Option<Span>, chance: Entropy) -> Option<Place> {
        self.jobs[at].throttled = 0;
        self.use_attempt(at)?;
        let submission = &self.jobs[at].submission;
        let backoff = self.config.backoff(submission.priority);
        let delay = backoff.delay(submission.attempts, chance).as_millis();
        let wish = wish.map_or(0, Span::as_millis).min(600_000);
        let until = self.now + delay.max(wish);
        Some(Place::Delayed { until })
    }

    fn throttled(&mut self, at: usize, wish: Option<Span>, chance: Entropy) -> Option<Place> {
        let (id, now) = (self.jobs[at].submission.job, self.now);
        let name = self.jobs[at].submission.class.clone();
        let gate = &mut self.class(&name).gate;
        let earlier = match *gate {
            None => 0,
            Some((_, refusals, Some(_))) => refusals,
            Some((_, refusals, None)) => refusals - 1,
        };
        let least = match wish.map_or(0, Span::as_millis) {
            wish @ 1..=60_000 => wish,
            0 | 60_001.. => (1_000 << earlier.min(6)).min(60_000),
        };
        let span = |parts| Span::from_millis(least * parts / 100);
        let until = now + chance.between(span(96), span(144)).as_millis().max(least);
        *gate = match *gate {
            None => Some((until, 1, None)),
            Some((_, refusals, Some(probe))) if probe == id => Some((until, refusals + 1, None)),
            Some((_, refusals, Some(probe))) => Some((0, refusals, Some(probe))),
            Some((before, refusals, None)) => Some((until.max(before), refusals, None)),
        };
        self.jobs[at].throttled += 1;
        if self.jobs[at].throttled > self.config.free_throttles {
            self.use_attempt(at)?;
        }
        Some(match wish.map_or(0, Span::as_millis) {
            0..=60_000 => Place::Waiting,
            wish => Place::Delayed { until: now + wish.min(600_000) },
        })
    }

    fn use_attempt(&mut self, at: usize) -> Option<()> {
        let submission = &mut self.jobs[at].submission;
        submission.attempts += 1;
        let (job, attempts) = (submission.job, submission.attempts);
        if attempts < self.config.attempts(submission.priority) {
            return Some(());
        }
        let canceled = self.jobs[at].lease().is_some_and(|lease| lease.canceled);
        if !canceled {
            self.effects.push(Effect::DeadLetter { job, attempts });
        }
        None
    }

    fn fault(&mut self, at: usize) {
        let id = self.jobs[at].submission.job;
        let wait = match &self.pause {
            None => 60_000,
            Some(pause) if pause.probe == Some(id) => (pause.wait * 2).min(3_600_000),
            Some(_) => return,
        };
        self.pause = Some(Pause { until: self.now + wait, wait, probe: None });
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
    let margins = [0, 500, 500 + used];
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
