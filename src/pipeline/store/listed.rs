//! Where a job or a batch is in a list.
use crate::domain::Timestamp;
use std::fmt;
use std::str::FromStr;

/// When it was accepted, and its id: the column `listed`. As text the two
/// compare like the pair.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Listed<Id> {
    /// When it was accepted.
    pub at: Timestamp,
    /// Which it is.
    pub id: Id,
}

/// What every place of this moment begins with, and sorts behind.
#[must_use]
pub fn beginning(at: Timestamp) -> String {
    format!("{:015}", at.as_millis())
}

impl<Id: fmt::Display> fmt::Display for Listed<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", beginning(self.at), self.id)
    }
}

impl<Id: FromStr> FromStr for Listed<Id> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (millis, id) = text.split_once('-').ok_or(())?;
        let digits = millis.len() == 15 && millis.bytes().all(|byte| byte.is_ascii_digit());
        let at = millis.parse().map(Timestamp::from_millis).map_err(|_| ())?;
        let id = id.parse().map_err(|_| ())?;
        if digits { Ok(Self { at, id }) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Entropy, JobId};

    fn place(millis: u64, chance: u64) -> Listed<JobId> {
        let at = Timestamp::from_millis(millis);
        Listed { at, id: JobId::new(Timestamp::from_millis(7), [Entropy(chance); 2]) }
    }

    #[test]
    fn a_place_reads_back_and_compares_as_text() {
        let places = [place(9, 1), place(10, 0), place(10, 2), place(253_402_300_799_999, 0)];
        for pair in places.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string());
        }
        assert_eq!(places[1].to_string().parse(), Ok(places[1]));
        let tenth = beginning(Timestamp::from_millis(10));
        assert!(places[0].to_string() < tenth && tenth < places[1].to_string());
    }

    #[test]
    fn nothing_else_is_a_place() {
        let id = place(1, u64::MAX).id;
        for wrong in [
            id.to_string(),
            format!("1-{id}"),
            format!("00000000000000x-{id}"),
            format!("+00000000000001-{id}"),
            format!("000000000000001-{}", id.to_string().to_uppercase()),
            "000000000000001-".to_owned(),
            String::new(),
        ] {
            assert_eq!(wrong.parse::<Listed<JobId>>(), Err(()), "{wrong}");
        }
    }
}
