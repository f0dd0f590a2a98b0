//! Milliseconds since the Unix epoch, handed in by whoever owns a clock.
use serde::{Deserialize, Serialize, Serializer};
use std::{
    fmt,
    ops::Add,
    time::{Duration, SystemTime},
};

/// A moment, in milliseconds since the Unix epoch. Displays as RFC 3339, UTC.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment `millis` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Reads an RFC 3339 time; `None` if it is not one, or lies before 1970.
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let moment = humantime::parse_rfc3339(text).ok()?;
        Self::from_system(moment)
    }

    /// Reads a date as HTTP headers have it; `None` if it is not one.
    #[must_use]
    pub fn from_http_date(text: &str) -> Option<Self> {
        httpdate::parse_http_date(text).ok().and_then(Self::from_system)
    }

    fn from_system(moment: SystemTime) -> Option<Self> {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok().map(Self)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The moment `span` earlier; never before the epoch.
    #[must_use]
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// The time elapsed since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// Writes a moment as callers read it; stored moments are milliseconds.
///
/// # Errors
///
/// The serializer's.
pub fn as_rfc3339<S: Serializer>(moment: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(moment)
}

impl Add<Span> for Timestamp {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Duration::from_millis(self.0.min(END_OF_9999));
        let moment = SystemTime::UNIX_EPOCH + since;
        humantime::format_rfc3339_millis(moment).fmt(f)
    }
}

/// A length of time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// `seconds` seconds, saturating.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds, rounded up: the form `Retry-After` wants.
    #[must_use]
    pub const fn as_secs_rounded_up(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// The sum, saturating.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self × numerator ÷ denominator`, rounded down, saturating.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let product = u128::from(self.0) * u128::from(numerator);
        let scaled = product / u128::from(denominator.max(1));
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// RFC 3339 has four digits for the year.
const END_OF_9999: u64 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_and_writes_rfc_3339() {
        let moment = Timestamp::from_millis(1_796_000_000_123);
        assert_eq!(moment.to_string(), "2026-11-30T00:53:20.123Z");
        assert_eq!(Timestamp::from_rfc3339(&moment.to_string()), Some(moment));
        assert_eq!(Timestamp::from_rfc3339("yesterday"), None);
    }

    #[test]
    fn a_http_date_is_a_moment() {
        let moment = Timestamp::from_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(moment, Some(Timestamp::from_millis(784_111_777_000)));
        assert_eq!(Timestamp::from_http_date("soon"), None);
    }

    #[test]
    fn nothing_was_before_the_epoch() {
        let moment = Timestamp::from_millis(5_000);
        assert_eq!(moment.before(Span::from_secs(2)), Timestamp::from_millis(3_000));
        assert_eq!(moment.before(Span::from_secs(9)), Timestamp::default());
    }

    #[test]
    fn absurd_moments_still_display() {
        assert!(Timestamp::from_millis(u64::MAX).to_string().ends_with('Z'));
    }

    #[test]
    fn scaling_never_overflows() {
        assert_eq!(Span::from_millis(u64::MAX).scaled(12, 10).as_millis(), u64::MAX);
        assert_eq!(Span::from_secs(10).scaled(12, 10), Span::from_secs(12));
    }
}
