//! Workers that keep their job until it is done, asleep while it backs off.
use super::super::{scenario::Scenario, upstream::Moment, workload::Job};
use super::{Answer, Policy, Step};
use std::collections::{BTreeMap, BTreeSet};

/// The queue that such workers draw from, and their manners.
pub(super) trait Queue {
    fn push(&mut self, job: &Job, now: f64);

    /// A job comes back, as its queue likes it.
    fn push_again(&mut self, job: &Job, now: f64) {
        self.push(job, now);
    }

    fn pop(&mut self) -> Option<usize>;

    /// What to do after `tries` calls, the last of which ended like this.
    fn after(&mut self, job: &Job, tries: u32, answer: Answer, now: f64) -> After;

    /// A worker that found nothing, though jobs wait, looks again after this.
    fn nap(&self) -> Option<f64> {
        None
    }

    /// A call has completed.
    fn completed(&mut self, _job: &Job, _now: f64) {}
}

/// What becomes of a job that was not served.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// Call again after so many seconds.
    Sleep(f64),
    /// Back into the queue, as if new.
    Requeue,
    /// Give up.
    Lose,
}

pub(super) struct Held<Q> {
    queue: Q,
    free: u32,
    /// Calls of the job that a worker has.
    tries: BTreeMap<usize, u32>,
    asleep: BTreeMap<(Moment, u64), usize>,
    napping: BTreeSet<(Moment, u64)>,
    lost: Vec<usize>,
    number: u64,
}

impl<Q: Queue> Held<Q> {
    pub(super) fn new(scenario: &Scenario, queue: Q) -> Self {
        Self {
            queue,
            free: scenario.workers,
            tries: BTreeMap::new(),
            asleep: BTreeMap::new(),
            napping: BTreeSet::new(),
            lost: Vec::new(),
            number: 0,
        }
    }

    fn key(&mut self, at: f64) -> (Moment, u64) {
        self.number += 1;
        (Moment(at), self.number)
    }

    fn let_go(&mut self, job: &Job) {
        self.tries.remove(&job.index);
        self.free += 1;
    }

    fn wake(&mut self, now: f64) {
        while let Some(key) = self.napping.first().copied().filter(|(at, _)| at.0 <= now) {
            self.napping.remove(&key);
            self.free += 1;
        }
    }

    fn take(&mut self, now: f64) -> Option<usize> {
        while self.free > 0 {
            if let Some(job) = self.queue.pop() {
                self.free -= 1;
                self.tries.insert(job, 0);
                return Some(job);
            }
            let nap = self.queue.nap()?;
            let key = self.key(now + nap);
            self.napping.insert(key);
            self.free -= 1;
        }
        None
    }
}

impl<Q: Queue> Policy for Held<Q> {
    fn arrive(&mut self, job: &Job, now: f64) {
        self.queue.push(job, now);
    }

    fn answer(&mut self, job: &Job, answer: Answer, now: f64) {
        if let Answer::Completed(_) = answer {
            self.queue.completed(job, now);
            self.let_go(job);
            return;
        }
        let tries = self.tries.entry(job.index).or_default();
        *tries += 1;
        match self.queue.after(job, *tries, answer, now) {
            After::Sleep(span) => {
                let key = self.key(now + span);
                self.asleep.insert(key, job.index);
            }
            After::Requeue => {
                self.let_go(job);
                self.queue.push_again(job, now);
            }
            After::Lose => {
                self.let_go(job);
                self.lost.push(job.index);
            }
        }
    }

    fn step(&mut self, now: f64) -> Option<Step> {
        if let Some(job) = self.lost.pop() {
            return Some(Step::Lose(job));
        }
        self.wake(now);
        let due = self.asleep.first_entry().filter(|entry| entry.key().0.0 <= now);
        if let Some(entry) = due {
            return Some(Step::Call(entry.remove()));
        }
        self.take(now).map(Step::Call)
    }

    fn wakes_at(&self) -> Option<f64> {
        let call = self.asleep.first_key_value().map(|((at, _), _)| *at);
        let look = self.napping.first().map(|(at, _)| *at);
        call.into_iter().chain(look).min().map(|at| at.0)
    }
}
