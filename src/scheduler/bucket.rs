//! One continuously refilling bucket: a mirror of the upstream's own.
//!
//! Whole numbers only: a token is [`UNIT`] units, so that a limit of `n` a
//! minute refills exactly `n` units a millisecond.
//!
//! What is taken may come back (an estimate was too high, a call was never
//! made), but a bucket that has filled up meanwhile has nothing to give back:
//! the upstream did not store it either. So only what was taken within the
//! last bucketful of room comes back. Hence law 5, exactly: what leaves in any
//! window, less what comes back of it, is at most the refill of that window
//! and one bucketful.
use crate::domain::{Span, Timestamp, Tokens};
use serde::{Deserialize, Serialize};

/// One of the three buckets of a model class.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Bucket {
    limit: u64,
    level: i64,
    at: Timestamp,
    /// All that was ever taken.
    taken: i64,
    /// The part of `taken`, from its beginning, that cannot come back.
    lapsed: i64,
    /// The sum of the holds that are not settled. Counted again on restore.
    #[serde(skip)]
    held: Tokens,
    /// How long an empty bucket takes to fill up. A setting, not a state.
    #[serde(skip)]
    depth: Span,
}

/// Tokens taken from a bucket for one call, to be settled once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Hold {
    amount: Tokens,
    /// The bucket's `taken` after this hold.
    end: i64,
}

impl Bucket {
    pub(super) fn full(limit: u64, depth: Span, now: Timestamp) -> Self {
        let mut bucket = Self::empty(limit, depth, now);
        bucket.level = bucket.capacity();
        bucket
    }

    pub(super) fn empty(limit: u64, depth: Span, now: Timestamp) -> Self {
        Self {
            limit: limit.clamp(1, MAX_LIMIT),
            level: 0,
            at: now,
            taken: 0,
            lapsed: 0,
            held: Tokens::ZERO,
            depth,
        }
    }

    /// Takes a setting that a snapshot does not carry, and trusts it no more
    /// than a limit from anywhere else.
    pub(super) fn reset(&mut self, limit: u64, depth: Span) {
        self.limit = limit.clamp(1, MAX_LIMIT);
        self.depth = depth;
        self.settle_down();
    }

    /// The believed limit, a minute.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// What is held by calls under way.
    pub(super) const fn held(&self) -> Tokens {
        self.held
    }

    /// The first moment at which `need` may be taken with so many hundredths
    /// of the bucket, and `hold`, left in it. What is larger than the bucket
    /// waits for a full one and overdraws it.
    pub(super) fn fits_at(&self, need: Tokens, keep: u32, hold: Tokens) -> Timestamp {
        let kept = self.capacity().saturating_mul(keep.into()) / 100;
        let level = units(self.bounded(need)).saturating_add(kept).saturating_add(units(hold));
        self.reaches(level.min(self.capacity()))
    }

    /// The first moment at which a job that all others make way for may take
    /// `need`: if it is larger than nine tenths of the bucket, it overdraws.
    pub(super) fn nearly_fits_at(&self, need: Tokens) -> Timestamp {
        self.reaches(units(self.bounded(need)).min(self.capacity().saturating_mul(9) / 10))
    }

    /// As much of `need` as is waited for: nine tenths of the bucket at most.
    pub(super) fn reachable(&self, need: Tokens) -> Tokens {
        let most = self.capacity().saturating_mul(9).unsigned_abs() / (10 * UNIT);
        Tokens::new(self.bounded(need).get().min(most))
    }

    /// How long `need` takes to flow in.
    pub(super) fn earned_in(&self, need: Tokens) -> Span {
        Span::from_millis(units(self.bounded(need)).unsigned_abs().div_ceil(self.limit))
    }

    /// How many whole tokens it can hold.
    pub(super) fn room(&self) -> Tokens {
        Tokens::new(self.capacity().unsigned_abs() / UNIT)
    }

    /// The moment by which `need` will have been earned in all, however many
    /// bucketfuls that is, with so many hundredths of one left over.
    pub(super) fn earned_at(&self, need: Tokens, keep: u32) -> Timestamp {
        let kept = self.capacity().saturating_mul(keep.into()) / 100;
        self.reaches(units(need).saturating_add(kept))
    }

    /// When nothing more flows in.
    pub(super) fn full_at(&self) -> Timestamp {
        self.reaches(self.capacity())
    }

