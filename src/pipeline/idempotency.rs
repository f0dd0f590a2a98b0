//! `Idempotency-Key`: a request that is sent again is answered again, and made
//! once.
//!
//! The first answer is written down in the transaction that accepts its jobs:
//! there is never a key without them, nor a moment in which two requests with
//! one key both go on. What was refused has left no key behind.
use super::accept::Acceptor;
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::places::Places;
use super::ports::{Ambient, Database};
use super::problem::Problem;
use super::read::ask;
use super::store::{self, Earlier, NewKey, hex};
use crate::domain::{Span, Timestamp};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

/// The SHA-256 of what a request asks for, made while it arrives; nothing at
/// all for a request without a key.
#[derive(Clone, Debug)]
pub struct Fingerprint(Option<Rc<RefCell<Sha256>>>);

impl Fingerprint {
    /// Of a request that nobody will compare.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Of a caller's request: what its headers ask for is in it.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        if caller.idempotency_key.is_none() {
            return Self::none();
        }
        let print = Self(Some(Rc::default()));
        for header in [&caller.user_id, &caller.version, &caller.beta] {
            print.word(header.as_deref().unwrap_or_default());
        }
        print
    }

    /// Adds bytes as they come.
    pub fn push(&self, bytes: &[u8]) {
        if let Some(hash) = &self.0 {
            hash.borrow_mut().update(bytes);
        }
    }

    /// Adds something that ends: what follows cannot be taken for a part of it.
    pub fn word(&self, text: &str) {
        self.push(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.push(text.as_bytes());
    }

    /// Adds a body to its end, and keeps nothing of it.
    ///
    /// # Errors
    ///
    /// 400 if it cannot be read.
    pub async fn read<S, E>(&self, body: S) -> Result<(), Problem>
    where
        S: Stream<Item = Result<Bytes, E>>,
    {
        let mut body = pin!(body);
        while let Some(chunk) = body.next().await {
            let cut = |_| Problem::invalid("the body could not be read to its end");
            self.push(&chunk.map_err(cut)?);
        }
        Ok(())
    }

    fn hex(&self) -> String {
        let hash = self.0.as_ref().map(|hash| hash.borrow().clone().finalize());
        hash.map_or_else(String::new, |hash| hex(&hash))
    }
}

/// What was answered to an earlier request with this key, if there was one.
///
/// # Errors
///
/// 503 if the database does not answer.
pub async fn earlier<P>(ports: &P, caller: &Caller) -> Result<Option<Earlier>, Problem>
where
    P: Database + Ambient,
{
    let Some(key) = &caller.idempotency_key else { return Ok(None) };
    let since = expired_before(ports.now());
    let find = store::find_key(&caller.tenant.tenant_id, key, since);
    Ok(store::first::<Earlier>(&ask(ports, vec![find]).await?)?.pop())
}

/// The first answer, again.
///
/// # Errors
///
/// 422 if the request was another one.
pub fn replay(earlier: &Earlier, fingerprint: &Fingerprint) -> Answered {
    if earlier.fingerprint != fingerprint.hex() {
        return Err(Problem::key_reused());
    }
    let answer = Answer { status: 202, body: earlier.answer.clone(), headers: Vec::new() };
    Ok(answer.with("location", earlier.location.clone()).with("idempotent-replayed", "true"))
}

/// How making what a request asks for went.
pub enum Made {
    /// It is there.
    New(Answer),
    /// Its key was taken meanwhile: nothing was made.
    Before(Earlier),
}

/// Answers a request. Places that were not taken are given back.
///
/// # Errors
///
/// What went wrong.
pub async fn settle<P: Acceptor>(
    places: &Places<'_, P>,
    print: &Fingerprint,
    made: Result<Made, Problem>,
) -> Answered {
    let quota = places.quota();
    let answered = match made {
        Ok(Made::New(answer)) => return Ok(answer.quota(quota)),
        Ok(Made::Before(earlier)) => replay(&earlier, print),
        Err(problem) => Err(problem),
    };
    places.give_back().await;
    match answered {
        Ok(answer) => Ok(answer.quota(quota)),
        Err(problem) => Err(Problem { quota, ..problem }),
    }
}

/// What is to be written down with the jobs, so that the request can be told
/// from others; `None` without a key. `made` is the moment in the id of the job
/// or batch.
pub fn new_key<P: Acceptor>(
    ports: &P,
    caller: &Caller,
    fingerprint: &Fingerprint,
    (location, answer): (&str, &str),
    made: Timestamp,
) -> Option<NewKey> {
    Some(NewKey {
        tenant_id: caller.tenant.tenant_id.clone(),
        key: caller.idempotency_key.clone()?,
        fingerprint: fingerprint.hex(),
        location: location.to_owned(),
        answer: answer.to_owned(),
        created_at: made,
        expired_before: expired_before(ports.now()),
    })
}

/// Keys used before this moment are free again.
#[must_use]
pub fn expired_before(now: Timestamp) -> Timestamp {
    now.before(KEPT)
}

/// How long a key stands for its first request.
const KEPT: Span = Span::from_secs(86_400);
