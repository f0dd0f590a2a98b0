//! What an upload may cost in memory and patience, and what is left when the
//! store or the client fails.
mod upload_world;

use bytes::Bytes;
use claude_pipeline::pipeline::upload::PART;
use futures_util::{StreamExt, stream};
use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use upload_world::{Fault, Seats, World, file, form, pdf};

#[test]
fn a_file_longer_than_a_part_goes_in_equal_parts_through_one_buffer() {
    for bytes in [PART, PART + 1, 2 * PART] {
        let (world, content) = (World::default(), pdf(bytes));
        let body = form(&[file("a.pdf", &content), file("b.pdf", &pdf(50))]);
        let form = world.post(&body, 1 << 20).unwrap();
        assert!(world.files(&form)[0].1 == content, "{bytes} bytes");
        assert_eq!(world.body_lengths().len(), bytes.div_ceil(PART) + 1);
        assert!(world.body_lengths().iter().all(|len| *len <= PART));
        assert_eq!((world.buffers(), world.open_uploads()), (1, 0));
    }
}

#[test]
fn no_more_is_read_than_can_be_held() {
    for chunk in [1_000, 1 << 18] {
        let (world, read) = (World::default(), AtomicUsize::new(0));
        let body = form(&[file("a.pdf", &pdf(PART + PART / 2)), file("b.pdf", &pdf(PART / 2))]);
        let body = stream::iter(body.chunks(chunk).map(Bytes::copy_from_slice).collect::<Vec<_>>());
        let body = body.inspect(|chunk| {
            let read = read.fetch_add(chunk.len(), Relaxed) + chunk.len();
            let held = read - world.body_lengths().iter().sum::<usize>();
            assert!(held <= PART + chunk.len() + 200_000, "{held} bytes are held");
        });
        assert!(world.post_stream(body).is_ok());
    }
}

#[test]
fn a_file_too_large_for_claude_is_refused_before_it_has_all_arrived() {
    let (world, read) = (World::default(), AtomicUsize::new(0));
    let start = form(&[file("big.pdf", &pdf(1_000))]);
    let start = Bytes::from(start[..start.len() - 30].to_vec());
    let rest = stream::repeat(Bytes::from(vec![b' '; 1 << 16]));
    let body = stream::iter([start]).chain(rest).inspect(|chunk| {
        read.fetch_add(chunk.len(), Relaxed);
    });
    let problem = world.post_stream(body).unwrap_err();
    assert_eq!((problem.status, problem.field.as_deref()), (413, Some("big.pdf")));
    assert!(problem.detail.contains("24000000 bytes"), "{}", problem.detail);
    assert!(read.load(Relaxed) < 25_000_000);
    assert!(world.is_empty() && world.open_uploads() == 0);
}

#[test]
fn framing_without_end_is_refused() {
    let header = b"--XcaseBoundary7\r\nContent-Disposition: form-data; name=\"".to_vec();
    for start in [b"x".to_vec(), header, b"--XcaseBoundary7 ".to_vec()] {
        let rest = stream::repeat(Bytes::from(vec![b'x'; 4_096]));
        let body = stream::iter([Bytes::from(start)]).chain(rest);
        let problem = World::default().post_stream(body).unwrap_err();
        assert!(problem.status == 400 && problem.detail.contains("CRLF"), "{}", problem.detail);
    }
}

#[test]
fn a_body_cut_off_anywhere_is_refused_and_nothing_is_kept() {
    let body = form(&[file("a.pdf", &pdf(60)), file("b.pdf", &pdf(60))]);
    for end in 0..body.len() - 4 {
        let world = World::default();
        assert_eq!(world.post(&body[..end], 16).unwrap_err().status, 400, "cut at {end}");
        let broken = stream::iter([Ok(Bytes::copy_from_slice(&body[..end])), Err("gone")]);
        let received = world.post_broken(broken, &mut Seats(9));
        assert_eq!(received.unwrap_err().status, 400, "broken at {end}");
        assert!(world.is_empty());
    }
}