    /// Takes `need`, whether or not it fits: asking first is the caller's part.
    pub(super) fn take(&mut self, need: Tokens, now: Timestamp) -> Hold {
        self.refill(now);
        let amount = self.bounded(need);
        self.level = self.level.saturating_sub(units(amount));
        self.taken = self.taken.saturating_add(units(amount));
        self.held = self.held.saturating_add(amount);
        Hold { amount, end: self.taken }
    }

    /// Replaces what was held by what was really used.
    pub(super) fn settle(&mut self, hold: Hold, used: Tokens, now: Timestamp) {
        self.refill(now);
        self.held = self.held.saturating_sub(hold.amount);
        let over = units(hold.amount) - units(self.bounded(used));
        let returnable = hold.end.saturating_sub(self.lapsed).max(0);
        self.level = self.level.saturating_add(over.min(returnable));
        self.settle_down();
    }

    /// Whether nothing was taken after `hold`, and nothing is held.
    pub(super) fn was_last(&self, hold: Hold) -> bool {
        self.held == Tokens::ZERO && self.taken == hold.end
    }

    /// Believes another limit from now on. The level stays, as far as it fits.
    pub(super) fn believe(&mut self, limit: u64, now: Timestamp) {
        self.refill(now);
        self.limit = limit.clamp(1, MAX_LIMIT);
        self.settle_down();
    }

    /// There is no more than `most`, and what `since` brought.
    pub(super) fn lower(&mut self, most: Tokens, since: Span, now: Timestamp) {
        self.refill(now);
        let most = units(most).saturating_add(self.inflow(since));
        if most < self.level {
            self.level = most;
            self.lapsed = self.taken;
        }
    }

    /// There is no less than `least`. Only true while nothing is held.
    pub(super) fn raise(&mut self, least: Tokens, now: Timestamp) {
        self.refill(now);
        self.level = self.level.max(units(least).min(self.capacity()));
        self.settle_down();
    }

    /// Counts a hold found in storage. It can come back only if the bucket
    /// was stored with it.
    pub(super) fn find(&mut self, hold: &mut Hold) {
        self.held = self.held.saturating_add(hold.amount);
        hold.end = hold.end.min(self.taken);
    }

    /// The level never exceeds the capacity, and neither does the level with
    /// all that can still come back.
    pub(super) fn assert_sound(&self) {
        let returnable = self.taken.saturating_sub(self.lapsed);
        assert!(
            self.level.saturating_add(returnable) <= self.capacity(),
            "more than a bucketful: {self:?}"
        );
    }

    fn refill(&mut self, now: Timestamp) {
        self.level = self.level.saturating_add(self.inflow(now.since(self.at)));
        self.at = self.at.max(now);
        self.settle_down();
    }

    /// Lets overflow what does not fit, and lapse what can no longer return.
    fn settle_down(&mut self) {
        self.level = self.level.min(self.capacity());
        let room = self.capacity() - self.level;
        self.lapsed = self.lapsed.max(self.taken.saturating_sub(room));
    }

    fn reaches(&self, level: i64) -> Timestamp {
        let missing = level.saturating_sub(self.level).max(0).unsigned_abs();
        self.at + Span::from_millis(missing.div_ceil(self.limit))
    }

    fn capacity(&self) -> i64 {
        self.inflow(self.depth)
    }

    fn inflow(&self, span: Span) -> i64 {
        let units = self.limit.saturating_mul(span.as_millis());
        i64::try_from(units).unwrap_or(i64::MAX).min(MOST)
    }

    /// One call can put a bucket into debt for ten minutes, not for ever.
    pub(super) fn bounded(&self, amount: Tokens) -> Tokens {
        Tokens::new(amount.get().min(self.limit * 10))
    }
}

impl Hold {
    /// How much is held.
    pub(super) const fn amount(&self) -> Tokens {
        self.amount
    }
}

fn units(amount: Tokens) -> i64 {
    let units = amount.get().saturating_mul(UNIT);
    i64::try_from(units).unwrap_or(i64::MAX).min(MOST)
}

const UNIT: u64 = 60_000;
/// A thousand million a minute is no limit that anyone has.
const MAX_LIMIT: u64 = 1_000_000_000;
/// Far from overflowing, even after a thousand years away.
const MOST: i64 = i64::MAX / 4;

#[cfg(test)]
mod tests;
