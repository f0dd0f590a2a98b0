//! Counts the pages of a PDF as it passes by, or admits not to know.
//!
//! The count is taken from the root of the page tree (`/Type /Pages` without
//! `/Parent`); in a file that was saved incrementally, from its last revision.
//! It is believed only if every object is in plain sight, there is one root,
//! and at least as many page objects exist. A linearized file says its count
//! up front, which is believed if the file still has the length it says.
use super::{
    lexer::{Lexer, Token},
    object::{Kind, Object, number},
};
use std::mem::take;

#[derive(Debug, Default)]
pub(super) struct PageCounter {
    lexer: Lexer,
    /// The two numbers before `obj`.
    before: [Option<u64>; 2],
    object: Object,
    body: Body,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    bytes: u64,
    pages: u64,
    /// Object number and count of the page tree's root.
    root: Option<(u64, Option<u64>)>,
    uncertain: bool,
    /// What a linearized file promises: pages, for a file of this length.
    promise: Option<(u64, u64)>,
}

/// The bytes of a stream are no syntax.
#[derive(Clone, Copy, Debug, Default)]
enum Body {
    #[default]
    None,
    /// After `stream`: the line end comes first.
    Begins,
    /// This many bytes, then `endstream`.
    Counted(u64),
    /// Until `endstream`; the last eight bytes seen.
    Until(u64),
}

impl PageCounter {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.tally.bytes += chunk.len() as u64;
        let mut rest = chunk;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            self.body = match self.body {
                Body::None => self.syntax(byte),
                Body::Begins if byte == b'\r' => Body::Begins,
                Body::Begins => {
                    let length = self.object.length.unwrap_or(0);
                    Body::Counted(length.saturating_sub(u64::from(byte != b'\n')))
                }
                Body::Counted(left) if left > 0 => {
                    let skipped = (after.len() as u64).min(left - 1);
                    let skip = usize::try_from(skipped).unwrap_or(after.len());
                    rest = after.get(skip..).unwrap_or_default();
                    Body::Counted(left - 1 - skipped)
                }
                Body::Counted(_) => Body::Until(byte.into()),
                Body::Until(seen) => ended(seen, byte),
            };
        }
    }

    /// The number of pages, if it is certain.
    pub(super) fn finish(mut self) -> Option<u32> {
        if matches!(self.body, Body::None) {
            self.syntax(b'\n');
        }
        let tally = self.tally;
        let promised = tally.promise.filter(|(_, len)| *len == tally.bytes);
        let counted = tally.root.and_then(|(_, count)| count);
        let counted = counted.filter(|count| !tally.uncertain && *count <= tally.pages);
        let pages = promised.map(|(pages, _)| pages).or(counted)?;
        u32::try_from(pages).ok()
    }

    fn syntax(&mut self, byte: u8) -> Body {
        let Self { lexer, before, object, tally, .. } = self;
        let mut body = Body::None;
        lexer.push(byte, |token| match token {
            Token::Word(b"obj") => *object = Object::begin(before[0].unwrap_or(0)),
            Token::Word(b"endobj") => tally.add(&take(object)),
            Token::Word(b"stream") if object.number.is_some() => body = Body::Begins,
            token if object.number.is_some() => object.take(token),
            Token::Word(word) => *before = [before[1], number(word)],
            Token::Name(_)
            | Token::Text
            | Token::DictOpen
            | Token::DictClose
            | Token::ArrayOpen
            | Token::ArrayClose => {}
        });
        // The byte that ended the word `stream` is already part of its line end.
        match (body, byte) {
            (Body::Begins, b'\n') => Body::Counted(self.object.length.unwrap_or(0)),
            (body, _) => body,
        }
    }
}

impl Tally {
    fn add(&mut self, object: &Object) {
        let number = object.number.unwrap_or(0);
        match object.kind {
            Kind::Page => self.pages += 1,
            Kind::Pages if !object.has_parent => {
                self.uncertain |= self.root.is_some_and(|(other, _)| other != number);
                self.root = Some((number, object.count));
            }
            Kind::ObjectStream => self.uncertain = true,
            Kind::Pages | Kind::Other => {}
        }
        if object.linearized && self.promise.is_none() {
            self.promise = object.pages.zip(object.file_len);
        }
    }
}

/// Rolls the last eight bytes and looks for the end of the keyword.
fn ended(seen: u64, byte: u8) -> Body {
    let seen = seen << 8 | u64::from(byte);
    if seen == END_STREAM { Body::None } else { Body::Until(seen) }
}

const END_STREAM: u64 = u64::from_be_bytes(*b"ndstream");
