//! What `POST /batches` makes of the forms that real clients send.
#![allow(clippy::unwrap_used, reason = "test code")]
mod upload_world;

use bytes::Bytes;
use claude_pipeline::{
    claude::Instructions,
    domain::{Entropy, JobId, Timestamp},
    pipeline::upload::{Arriving, Fields, Form, MAX_FILES, Permits, UploadedFile, receive},
};
use futures_executor::block_on;
use futures_util::stream;
use std::{convert::Infallible, fs};
use upload_world::{Seats, World, arriving, file, form, pdf, text};

#[test]
fn every_file_arrives_whole_whatever_its_name_is_written_like() {
    for (case, names) in ACCEPTED {
        let body = fixture(case);
        for chunk in [1, 7, body.len()] {
            let world = World::default();
            let form =
                world.post(&body, chunk).unwrap_or_else(|problem| panic!("{case}: {problem:?}"));
            let expected: Vec<_> =
                names.iter().map(|name| (*name).to_owned()).zip(contents(&body)).collect();
            assert_eq!(world.files(&form), expected, "{case} in chunks of {chunk}");
        }
    }
}

#[test]
fn a_hundred_files_of_one_name_stay_apart_and_in_order() {
    let (world, body) = (World::default(), fixture("c07-100-same-name.multipart"));
    let form = world.post(&body, 4_096).unwrap();
    let files = world.files(&form);
    assert_eq!(files.len(), MAX_FILES);
    assert!(files.iter().map(|(_, content)| content).eq(&contents(&body)));
    assert!(form.files.iter().map(|file| file.index).eq(0..100));
}

#[test]
fn a_form_without_the_right_files_is_refused() {
    for (case, words) in REFUSED {
        refuses(&fixture(case), words);
    }
    let misnamed = "Content-Disposition: form-data; name=file; filename=a.pdf\r\n\r\n%PDF-1.7";
    let unnamed = b"X: y\r\n\r\nz".to_vec();
    let html = file("page.pdf", &fixture("c10-html.pdf"));
    refuses(&form(&[misnamed.into()]), "no files in field `files`: there is no field `file`");
    refuses(&form(&[text("model", "m")]), "no files in field `files`");
    refuses(&form(&[good(), html]), "\"page.pdf\": the file is not a PDF");
    refuses(&form(&[good(), file("a\0b.pdf", b"%PDF-")]), "malformed");
    refuses(&form(&[good(), unnamed]), "part 2 of the form has no name");
    refuses(b"", "cut off");
    refuses(b"{}", "cut off");
}

#[test]
fn a_form_with_the_wrong_fields_is_refused() {
    let (long, model) = ("x".repeat(200_001), text("model", "a"));
    let not_text = [&text("prompt", "")[..], b"\xff"].concat();
    refuses(&form(&[good(), text("promt", "x")]), "no field `promt`; allowed are `files`");
    refuses(&form(&[good(), model.clone(), model]), "`model` was sent twice");
    refuses(&form(&[good(), text("prompt", &long)]), "`prompt` is longer than 200000");
    refuses(&form(&[good(), text("maxTokens", &long)]), "`maxTokens` is longer than 32");
    refuses(&form(&[good(), not_text]), "`prompt` is not UTF-8");
}

#[test]
fn the_other_fields_may_stand_anywhere() {
    let long = "\u{1d11e}".repeat(200_000);
    let (a, b) = (file("a.pdf", &pdf(100)), file("b.pdf", &pdf(200)));
    let body = form(&[
        text("maxTokens", "12"),
        a,
        text("prompt", &long),
        b,
        text("model", ""),
        text("metadata", "{}"),
    ]);
    let fields = World::default().post(&body, 4_096).unwrap().fields;
    assert_eq!(fields.max_tokens.as_deref(), Some("12"));
    assert_eq!(fields.prompt.as_ref(), Some(&long));
    assert_eq!(fields.metadata.as_deref(), Some("{}"));
    assert_eq!((fields.model, fields.template), (None, None));
}

#[test]
fn a_content_type_that_is_no_form_is_refused_unread() {
    for (content_type, status) in [("application/json", 415), ("multipart/form-data", 400)] {
        let body = stream::poll_fn(|_| -> std::task::Poll<Option<Result<Bytes, Infallible>>> {
            panic!("it was read")
        });
        let (world, permits) = (World::default(), Permits::new(0));
        let arriving = Arriving { content_type, ..arriving(body) };
        let received = block_on(receive(&world, &permits, arriving, &mut Seats(9)));
        assert_eq!(received.unwrap_err().status, status);
    }
}

