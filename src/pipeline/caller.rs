//! Who asks: the tenant behind a key, and what the headers add.
use super::ports::{Ambient, Database};
use super::problem::Problem;
use super::retry::patiently;
use super::store::{self, KeyHash, Tenant};
use crate::domain::{Span, Timestamp};
use std::cell::RefCell;

/// A caller whose key is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Caller {
    /// The tenant.
    pub tenant: Tenant,
    /// `x-user-id`: a label inside the tenant, no more.
    pub user_id: Option<String>,
    /// `anthropic-version`, if sent.
    pub version: Option<String>,
    /// `anthropic-beta`, if sent.
    pub beta: Option<String>,
    /// `Idempotency-Key`, if sent.
    pub idempotency_key: Option<String>,
    /// `Prefer: wait`, if sent: at most [`LONGEST_WAIT`].
    pub wait: Option<Span>,
}

/// Recognises the caller by its key, and reads its other headers.
///
/// # Errors
///
/// 401 without a valid key, 403 for a suspended tenant, 400 for a malformed header, 503 if the keys cannot
/// be read.
pub async fn recognise<P>(
    ports: &P,
    keys: &KeyCache,
    header: impl Fn(&str) -> Option<String>,
) -> Result<Caller, Problem>
where
    P: Database + Ambient,
{
    let key = key_of(&header).ok_or_else(Problem::unauthorized)?;
    let hash = KeyHash::of(&key);
    let tenant = if let Some(tenant) = keys.get(hash, ports.now()) {
        tenant
    } else {
        keys.put(hash, look_up(ports, hash).await?, ports.now())
    };
    if tenant.suspended_at.is_some() {
        return Err(Problem::suspended());
    }
    Ok(Caller {
        tenant,
        user_id: label(&header, "x-user-id", 128, |_| true)?,
        version: label(&header, "anthropic-version", 10, is_date)?,
        beta: label(&header, "anthropic-beta", 2_000, |_| true)?,
        idempotency_key: idempotency_key(&header)?,
        wait: header("prefer").and_then(|value| preferred_wait(&value)),
    })
}

async fn look_up<P>(ports: &P, hash: KeyHash) -> Result<Tenant, Problem>
where
    P: Database + Ambient,
{
    let ask = async || ports.batch(vec![store::tenant_of_key(hash)]).await;
    let found = store::first::<Tenant>(&patiently(ports, ask).await?)?.pop();
    found.filter(|tenant| hash.matches(&tenant.key_hash)).ok_or_else(Problem::unauthorized)
}

/// Both header forms are in use: older SDKs send `x-api-key`, newer ones a
/// bearer token. If both arrive, Claude uses `x-api-key`; so do we.
pub(super) fn key_of(header: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let bearer = || {
        let value = header("authorization")?;
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    };
    let key = header("x-api-key").or_else(bearer)?;
    (1..=MAX_KEY).contains(&key.len()).then_some(key)
}

