//! However a form is cut into chunks, the same comes of it.
mod upload_world;

use bytes::Bytes;
use proptest::{collection, prelude::*, sample::select};
use upload_world::{World, file, form, text};

proptest! {
    #[test]
    fn cutting_a_form_into_chunks_changes_nothing(
        (form_parts, mut cuts) in (collection::vec(part(), 0..6), collection::vec(0..2_000_usize, 0..30)),
        end in prop_oneof![4 => Just(usize::MAX), 1 => 0..2_000_usize],
    ) {
        let mut body = form(&form_parts);
        body.truncate(end);
        cuts.extend([0, body.len()]);
        cuts.retain(|cut| *cut <= body.len());
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| Bytes::copy_from_slice(&body[cut[0]..cut[1]])).collect();
        let (whole, cut) = (World::default(), World::default());
        let (of_whole, of_cut) = (whole.post(&body, body.len().max(1)), cut.post_chunks(chunks));
        prop_assert_eq!(of_cut.is_err(), of_whole.is_err());
        if let (Ok(of_whole), Ok(of_cut)) = (&of_whole, &of_cut) {
            prop_assert_eq!(of_cut, of_whole);
        }
        prop_assert_eq!(cut.objects(), whole.objects());
        prop_assert!(of_whole.is_ok() || whole.is_empty());
    }

    #[test]
    fn the_files_come_out_as_they_went_in(files in collection::vec(content(), 1..8)) {
        let world = World::default();
        let parts: Vec<_> = files.iter().map(|content| file("a.pdf", content)).collect();
        let form = world.post(&form(&parts), 13).unwrap();
        let stored: Vec<_> = world.files(&form).into_iter().map(|(_, content)| content).collect();
        prop_assert_eq!(stored, files);
    }

    #[test]
    fn no_body_at_all_makes_it_hang_or_keep_something(body: Vec<u8>, framed: bool) {
        let body = if framed { [b"--XcaseBoundary7\r\n", &body[..]].concat() } else { body };
        let world = World::default();
        prop_assert!(world.post(&body, 5).is_err());
        prop_assert!(world.is_empty());
    }
}

fn part() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => content().prop_map(|content| file("a.pdf", &content)),
        1 => Just(file("", b"")),
        1 => "[a-z]{0,9}".prop_map(|model| text("model", &model)),
        1 => "\\PC{0,99}".prop_map(|prompt| text("prompt", &prompt)),
        1 => Just(file("page.pdf", b"<html>")),
    ]
}

/// A PDF made of what a reader of forms might stumble over.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![
        &b"\r\n"[..],
        b"\r",
        b" \n--XcaseBoundary7\r\n",
        b"\r\n--XcaseBoundary",
        b"\r\n--",
        b"\xff\0x",
    ]);
    collection::vec(piece, 0..20).prop_map(|pieces| [b"%PDF-1.7\n", &pieces.concat()[..]].concat())
}
