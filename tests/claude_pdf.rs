//! PDFs at the door: what is refused, what is let through, what is known.
#![allow(clippy::unwrap_used, reason = "test code")]

use claude_pipeline::claude::{PdfFacts, PdfInspector, PdfRefusal};
use proptest::{collection::vec, prelude::*, test_runner::FileFailurePersistence};

#[test]
fn a_plain_pdf_tells_its_pages() {
    for pages in [1, 2, 100] {
        assert_eq!(pages_of(&pdf(pages)), Some(pages));
    }
}

/// C12, C10: an empty file, a web page saved as `.pdf`.
#[test]
fn what_is_no_pdf_is_refused_by_its_bytes() {
    assert_eq!(inspect(&[]), Err(PdfRefusal::Empty));
    assert_eq!(inspect(&[b"", b""]), Err(PdfRefusal::Empty));
    let html = b"<!DOCTYPE html>\n<html><head><title>Sign in";
    assert_eq!(
        inspect(&[html]).unwrap_err().to_string(),
        r#"the file is not a PDF: it starts with "<!DOCTYPE html>.<html><h""#
    );
    let late = [vec![b' '; 1_024], b"%PDF-1.4".to_vec()].concat();
    let mut inspector = PdfInspector::new(u64::MAX, 600);
    assert!(inspector.push(&late).is_err(), "refused before the file ends");
}

/// C10, C08: whether a file can be read is for Claude to say.
#[test]
fn a_mark_is_enough_and_a_lock_is_no_reason() {
    assert_eq!(pages_of(b"%PDF-1.4 nothing else follows"), None);
    let junk = [vec![0xff; 1_023], pdf(1)].concat();
    assert_eq!(pages_of(&junk), Some(1));
    let locked = String::from_utf8(pdf(3)).unwrap().replace("/Root", "/Encrypt 9 0 R /Root");
    assert_eq!(pages_of(locked.as_bytes()), Some(3));
}

#[test]
fn too_much_is_refused() {
    let refused = |max_bytes, max_pages| {
        let mut inspector = PdfInspector::new(max_bytes, max_pages);
        inspector.push(&pdf(101)).and_then(|()| inspector.finish()).unwrap_err()
    };
    assert_eq!(refused(99, 600), PdfRefusal::TooLarge { max: 99 });
    assert_eq!(refused(u64::MAX, 100), PdfRefusal::TooManyPages { pages: 101, max: 100 });
}

#[test]
fn a_file_saved_twice_counts_its_last_revision() {
    let first = pdf(3);
    let second = b"2 0 obj <</Kids[5 0 R]/Count 1/Type/Pages>> endobj trailer <</Root 1 0 R>>";
    assert_eq!(pages_of(&[&first, &second[..]].concat()), Some(1));
}

#[test]
fn a_count_that_may_be_wrong_is_not_told() {
    let with = |more: &str| pages_of(&[pdf(3), more.as_bytes().to_vec()].concat());
    assert_eq!(with(""), Some(3));
    for (why, more) in [
        ("hidden objects", "9 0 obj <</Type/ObjStm/N 4/Length 2>> stream\nxx\nendstream endobj"),
        ("a second tree", "9 0 obj <</Type/Pages/Count 2>> endobj"),
        ("a count without pages", "2 0 obj <</Type/Pages/Count 9999999>> endobj"),
        ("a count elsewhere", "2 0 obj <</Type/Pages/Count 7 0 R>> endobj"),
        ("a negative count", "2 0 obj <</Type/Pages/Count -1>> endobj"),
    ] {
        assert_eq!(with(more), None, "{why}");
    }
}

#[test]
fn what_looks_like_pages_inside_a_stream_or_string_is_content() {
    let inner = "1 0 obj <</Type/Pages/Count 7>> endobj 2 0 obj <</Type/Page>> endobj";
    let embedded = format!("{inner} endstream {inner}");
    let len = embedded.len();
    let with = |more: String| pages_of(&[pdf(2), more.into_bytes()].concat());
    for end in ["\n", "\r\n"] {
        let stream = format!("9 0 obj <</Length {len}>> stream{end}{embedded}\nendstream endobj");
        assert_eq!(with(stream), Some(2));
    }
    let unknown = format!("9 0 obj <</Length 8 0 R>> stream\n{inner}\nendstream endobj");
    assert_eq!(with(unknown), Some(2));
    let nested = "9 0 obj <</A(/Type/Pages)/B<</Type/Pages/Count 1>>/C[/Type/Pages]>> endobj";
    assert_eq!(with(nested.to_owned()), Some(2));
    assert_eq!(with(format!("% {inner}\n")), Some(2));
}

#[test]
fn a_linearized_file_is_believed_while_it_has_its_length() {
    let file = |len: usize| {
        let head = format!("%PDF-1.7\n1 0 obj <</Linearized 1/L {len:6}/N 42>> endobj\n");
        head + "2 0 obj <</Type/ObjStm/Length 2>> stream\nxx\nendstream endobj"
    };
    let len = file(0).len();
    assert_eq!(pages_of(file(len).as_bytes()), Some(42));
    assert_eq!(pages_of(file(len + 1).as_bytes()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_failure_persistence(
        FileFailurePersistence::WithSource("proptest-regressions"),
    ))]

    #[test]
    fn cuts_change_nothing(cuts in vec(0..60_usize, 0..30)) {
        let file = pdf(5);
        let (mut rest, mut chunks) = (file.as_slice(), Vec::new());
        for at in cuts {
            let (head, tail) = rest.split_at(at.min(rest.len()));
            chunks.push(head);
            rest = tail;
        }
        chunks.push(rest);
        prop_assert_eq!(inspect(&chunks), inspect(&[&file]));
    }

    #[test]
    fn any_bytes_after_the_mark_are_survived(bytes: Vec<u8>, tail in "[<>()/\\[\\] a-z0-9%]{0,200}") {
        let file = [b"%PDF-1.4 1 0 obj".as_slice(), &bytes, tail.as_bytes()].concat();
        prop_assert!(inspect(&[&file]).is_ok());
    }
}

fn pages_of(file: &[u8]) -> Option<u32> {
    inspect(&[file]).unwrap().pages
}

fn inspect(chunks: &[&[u8]]) -> Result<PdfFacts, PdfRefusal> {
    let mut inspector = PdfInspector::new(u64::MAX, 10_000);
    for chunk in chunks {
        inspector.push(chunk)?;
    }
    inspector.finish()
}

/// A small valid file; its pages share one content stream.
fn pdf(pages: u32) -> Vec<u8> {
    let numbers = 5..5 + pages;
    let kids: Vec<_> = numbers.clone().map(|number| format!("{number} 0 R")).collect();
    let leaves: Vec<_> = numbers.map(leaf).collect();
    format!(
        "%PDF-1.4\n%\u{e2}\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n\
         2 0 obj\n<< /Type /Pages /Count {pages} /Kids [{}] >>\nendobj\n\
         4 0 obj\n<< /Length 26 >>\nstream\nBT 72 720 Td (a \\( b) Tj ET\nendstream\nendobj\n\
         {}xref\n0 1\n0000000000 65535 f \n\
         trailer\n<< /Size 9 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n",
        kids.join(" "),
        leaves.concat(),
    )
    .into_bytes()
}

fn leaf(number: u32) -> String {
    format!(
        "{number} 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] \
         /Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>\nendobj\n"
    )
}