#[test]
fn an_upload_waits_for_its_turn_and_gives_it_back() {
    let (world, permits) = (World::default(), Permits::new(1));
    let post = |body: &[u8]| {
        let body = stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(body))]);
        block_on(receive(&world, &permits, arriving(body), &mut Seats(9)))
    };
    let held = permits.try_take();
    assert_eq!(post(b"").unwrap_err().status, 503);
    drop(held);
    assert_eq!(post(b"").unwrap_err().status, 400);
    assert!(post(&form(&[file("a.pdf", &pdf(99))])).is_ok());
    assert!(permits.try_take().is_some());
}

#[test]
fn a_file_is_measured_against_the_model_and_the_prompt() {
    let instructions = |model, prompt| Instructions { model, max_tokens: 9, system: None, prompt };
    let long = "x".repeat(100_000);
    for (bytes, pages, model, prompt, status) in [
        (24_000_000 - 1_500, None, "claude-sonnet-5", "p", None),
        (24_000_000 - 1_500, None, "claude-sonnet-5", long.as_str(), Some(413)),
        (24_000_000, Some(1), "claude-sonnet-5", "p", Some(413)),
        (9, Some(100), "claude-haiku-4-5", "p", None),
        (9, Some(101), "claude-haiku-4-5", "p", Some(400)),
    ] {
        let checked = received(bytes, pages).check_for(&instructions(model, prompt));
        assert_eq!(
            checked.as_ref().err().map(|problem| problem.status),
            status,
            "{bytes} {pages:?}"
        );
        assert!(checked.err().is_none_or(|problem| problem.detail.contains("\"a.pdf\"")));
    }
}

#[test]
fn a_form_that_led_to_nothing_can_be_discarded() {
    let world = World::default();
    let form = world.post(&fixture("good-two-files.multipart"), 100).unwrap();
    block_on(form.discard(&world));
    assert!(world.is_empty());
}

#[track_caller]
fn refuses(body: &[u8], words: &str) {
    for chunk in [1, 1_000, 1 << 20] {
        let world = World::default();
        let problem = world.post(body, chunk).unwrap_err();
        assert_eq!(problem.status, 400);
        assert!(problem.detail.contains(words), "{words}: {}", problem.detail);
        assert!(world.is_empty());
    }
}

fn good() -> Vec<u8> {
    file("a.pdf", &pdf(600))
}

fn received(bytes: u64, pages: Option<u32>) -> Form {
    let job = JobId::new(Timestamp::default(), [Entropy(1); 2]);
    let (filename, key) = ("a.pdf".to_owned(), String::new());
    let file = UploadedFile { job, index: 0, filename, key, bytes, pages };
    Form { files: vec![file], fields: Fields::default() }
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(format!("{FIXTURES}{name}")).unwrap()
}

/// The contents of a fixture's parts, cut out with the simplest means.
fn contents(body: &[u8]) -> Vec<Vec<u8>> {
    let text: String = body.iter().copied().map(char::from).collect();
    let parts = text.split("--XcaseBoundary7\r\n").skip(1);
    let content = |part: &str| {
        let (_, content) = part.split_once("\r\n\r\n").unwrap();
        let content = content.split("\r\n--XcaseBoundary7--").next().unwrap();
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        content.chars().map(|c| u8::try_from(c).unwrap()).collect()
    };
    parts.map(content).collect()
}

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/upload/");

const ACCEPTED: [(&str, &[&str]); 15] = [
    ("good-two-files.multipart", &["a.pdf", "b.pdf"]),
    ("c02-backslash-end.multipart", &["file-1.pdf", "b.pdf"]),
    ("c02-escaped-quote.multipart", &["the \"final\" one.pdf"]),
    ("c02-latin1.multipart", &["résumé.pdf"]),
    ("c02-percent22.multipart", &["the \"final\" one 50%25.pdf"]),
    ("c02-raw-utf8.multipart", &["請求書 📄.pdf"]),
    ("c02-star-and-plain.multipart", &["請求.pdf"]),
    ("c02-star-only.multipart", &["übersicht №1.pdf"]),
    ("c05-charset-binary.multipart", &["a.pdf"]),
    ("c05-name-only.multipart", &["a.pdf"]),
    ("c05-no-filename-no-type.multipart", &["file-1.pdf"]),
    ("c05-octet-stream.multipart", &["a.pdf"]),
    ("c05-type-first.multipart", &["a.pdf"]),
    ("c05-type-only.multipart", &["file-1.pdf"]),
    ("c08-batch.multipart", &["good.pdf", "locked.pdf", "owner.pdf"]),
];

const REFUSED: [(&str, &str); 5] = [
    ("c01-lf-only.multipart", "must end with CRLF"),
    ("c07-101.multipart", "at most 100 files"),
    ("c12-nothing-chosen.multipart", "no files in field `files`"),
    ("c12-no-parts.multipart", "no files in field `files`"),
    ("c12-zero.multipart", "\"empty.pdf\": the file is empty"),
];
