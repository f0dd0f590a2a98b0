//! The upstream: three buckets that fill all the time, and what they refuse.
use super::{
    scenario::{OutputMode, RetryAfter, UpstreamSpec},
    workload::Job,
};
use std::collections::BTreeMap;

/// The upstream's side of a run.
#[derive(Clone, Debug)]
pub struct Upstream {
    spec: UpstreamSpec,
    now: f64,
    /// Requests, input, output.
    buckets: [Bucket; 3],
    /// How much output is produced a second.
    producing: f64,
    /// What happens to the output later, by time and number.
    later: BTreeMap<(Moment, u64), Change>,
    changes: u64,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// It runs.
    Admitted(Told),
    /// Too much; try again after this many seconds.
    Refused {
        /// `Retry-After`.
        retry_after: f64,
        /// What the headers say.
        told: Told,
    },
    /// The upstream is down.
    Down,
}

/// What the headers of an answer say of the buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// When they were true.
    pub at: f64,
    /// Requests, input, output.
    pub levels: [Level; 3],
}

/// What the headers say of one bucket, unrounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// What it gains in a minute.
    pub limit: f64,
    /// What is left in it.
    pub left: f64,
    /// When it will be full.
    pub full_at: f64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    level: f64,
    capacity: f64,
    /// What it gains a second.
    refill: f64,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// So much output a second more, or less.
    Pace(f64),
    /// So much of what was held comes back.
    Refund(f64),
}

/// A moment that can be a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment(pub(super) f64);

impl Upstream {
    /// An upstream that has not been called yet.
    #[must_use]
    pub fn new(spec: &UpstreamSpec) -> Self {
        let bucket = |limit: f64| {
            let capacity = limit / 60.0 * spec.burst_s;
            Bucket { level: capacity * spec.initial_fill, capacity, refill: limit / 60.0 }
        };
        Self {
            buckets: [spec.rpm, spec.itpm, spec.otpm].map(bucket),
            spec: spec.clone(),
            now: 0.0,
            producing: 0.0,
            later: BTreeMap::new(),
            changes: 0,
        }
    }

    /// A call arrives.
    pub fn call(&mut self, job: &Job, now: f64) -> Reply {
        self.advance(now);
        if self.spec.outages.iter().any(|(from, to)| (*from..*to).contains(&now)) {
            return Reply::Down;
        }
        let needs = self.needs(job);
        let fits = self.buckets.iter().zip(needs).all(|(bucket, need)| bucket.holds(need));
        if fits { self.admit(job, needs) } else { self.refuse(needs) }
    }

    /// What is left in the buckets.
    pub fn levels(&mut self, now: f64) -> [f64; 3] {
        self.advance(now);
        self.buckets.map(|bucket| bucket.level)
    }

    fn needs(&self, job: &Job) -> [f64; 3] {
        let output = match self.spec.otpm_mode {
            OutputMode::Actual => 1.0,
            OutputMode::ReserveMax => job.max_tokens as f64,
        };
        [1.0, job.input as f64, output]
    }

    fn admit(&mut self, job: &Job, needs: [f64; 3]) -> Reply {
        let [requests, input, output] = &mut self.buckets;
        requests.level -= 1.0;
        input.level -= job.input as f64;
        let (first, end) = (self.now + job.ttft, self.now + job.service);
        match self.spec.otpm_mode {
            OutputMode::Actual => {
                let pace = job.output as f64 / (job.service - job.ttft);
                self.plan(first, Change::Pace(pace));
                self.plan(end, Change::Pace(-pace));
            }
            OutputMode::ReserveMax => {
                let [_, _, held] = needs;
                output.level -= held;
                self.plan(end, Change::Refund(held - job.output as f64));
            }
        }
        Reply::Admitted(self.told())
    }

    fn refuse(&mut self, needs: [f64; 3]) -> Reply {
        let pairs = self.buckets.iter().zip(needs);
        let fits = pairs.map(|(bucket, need)| bucket.until(need)).fold(0.0, f64::max);
        let full = self.buckets.iter().map(|it| it.until(it.capacity)).fold(0.0, f64::max);
        let retry_after = match self.spec.retry_after {
            RetryAfter::Exact => fits,
            RetryAfter::Ceil => fits.ceil().max(1.0),
            RetryAfter::Full => full,
        };
        if self.spec.count_rejected_in_rpm {
            let [requests, _, _] = &mut self.buckets;
            requests.level = (requests.level - 1.0).max(0.0);
        }
        Reply::Refused { retry_after, told: self.told() }
    }

    fn told(&self) -> Told {
        let level = |bucket: Bucket| Level {
            limit: bucket.refill * 60.0,
            left: bucket.level.max(0.0),
            full_at: self.now + bucket.until(bucket.capacity),
        };
        Told { at: self.now, levels: self.buckets.map(level) }
    }

    fn plan(&mut self, at: f64, change: Change) {
        self.later.insert((Moment(at), self.changes), change);
        self.changes += 1;
    }

    fn advance(&mut self, now: f64) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0.0 <= now
        {
            let ((at, _), change) = entry.remove_entry();
            self.pass(at.0);
            match change {
                Change::Pace(pace) => self.producing += pace,
                Change::Refund(tokens) => {
                    let [_, _, output] = &mut self.buckets;
                    output.level = (output.level + tokens).min(output.capacity);
                }
            }
        }
        self.pass(now);
    }

    fn pass(&mut self, now: f64) {
        let span = now - self.now;
        if span > 0.0 {
            let used = [0.0, 0.0, self.producing];
            for (bucket, used) in self.buckets.iter_mut().zip(used) {
                let gained = (bucket.refill - used) * span;
                bucket.level = (bucket.level + gained).min(bucket.capacity);
            }
            self.now = now;
        }
    }
}

impl Bucket {
    /// Whether so much is there, but for rounding.
    fn holds(&self, need: f64) -> bool {
        self.level + 1e-9 >= need
    }

    /// How long until so much is there, if nothing is taken.
    fn until(&self, need: f64) -> f64 {
        ((need - self.level) / self.refill).max(0.0)
    }
}

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
