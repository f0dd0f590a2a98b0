//! The body of an operator's request: a JSON object of known fields, checked.
use crate::domain::{Plan, TenantId};
use crate::pipeline::caller::plain_body;
use crate::pipeline::field::{kind, number, text};
use crate::pipeline::problem::Problem;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::pin::pin;

/// The whole body of a request, as text.
///
/// # Errors
///
/// 413 if it is too long, 415 if it is compressed, 400 if it cannot be read.
pub async fn body<S, E>(chunks: S, encoding: Option<&str>) -> Result<String, Problem>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    let mut chunks = pin!(chunks);
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let cut = |_| Problem::invalid("the body could not be read to its end");
        read.extend_from_slice(&chunk.map_err(cut)?);
        if read.len() > LONGEST_BODY {
            let detail = format!("the body may have {LONGEST_BODY} bytes at most");
            return Err(Problem::too_large(detail));
        }
    }
    if !read.is_empty() {
        plain_body(encoding)?;
    }
    String::from_utf8(read).map_err(|_| Problem::invalid("the body is not UTF-8"))
}

/// Fields by their names.
pub(super) type Fields = Map<String, Value>;

/// Reads a body of these fields.
///
/// # Errors
///
/// 400 that says what is allowed.
pub(super) fn read(body: &str, allowed: &[&str]) -> Result<Fields, Problem> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let read = serde_json::from_str::<Value>(body);
    let value = read.map_err(|error| {
        Problem::invalid(format!("the body must be a JSON object of {}: {error}", known(allowed)))
    })?;
    let Value::Object(fields) = value else {
        let kind = kind(&value);
        return Err(Problem::invalid(format!("the body must be a JSON object, not {kind}")));
    };
    if let Some(name) = fields.keys().find(|name| !allowed.contains(&name.as_str())) {
        let detail = format!("unknown field `{name}`; allowed are {}", known(allowed));
        return Err(Problem::field(name, detail));
    }
    match allowed.iter().find(|name| sent_twice(body, name)) {
        None => Ok(fields),
        Some(name) => Err(Problem::field(*name, format!("the field `{name}` was sent twice"))),
    }
}

/// Whether an object has a field more than once; the last one would count.
fn sent_twice(body: &str, name: &str) -> bool {
    struct Count<'a>(&'a str);
    impl<'de> Visitor<'de> for Count<'_> {
        type Value = usize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<usize, M::Error> {
            let mut count = 0;
            while let Some((name, IgnoredAny)) = map.next_entry::<String, _>()? {
                count += usize::from(name == self.0);
            }
            Ok(count)
        }
    }
    let mut body = serde_json::Deserializer::from_str(body);
    body.deserialize_map(Count(name)).is_ok_and(|count| count > 1)
}

/// Takes the id a new tenant is to have.
///
/// # Errors
///
/// 400 that says what is allowed.
pub(super) fn take_tenant(fields: &mut Fields) -> Result<TenantId, Problem> {
    let missing = || Problem::field("tenantId", "`tenantId` is missing; a tenant needs one");
    let given = fields.remove("tenantId").ok_or_else(missing)?;
    let id = TenantId::try_from(text("tenantId", &given)?.to_owned());
    id.map_err(|_| {
        let detail = "`tenantId` must be 1 to 64 lower-case letters, digits or dashes";
        Problem::field("tenantId", detail)
    })
}

/// Checks each field. `null` is allowed where it stands for what the plan or a
/// variable says.
///
/// # Errors
///
/// 400 that names the field and says what is allowed.
pub(super) fn check(fields: &Fields) -> Result<(), Problem> {
    fields.iter().try_for_each(|(name, value)| check_one(name, value))
}

fn check_one(name: &str, value: &Value) -> Result<(), Problem> {
    match name {
        "name" => label(name, text(name, value)?),
        "plan" => plan(text(name, value)?),
        "suspended" if value.is_boolean() => Ok(()),
        "weight" => number_or_null(name, value, 1, MOST_WEIGHT),
        "dailyInputTokens" => number_or_null(name, value, 0, MOST_TOKENS),
        "requestsPerMinute" => number_or_null(name, value, 1, MOST_REQUESTS),
        _ => {
            let detail = format!("`{name}` must be true or false, not {}", kind(value));
            Err(Problem::field(name, detail))
        }
    }
}

fn label(name: &str, value: &str) -> Result<(), Problem> {
    let fits = value.chars().count() <= LONGEST_LABEL && !value.trim().is_empty();
    if fits && !value.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!(
        "`{name}` must be 1 to {LONGEST_LABEL} characters, not all blank, none a control character"
    );
    Err(Problem::field(name, detail))
}

fn plan(word: &str) -> Result<(), Problem> {
    let detail = "`plan` must be one of free, pro";
    Plan::from_word(word).map(drop).ok_or_else(|| Problem::field("plan", detail))
}

fn number_or_null(name: &str, value: &Value, low: u64, high: u64) -> Result<(), Problem> {
    if value.is_null() { Ok(()) } else { number(name, value, low, high).map(drop) }
}

fn known(allowed: &[&str]) -> String {
    allowed.join(", ")
}

const LONGEST_BODY: usize = 65_536;
const LONGEST_LABEL: usize = 200;
const MOST_WEIGHT: u64 = 100;
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_REQUESTS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;
    use futures_util::stream::iter;

    fn read_in(pieces: &[&[u8]]) -> Result<String, u16> {
        let pieces = pieces.iter().map(|piece| Ok::<_, ()>(Bytes::copy_from_slice(piece)));
        block_on(body(iter(pieces), None)).map_err(|problem| problem.status)
    }

    #[test]
    fn a_body_is_read_whole_up_to_its_bound() {
        let half = vec![b'x'; LONGEST_BODY / 2];
        assert_eq!(read_in(&[]).as_deref(), Ok(""));
        assert_eq!(read_in(&["é".as_bytes().split_at(1).0, &[0xa9]]).as_deref(), Ok("é"));
        assert_eq!(read_in(&[&half, &half]).map(|body| body.len()), Ok(LONGEST_BODY));
        assert_eq!(read_in(&[&half, &half, b"x"]), Err(413));
        assert_eq!(read_in(&[&[0xff]]), Err(400));
        let broken = iter([Ok(Bytes::from("{")), Err(())]);
        assert_eq!(block_on(body(broken, None)).unwrap_err().status, 400);
    }
}
