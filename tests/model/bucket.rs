//! A bucket that remembers its whole history.

pub(crate) struct Bucket {
    pub(crate) limit: u64,
    depth: u64,
    at: u64,
    level: i128,
    taken: i128,
    /// Of what was taken, from its beginning, this much could not come back:
    /// at every moment there was.
    lost: Vec<i128>,
}

impl Bucket {
    pub(crate) fn full(limit: u64, depth: u64, at: u64) -> Self {
        let mut bucket = Self { limit, depth, at, level: 0, taken: 0, lost: Vec::new() };
        bucket.level = bucket.capacity();
        bucket
    }

    fn capacity(&self) -> i128 {
        i128::from(self.limit) * i128::from(self.depth)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.level == self.capacity()
    }

    pub(crate) fn flow(&mut self, now: u64) {
        self.level += i128::from(self.limit) * i128::from(now - self.at);
        self.at = now;
        self.level_out();
    }

    fn level_out(&mut self) {
        self.level = self.level.min(self.capacity());
        self.lost.push(self.taken - (self.capacity() - self.level));
    }

    /// Whether `need` may be taken while `keep` percent of the bucket, and
    /// `hold`, stay.
    pub(crate) fn fits(&self, need: u64, keep: u32, hold: i128) -> bool {
        let keep = self.capacity() * i128::from(keep) / 100;
        let all = units(self.bounded(need)) + keep + hold * 60_000;
        self.level >= all.min(self.capacity())
    }

    /// Whether `need` may be taken, or nearly all there can be.
    pub(crate) fn nearly_fits(&self, need: u64) -> bool {
        self.level >= units(self.bounded(need)).min(self.capacity() * 9 / 10)
    }

    /// As much of a need as is waited for.
    pub(crate) fn reachable(&self, need: u64) -> i128 {
        i128::from(self.bounded(need)).min(self.capacity() * 9 / (10 * 60_000))
    }

    pub(crate) fn bounded(&self, need: u64) -> u64 {
        need.min(10 * self.limit)
    }

    pub(crate) fn take(&mut self, need: u64) -> (u64, i128) {
        let need = self.bounded(need);
        self.level -= units(need);
        self.taken += units(need);
        (need, self.taken)
    }

    pub(crate) fn settle(&mut self, (held, end): (u64, i128), used: u64) {
        let over = units(held) - units(self.bounded(used));
        let lost = self.lost.iter().copied().max().unwrap_or(0).max(0);
        self.level += over.min((end - lost).max(0));
        self.level_out();
    }

    pub(crate) fn believe(&mut self, limit: u64) {
        self.limit = limit;
        self.level_out();
    }

    pub(crate) fn lower(&mut self, most: u64, age: u64) {
        let most = units(most) + i128::from(self.limit) * i128::from(age);
        if most < self.level {
            self.level = most;
            self.lost.push(self.taken);
        }
    }

    pub(crate) fn raise(&mut self, least: u64) {
        self.level = self.level.max(units(least).min(self.capacity()));
        self.level_out();
    }

    pub(crate) const fn untouched_since(&self, end: i128) -> bool {
        self.taken == end
    }
}

fn units(tokens: u64) -> i128 {
    i128::from(tokens) * 60_000
}
