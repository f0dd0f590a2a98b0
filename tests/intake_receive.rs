//! Where `POST /jobs` keeps a request while it arrives, and what is left when
//! the client or the store fails.
#![allow(clippy::unwrap_used, reason = "test code")]

mod intake_world;

use bytes::Bytes;
use claude_pipeline::{
    domain::{Entropy, JobId, Timestamp},
    pipeline::{
        intake::{Received, RequestPlace, receive},
        problem::Problem,
        upload::{PART, Permits},
    },
};
use futures_executor::block_on;
use futures_util::{FutureExt, StreamExt, future, stream};
use intake_world::{Fault, World};
use std::collections::BTreeMap;

#[test]
fn a_small_request_stays_at_hand_and_needs_no_room() {
    let (world, request) = (World::default(), request(INLINE - 30));
    let received = post(&world, &Permits::new(0), vec![body(&request)]).unwrap();
    assert_eq!(received.place, Some(RequestPlace::Inline(streamed(&request))));
    assert_eq!(world.commands(), 0);
}

#[test]
fn a_body_without_a_request_needs_no_room_either() {
    let (world, body) = (World::default(), format!(r#"{{"prompt":"{}"}}"#, "x".repeat(200_000)));
    let received = post(&world, &Permits::new(0), vec![body]).unwrap();
    assert_eq!((received.place, received.body.request), (None, None));
    assert_eq!((received.body.fields.len(), world.commands()), (1, 0));
}

#[test]
fn a_large_request_is_an_object_exactly_as_the_upstream_gets_it() {
    for len in [INLINE, PART - 100, PART + 1, 2 * PART + 7] {
        let (world, permits, request) = (World::default(), Permits::new(1), request(len));
        let received = post(&world, &permits, vec![body(&request)]).unwrap();

        let sent = streamed(&request);
        let bytes = sent.len() as u64;
        assert_eq!(received.place, Some(RequestPlace::Object { key: key(), bytes }));
        assert_eq!(received.body.request.unwrap().bytes, bytes);
        assert!(world.objects() == BTreeMap::from([(key(), sent)]), "{len} bytes");
        assert!(permits.try_take().is_some(), "the permit is given back");
    }
}

#[test]
fn fields_after_a_large_request_are_read_too() {
    let body = format!(r#"{{"request":{},"origin":"scheduled"}}"#, request(PART + 1));
    let received = post(&World::default(), &Permits::new(1), vec![body]).unwrap();
    assert_eq!(received.body.fields, [("origin".to_owned(), r#""scheduled""#.to_owned())]);
}

#[test]
fn a_large_request_waits_for_room_and_not_for_ever() {
    let world = World::default();
    let problem = post(&world, &Permits::new(0), vec![body(&request(PART))]).unwrap_err();
    assert_eq!(problem.status, 503);
    assert!(world.is_clean());
}

#[test]
fn a_refused_body_leaves_nothing_behind() {
    let start = format!(r#"{{"request":{}"#, request(2 * PART));
    for end in [
        "",
        ",",
        "}}",
        r#","request":{}}"#,
        r#","a":1,"a":2}"#,
        &format!(r#","a":"{}"}}"#, "x".repeat(1_000_001)),
    ] {
        let (world, permits) = (World::default(), Permits::new(1));
        let chunks = vec![start.clone(), end.to_owned()];
        let problem = post(&world, &permits, chunks).unwrap_err();
        assert!(matches!(problem.status, 400 | 413), "{}", problem.detail);
        assert!(world.commands() > 0 && world.is_clean(), "{}", problem.detail);
        assert!(permits.try_take().is_some());
    }
}

#[test]
fn a_body_that_breaks_off_leaves_nothing_behind() {
    let world = World::default();
    let start = Bytes::from(format!(r#"{{"request":{}"#, request(2 * PART)));
    let broken = stream::iter([Ok(start), Err("reset")]);
    let problem = block_on(receive(&world, broken, job(), &Permits::new(1), INLINE)).unwrap_err();
    assert_eq!(problem.detail, "the body could not be read to its end");
    assert_eq!(problem.status, 400);
    assert!(world.commands() > 0 && world.is_clean());
}

#[test]
fn a_store_that_recovers_is_no_problem() {
    for (len, commands) in [(PART / 2, 1), (2 * PART, 5)] {
        for command in 0..commands {
            for fault in [Fault::Before, Fault::After] {
                let world = World::failing(command..command + 1, fault);
                let request = request(len);
                post(&world, &Permits::new(1), vec![body(&request)]).unwrap();
                assert!(world.objects() == BTreeMap::from([(key(), streamed(&request))]));
            }
        }
    }
}

#[test]
fn a_store_that_fails_leaves_nothing_behind() {
    for (len, commands) in [(PART / 2, 1), (2 * PART, 5)] {
        for command in 0..commands {
            for (fault, status) in
                [(Fault::Before, 503), (Fault::After, 503), (Fault::Refused, 500)]
            {
                let (world, permits) = (World::failing(command..u32::MAX, fault), Permits::new(1));
                let problem = post(&world, &permits, vec![body(&request(len))]).unwrap_err();
                assert_eq!(problem.status, status, "{command} {fault:?}");
                assert_eq!(world.objects(), BTreeMap::new(), "{command} {fault:?}");
                // An upload that we know nothing of is invisible, and expires.
                let unknown = command == 0 && fault == Fault::After;
                assert!(world.open_uploads() == 0 || unknown, "{command} {fault:?}");
                assert!(permits.try_take().is_some());
            }
        }
    }
}

#[test]
fn a_removal_that_fails_changes_no_answer() {
    let world = World::that_cannot_remove();
    let chunks = vec![format!(r#"{{"request":{}}},"#, request(2 * PART))];
    let problem = post(&world, &Permits::new(1), chunks).unwrap_err();
    assert_eq!(problem.status, 400);
    assert_eq!(world.open_uploads(), 1);
}

#[test]
fn while_a_body_waits_for_its_next_chunk_only_a_large_one_holds_a_permit() {
    for (len, free) in [(INLINE / 2, true), (PART, false)] {
        let (world, permits) = (World::default(), Permits::new(1));
        let start = Ok::<_, ()>(Bytes::from(format!(r#"{{"request":{}"#, request(len))));
        let body = stream::iter([start]).chain(stream::once(future::pending()));
        let mut receiving = Box::pin(receive(&world, body, job(), &permits, INLINE));
        assert!((&mut receiving).now_or_never().is_none());
        assert_eq!(permits.try_take().is_some(), free);
        drop(receiving);
        assert!(permits.try_take().is_some());
    }
}

const INLINE: usize = 64 * 1024;

/// A request of about this length.
fn request(len: usize) -> String {
    format!(r#"{{"a":"{}漢"}}"#, "x".repeat(len))
}

fn streamed(request: &str) -> String {
    format!(r#"{},"stream":true}}"#, request.strip_suffix('}').unwrap())
}

fn body(request: &str) -> String {
    format!(r#"{{"origin":"scheduled","request":{request}}}"#)
}

fn job() -> JobId {
    JobId::new(Timestamp::from_millis(7), [Entropy(7), Entropy(7)])
}

fn key() -> String {
    format!("inputs/{}.json", job())
}

fn post(world: &World, permits: &Permits, chunks: Vec<String>) -> Result<Received, Problem> {
    let chunks = chunks.into_iter().map(|chunk| Ok::<_, ()>(Bytes::from(chunk)));
    block_on(receive(world, stream::iter(chunks), job(), permits, INLINE))
}
