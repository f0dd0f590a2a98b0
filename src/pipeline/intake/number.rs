//! A number, byte by byte: `-? (0 | 1-9 digits) (. digits)? (e ±? digits)?`.

/// What has been read of a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Number {
    /// `-`.
    Minus,
    /// A leading zero, which stands alone.
    Zero,
    /// Digits before the point.
    Whole,
    /// The point.
    Point,
    /// Digits after the point.
    Fraction,
    /// `e` or `E`.
    E,
    /// The exponent's sign.
    Sign,
    /// Digits of the exponent.
    Exponent,
}

impl Number {
    /// The number that `byte` begins, if it begins one.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Whole),
            _ => None,
        }
    }

    /// The number with `byte` added, if it can be.
    pub(super) fn add(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Some(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            (_, _) => None,
        }
    }

    /// Whether the number may end here.
    pub(super) fn may_end(self) -> bool {
        match self {
            Self::Zero | Self::Whole | Self::Fraction | Self::Exponent => true,
            Self::Minus | Self::Point | Self::E | Self::Sign => false,
        }
    }
}