fn label(
    header: &impl Fn(&str) -> Option<String>,
    name: &str,
    longest: usize,
    fits: impl Fn(&str) -> bool,
) -> Result<Option<String>, Problem> {
    let Some(value) = header(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    // What was no UTF-8 has become a replacement character on its way here.
    let plain = value.chars().all(|c| !c.is_control() && c != char::REPLACEMENT_CHARACTER);
    if value.len() <= longest && plain && fits(&value) {
        return Ok(Some(value));
    }
    let allowed = format!("the header {name} must be plain UTF-8 text of at most {longest} bytes");
    let form = if name == "anthropic-version" { ", a date like 2023-06-01" } else { "" };
    Err(Problem::field(name, allowed + form))
}

/// Whether a body comes as it is: none is unpacked here.
///
/// # Errors
///
/// 415 that names the encoding.
pub(super) fn plain_body(encoding: Option<&str>) -> Result<(), Problem> {
    match encoding {
        Some(encoding) if !encoding.eq_ignore_ascii_case("identity") => {
            let detail = format!("send the body without content-encoding, not as `{encoding}`");
            Err(Problem::unsupported_type(detail))
        }
        _ => Ok(()),
    }
}

/// A key that says nothing is refused: whoever sent it believes that the
/// request is made once.
fn idempotency_key(header: &impl Fn(&str) -> Option<String>) -> Result<Option<String>, Problem> {
    let Some(key) = header("idempotency-key") else { return Ok(None) };
    let printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    if (1..=MOST_IDEMPOTENCY_KEY).contains(&key.len()) && key.bytes().all(printable) {
        return Ok(Some(key));
    }
    let detail = format!(
        "the header idempotency-key must have 1 to {MOST_IDEMPOTENCY_KEY} printable ASCII characters"
    );
    Err(Problem::field("idempotency-key", detail))
}

/// `wait=N` of a `Prefer` header (RFC 7240), in seconds. What it means to say
/// otherwise is ignored, as a preference should be.
fn preferred_wait(value: &str) -> Option<Span> {
    let mut waits = value.split([',', ';']).filter_map(|preference| {
        let (name, seconds) = preference.split_once('=')?;
        let seconds = seconds.trim().trim_matches('"');
        let whole = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let wait = whole.then(|| seconds.parse().map_or(LONGEST_WAIT, Span::from_secs))?;
        name.trim().eq_ignore_ascii_case("wait").then_some(wait)
    });
    waits.next().map(|wait| wait.min(LONGEST_WAIT)).filter(|wait| *wait > Span::ZERO)
}

fn is_date(value: &str) -> bool {
    value.len() == 10
        && value.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Keys seen lately, so that a busy caller costs no database read. A revoked
/// key is forgotten within half a minute.
#[derive(Debug, Default)]
pub struct KeyCache(RefCell<Vec<Known>>);

/// A key's tenant, and until when it counts; in the order of the hashes.
type Known = (KeyHash, Tenant, Timestamp);

impl KeyCache {
    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    fn get(&self, hash: KeyHash, now: Timestamp) -> Option<Tenant> {
        let known = self.0.borrow();
        let place = known.binary_search_by_key(&hash, |(hash, ..)| *hash).ok()?;
        let (_, tenant, until) = known.get(place)?;
        (now < *until).then(|| tenant.clone())
    }

    fn put(&self, hash: KeyHash, tenant: Tenant, now: Timestamp) -> Tenant {
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST_KEYS {
            known.clear();
        }
        known.retain(|(known, ..)| *known != hash);
        let place = known.partition_point(|(known, ..)| *known < hash);
        known.insert(place, (hash, tenant.clone(), now + KEPT));
        tenant
    }
}

/// Nobody is kept waiting longer at the door.
pub const LONGEST_WAIT: Span = Span::from_secs(60);

const MAX_KEY: usize = 256;
const MOST_IDEMPOTENCY_KEY: usize = 255;
const MOST_KEYS: usize = 1_000;
const KEPT: Span = Span::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(headers: &[(&str, &str)]) -> Option<String> {
        key_of(&|name: &str| {
            headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_key_comes_in_either_header() {
        assert_eq!(key(&[("authorization", "Bearer k1")]).as_deref(), Some("k1"));
        assert_eq!(key(&[("authorization", "bearer  k1 ")]).as_deref(), Some("k1"));
        assert_eq!(key(&[("x-api-key", "k2")]).as_deref(), Some("k2"));
        assert_eq!(
            key(&[("x-api-key", "k2"), ("authorization", "Bearer k1")]).as_deref(),
            Some("k2")
        );
        assert_eq!(key(&[("authorization", "Basic k1")]), None);
        assert_eq!(key(&[("authorization", "Bearer ")]), None);
        assert_eq!(key(&[]), None);
    }

    #[test]
    fn a_cached_key_is_forgotten_in_time() {
        let cache = KeyCache::new();
        let hash = KeyHash::of("k");
        let tenant: Tenant =
            serde_json::from_str(r#"{"tenantId":"acme","plan":"free","keyHash":""}"#).unwrap();
        cache.put(hash, tenant, Timestamp::default());
        assert!(cache.get(hash, Timestamp::from_millis(29_999)).is_some());
        assert!(cache.get(hash, Timestamp::from_millis(30_000)).is_none());
    }

    #[test]
    fn an_idempotency_key_is_printable_and_not_empty() {
        let read = |value: &str| idempotency_key(&|_: &str| Some(value.to_owned()));
        let longest = "~".repeat(255);
        for fits in ["a", "order 17", longest.as_str()] {
            assert_eq!(read(fits).unwrap().as_deref(), Some(fits));
        }
        let beyond = "~".repeat(256);
        for wrong in ["", "a\tb", "a\u{7f}", "ü", beyond.as_str()] {
            assert_eq!(read(wrong).unwrap_err().field.as_deref(), Some("idempotency-key"));
        }
        assert_eq!(idempotency_key(&|_: &str| None).unwrap(), None);
    }

    #[test]
    fn a_preferred_wait_is_cut_and_what_is_none_is_ignored() {
        let read = |value: &str| preferred_wait(value).map(Span::as_secs_rounded_up);
        for (value, wait) in [
            ("wait=5", Some(5)),
            ("respond-async, Wait = \"7\"; x=1", Some(7)),
            ("wait=61", Some(60)),
            ("wait=99999999999999999999999", Some(60)),
            ("wait=0", None),
            ("wait=-1", None),
            ("wait=1.5", None),
            ("wait=", None),
            ("await=5", None),
        ] {
            assert_eq!(read(value), wait, "{value}");
        }
    }

    #[test]
    fn a_version_is_a_date() {
        assert!(is_date("2023-06-01"));
        assert!(!is_date("2023-6-1"));
        assert!(!is_date("latest"));
    }
}
