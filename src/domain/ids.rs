//! Names that cannot be swapped for one another.
use super::{Entropy, Timestamp};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};
use thiserror::Error;
use utoipa::ToSchema;
use uuid::{Builder, Uuid};

macro_rules! uuid_v7 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, ToSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schema(value_type = String, format = "uuid")]
        pub struct $name(Uuid);

        impl $name {
            /// A new id: a `UUIDv7` of this moment, so that ids sort by creation.
            #[must_use]
            pub fn new(now: Timestamp, chance: [Entropy; 2]) -> Self {
                Self(uuid_v7(now, chance))
            }

            /// When the id was made.
            #[must_use]
            pub fn created_at(self) -> Timestamp {
                Timestamp::from_millis((self.0.as_u64_pair().0) >> 16)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                canonical(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

uuid_v7! {
    /// Names one job.
    JobId
}

uuid_v7! {
    /// Names jobs that were submitted together.
    BatchId
}

/// Who the work is for. Lower-case ASCII letters, digits and dashes, 1 to 64.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^[a-z0-9-]{1,64}$")]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TenantId {
    type Error = InvalidTenantId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let fits = (1..=64).contains(&text.len());
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if fits && text.bytes().all(plain) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidTenantId(text))
        }
    }
}

impl From<TenantId> for String {
    fn from(id: TenantId) -> Self {
        (*id.0).to_owned()
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no tenant id.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("tenant id {0:?} is not 1 to 64 lower-case letters, digits or dashes")]
pub struct InvalidTenantId(String);

/// A text that is no id of ours.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("not a lower-case hyphenated UUID")]
pub struct InvalidId;

fn uuid_v7(now: Timestamp, [a, b]: [Entropy; 2]) -> Uuid {
    let mut random = [0; 10];
    let drawn = a.0.to_be_bytes().into_iter().chain(b.0.to_be_bytes());
    random.iter_mut().zip(drawn).for_each(|(to, from)| *to = from);
    Builder::from_unix_timestamp_millis(now.as_millis(), &random).into_uuid()
}

/// One spelling only, so that an id compares equal as text in every store.
fn canonical(text: &str) -> Result<Uuid, InvalidId> {
    let id = Uuid::try_parse(text).map_err(|_| InvalidId)?;
    let same = id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text;
    if same { Ok(id) } else { Err(InvalidId) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuid_v7_and_sort_by_creation() {
        let id = |ms, n| JobId::new(Timestamp::from_millis(ms), [Entropy(n), Entropy(n)]);
        let (early, late) = (id(1_000, u64::MAX), id(1_001, 0));
        assert!(early < late);
        assert_eq!(late.created_at(), Timestamp::from_millis(1_001));
        assert_eq!(early.to_string().as_bytes()[14], b'7');
        assert_eq!(early.to_string().parse(), Ok(early));
    }

    #[test]
    fn only_the_canonical_spelling_is_an_id() {
        let id =
            JobId::new(Timestamp::from_millis(0x00ab_cdef), [Entropy(9), Entropy(9)]).to_string();
        for wrong in [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}"), String::new()] {
            assert_eq!(wrong.parse::<JobId>(), Err(InvalidId), "{wrong}");
        }
    }

    #[test]
    fn a_tenant_id_is_parsed_even_inside_json() {
        assert!(serde_json::from_str::<TenantId>(r#""acme-2""#).is_ok());
        assert!(serde_json::from_str::<TenantId>(r#""Not Ok""#).is_err());
    }
}
