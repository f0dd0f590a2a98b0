//! Products that are divided: exact, and quick while they are small.

/// `a × b ÷ c`, rounded down; saturating.
pub(super) fn part(a: u64, b: u64, c: u64) -> u64 {
    let c = c.max(1);
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => narrow(u128::from(a) * u128::from(b) / u128::from(c)),
    }
}

/// `a × b ÷ c`, rounded up; saturating.
pub(super) fn part_up(a: u64, b: u64, c: u64) -> u64 {
    let c = c.max(1);
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(c),
        None => narrow((u128::from(a) * u128::from(b)).div_ceil(u128::from(c))),
    }
}

fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_are_counted_alike() {
        assert_eq!((part(7, 3, 2), part_up(7, 3, 2)), (10, 11));
        let large = u64::MAX - 1;
        assert_eq!((part(large, 6, 3), part_up(large, 6, 3)), (u64::MAX, u64::MAX));
        assert_eq!((part(large, 6, 12), part_up(large, 7, 14)), (large / 2, large / 2));
        assert_eq!(part(1, 1, 0), 1);
    }
}
