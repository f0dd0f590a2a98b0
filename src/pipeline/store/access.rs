//! Who holds a key.
use super::{statement, text};
use crate::domain::{Plan, TenantId, Timestamp};
use crate::pipeline::ports::Statement;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use subtle::ConstantTimeEq;

/// The SHA-256 of an API key: all that is stored of it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Hashes a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Lower-case hexadecimal, as stored.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// Whether `hex` is this hash; the time taken does not tell where they
    /// differ.
    #[must_use]
    pub fn matches(self, hex: &str) -> bool {
        self.to_hex().as_bytes().ct_eq(hex.as_bytes()).into()
    }
}

/// Bytes in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whose key it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    /// The tenant.
    pub tenant_id: TenantId,
    /// What it pays for.
    pub plan: Plan,
    /// Its own weight between tenants, if it is not its plan's.
    pub weight: Option<u32>,
    /// Its own daily budget of input tokens, if it is not the setting's.
    pub daily_input_tokens: Option<u64>,
    /// How many submissions a minute it may make, if it is not its plan's.
    pub requests_per_minute: Option<u64>,
    /// Since when its keys are refused.
    pub suspended_at: Option<Timestamp>,
    /// The stored hash the key was found by.
    pub key_hash: String,
}

/// Reads the tenant that holds a key: one row, or none.
#[must_use]
pub fn tenant_of_key(hash: KeyHash) -> Statement {
    statement(TENANT_OF_KEY, [text(&hash.to_hex())])
}

const TENANT_OF_KEY: &str = "
SELECT json_object('tenantId', tenant_id, 'plan', plan, 'weight', weight,
  'dailyInputTokens', daily_input_tokens, 'requestsPerMinute', requests_per_minute,
  'suspendedAt', suspended_at, 'keyHash', key_hash) AS row
FROM api_keys JOIN tenants USING (tenant_id)
WHERE key_hash = ?1 AND revoked_at IS NULL";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_hash_only() {
        let hash = KeyHash::of("abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_hex(), known);
        assert!(hash.matches(known));
        assert!(!hash.matches(&known.replace('b', "c")));
        assert!(!hash.matches(""));
    }
}