#[test]
fn a_form_with_more_files_than_there_is_room_for_is_refused_and_nothing_is_kept() {
    let files = ["a", "b", "c"].map(|name| file(name, &pdf(60)));
    let body = || stream::iter([Ok::<_, &str>(Bytes::from(form(&files)))]);
    for seats in 0..3 {
        let world = World::default();
        let problem = world.post_broken(body(), &mut Seats(seats)).unwrap_err();
        assert_eq!(problem.status, 429);
        assert!(world.is_empty());
    }
    assert!(World::default().post_broken(body(), &mut Seats(3)).is_ok());
}

#[test]
fn a_form_that_has_more_files_than_any_may_have_is_not_sent_away_to_come_back() {
    let files = ["a", "b", "c", "d"].map(|name| file(name, &pdf(60)));
    let body = || stream::iter([Ok::<_, &str>(Bytes::from(form(&files)))]);
    for seats in 0..3 {
        let world = World::default();
        let problem = world.post_broken(body(), &mut Seats(seats)).unwrap_err();
        assert_eq!((problem.status, problem.retry_after), (413, None));
        assert!(world.is_empty());
    }
    let huge = [file("a", &pdf(60)), file("b", &pdf(3_000_000)), file("c", &pdf(60))];
    let huge = form(&[&huge[..], &[file("d", &pdf(60))]].concat());
    let huge = stream::iter([Ok::<_, &str>(Bytes::from(huge))]);
    let problem = World::default().post_broken(huge, &mut Seats(1)).unwrap_err();
    assert_eq!(problem.status, 429, "nobody reads all that to be told so");
}

#[test]
fn a_passing_fault_of_the_store_goes_unnoticed() {
    let files = [pdf(PART + 9), pdf(70)];
    let body = form(&[file("a.pdf", &files[0]), file("b.pdf", &files[1])]);
    for (fault, run) in [(Fault::Before, 3), (Fault::After, 1), (Fault::After, 3)] {
        for first in placements(&body) {
            let world = World::failing(first..first + run, fault);
            let form = world.post(&body, 1 << 16).unwrap();
            let stored = world.files(&form).into_iter().map(|(_, content)| content);
            assert!(stored.eq(files.clone()), "{run} times {fault:?} at {first}");
        }
    }
}

#[test]
fn a_lasting_fault_of_the_store_leaves_nothing() {
    let body = form(&[file("a.pdf", &pdf(70)), file("b.pdf", &pdf(PART + 9))]);
    for (fault, run) in [(Fault::Before, 4), (Fault::After, 4), (Fault::Refused, 1)] {
        for first in placements(&body) {
            let world = World::failing(first..first + run, fault);
            // A step that was done all the same may be found out, and then counts.
            match world.post(&body, 1 << 16) {
                Ok(form) => assert_eq!(world.files(&form).len(), 2, "{fault:?} at {first}"),
                Err(_) => assert!(world.is_empty(), "{fault:?} at {first}"),
            }
        }
    }
}

#[test]
fn a_store_that_stays_away_is_a_503_and_its_own_fault_a_500() {
    let body = form(&[file("a.pdf", &pdf(70))]);
    for (fault, status) in [(Fault::Before, 503), (Fault::After, 503), (Fault::Refused, 500)] {
        let problem = World::failing(0..u32::MAX, fault).post(&body, 99).unwrap_err();
        assert_eq!(problem.status, status);
    }
}

#[test]
fn a_refusal_leaves_nothing_even_when_the_store_falters() {
    let body =
        form(&[file("a.pdf", &pdf(70)), file("b.pdf", &pdf(PART + 9)), file("c.pdf", b"<html>")]);
    for fault in [Fault::Before, Fault::After] {
        for first in placements(&body) {
            let world = World::failing(first..first + 3, fault);
            let problem = world.post(&body, 1 << 16).unwrap_err();
            assert_eq!((problem.status, problem.field.as_deref()), (400, Some("c.pdf")));
            assert!(world.is_empty(), "{fault:?} at {first}");
        }
    }
}

/// Every command that can be the first to fail.
fn placements(body: &[u8]) -> Range<u32> {
    let world = World::default();
    drop(world.post(body, 1 << 16));
    0..world.commands()
}
