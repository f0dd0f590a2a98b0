//! What a bucket does, in small.
use super::*;

const MINUTE: Span = Span::from_secs(60);

#[test]
fn it_refills_by_the_limit_each_minute_and_no_further_than_its_depth() {
    let mut bucket = bucket(50);
    bucket.take(tokens(50), at(0));
    assert_eq!(bucket.fits_at(tokens(1), 0, Tokens::ZERO), at(1_200));
    assert_eq!(bucket.fits_at(tokens(50), 0, Tokens::ZERO), at(60_000));
    bucket.take(tokens(1), at(600_000));
    assert_eq!(bucket.fits_at(tokens(50), 0, Tokens::ZERO), at(601_200));
}

#[test]
fn a_need_larger_than_the_bucket_waits_for_a_full_one_and_is_paid_back() {
    let mut bucket = bucket(60);
    bucket.take(tokens(1), at(0));
    assert_eq!(bucket.fits_at(tokens(150), 0, Tokens::ZERO), at(1_000));
    bucket.take(tokens(150), at(1_000));
    assert_eq!(bucket.fits_at(tokens(1), 0, Tokens::ZERO), at(1_000 + 91_000));
}

#[test]
fn what_was_held_too_much_comes_back() {
    let mut bucket = bucket(1_000);
    let hold = bucket.take(tokens(900), at(0));
    bucket.settle(hold, tokens(100), at(0));
    assert_eq!(bucket.fits_at(tokens(900), 0, Tokens::ZERO), at(0));
    assert_eq!(bucket.held(), Tokens::ZERO);
}

#[test]
fn what_was_held_too_little_is_paid_later() {
    let mut bucket = bucket(1_000);
    let hold = bucket.take(tokens(900), at(0));
    bucket.settle(hold, tokens(1_100), at(0));
    assert_eq!(bucket.fits_at(tokens(1), 0, Tokens::ZERO), at(60 * 101));
}

#[test]
fn a_bucket_that_was_full_meanwhile_gives_nothing_back() {
    let mut bucket = bucket(1_000);
    let old = bucket.take(tokens(500), at(0));
    bucket.take(tokens(1_000), at(30_000));
    bucket.settle(old, Tokens::ZERO, at(30_000));
    assert_eq!(bucket.fits_at(tokens(1), 0, Tokens::ZERO), at(30_060));
    bucket.assert_sound();
}

#[test]
fn an_absurd_need_delays_the_others_by_minutes_only() {
    let mut bucket = bucket(1_000);
    let hold = bucket.take(tokens(u64::MAX), at(0));
    assert_eq!(bucket.fits_at(tokens(1_000), 0, Tokens::ZERO), at(600_000));
    bucket.settle(hold, Tokens::ZERO, at(0));
    assert_eq!(bucket.fits_at(tokens(1_000), 0, Tokens::ZERO), at(0));
}

#[test]
fn absurd_limits_and_moments_do_not_overflow() {
    let mut bucket = Bucket::full(u64::MAX, Span::from_millis(u64::MAX), at(0));
    let hold = bucket.take(tokens(u64::MAX), at(u64::MAX));
    bucket.settle(hold, tokens(u64::MAX), at(0));
    bucket.assert_sound();
    assert_eq!(self::bucket(0).fits_at(tokens(u64::MAX), 0, Tokens::ZERO), at(0));
}

#[test]
fn the_upstream_is_believed_when_it_says_that_less_is_left() {
    let mut bucket = bucket(60);
    bucket.lower(tokens(10), Span::from_secs(5), at(0));
    assert_eq!(bucket.fits_at(tokens(15), 0, Tokens::ZERO), at(0));
    assert_eq!(bucket.fits_at(tokens(16), 0, Tokens::ZERO), at(1_000));
    bucket.lower(tokens(40), Span::ZERO, at(0));
    assert_eq!(bucket.fits_at(tokens(16), 0, Tokens::ZERO), at(1_000));
}

#[test]
fn another_limit_changes_the_refill_and_the_depth_at_once() {
    let mut bucket = bucket(60);
    bucket.take(tokens(60), at(0));
    bucket.believe(600, at(0));
    assert_eq!(bucket.fits_at(tokens(100), 0, Tokens::ZERO), at(10_000));
    bucket.believe(6, at(60_000));
    assert_eq!(bucket.fits_at(tokens(6), 0, Tokens::ZERO), at(60_000));
    bucket.take(tokens(6), at(60_000));
    assert_eq!(bucket.fits_at(tokens(1), 0, Tokens::ZERO), at(70_000));
}

fn bucket(limit: u64) -> Bucket {
    Bucket::full(limit, MINUTE, at(0))
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn tokens(amount: u64) -> Tokens {
    Tokens::new(amount)
}
