//! JSON's grammar (RFC 8259) as an automaton over bytes: it cuts its input
//! into pieces, whatever the input was cut into before. No recursion, and
//! nothing is kept but where it stands.
use super::{fault::Fault, number::Number, text::Text};
use crate::claude::TextCounts;

/// The most levels of objects and arrays, the outermost included.
pub const MAX_DEPTH: u8 = 128;

/// The automaton, which takes one object.
#[derive(Debug)]
pub(super) struct Grammar {
    state: State,
    open: Open,
}

/// Bytes that belong together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// How many objects and arrays are around it. A bracket lies outside of
    /// what it encloses.
    pub(super) depth: u8,
    /// How many bytes of the input it takes.
    pub(super) len: usize,
    /// The characters in it.
    pub(super) text: TextCounts,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// White space.
    Blank,
    /// `{`.
    Object,
    /// `[`.
    Array,
    /// `}` or `]`.
    Close,
    /// `,`.
    Comma,
    /// `:`.
    Colon,
    /// (Part of) a member's name, quotes included.
    Key,
    /// (Part of) a string, a number or a literal.
    Scalar,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Between(Expected),
    /// Within a string that is a [`Kind::Key`] or a [`Kind::Scalar`].
    Text(Kind, Text),
    Number(Number),
    /// What is missing of `true`, `false` or `null`.
    Literal(&'static [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Start,
    FirstKey,
    NextKey,
    Colon,
    FirstItem,
    Value,
    CommaOrEnd,
    Nothing,
}

impl Grammar {
    /// At the start of a body.
    pub(super) fn new() -> Self {
        Self { state: State::Between(Expected::Start), open: Open::default() }
    }

    /// Takes the next piece of `input`, which is not empty.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<Piece, Fault> {
        match self.state {
            State::Between(expected) => self.structure(expected, input),
            State::Text(kind, text) => self.text(kind, text, 0, input),
            State::Number(number) => self.number(number, 0, input),
            State::Literal(missing) => self.literal(missing, input),
        }
    }

    /// Tells whether the body may end here.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        let missing = match self.state {
            State::Between(Expected::Nothing) => return Ok(()),
            State::Between(expected) => self.in_words(expected),
            State::Text(..) => "expected the rest of a string",
            State::Number(number) if number.may_end() => self.in_words(Expected::CommaOrEnd),
            State::Number(_) => "expected the rest of a number",
            State::Literal(_) => LITERAL,
        };
        Err(Fault::ended(missing))
    }

    fn structure(&mut self, expected: Expected, input: &[u8]) -> Result<Piece, Fault> {
        use Expected::{Colon, CommaOrEnd, FirstItem, FirstKey, NextKey, Start, Value};
        let blank = input.iter().take_while(|byte| is_blank(**byte)).count();
        let first = match input.first() {
            Some(first) if blank == 0 => *first,
            Some(_) | None => return Ok(self.piece(Kind::Blank, blank)),
        };
        match (expected, first) {
            (Start | FirstItem | Value, b'{') => self.enter(Kind::Object, FirstKey),
            (FirstItem | Value, b'[') => self.enter(Kind::Array, FirstItem),
            (FirstItem | Value, b'"') => self.text(Kind::Scalar, Text::Plain, 1, input),
            (FirstKey | NextKey, b'"') => self.text(Kind::Key, Text::Plain, 1, input),
            (FirstItem | Value, b't') => self.literal(b"true", input),
            (FirstItem | Value, b'f') => self.literal(b"false", input),
            (FirstItem | Value, b'n') => self.literal(b"null", input),
            (FirstItem | Value, byte) if let Some(number) = Number::begin(byte) => {
                self.number(number, 1, input)
            }
            (Colon, b':') => Ok(self.mark(Kind::Colon, Value)),
            (CommaOrEnd, b',') if self.open.is_object() => Ok(self.mark(Kind::Comma, NextKey)),
            (CommaOrEnd, b',') => Ok(self.mark(Kind::Comma, Value)),
            (FirstKey, b'}') | (FirstItem, b']') => Ok(self.leave()),
            (CommaOrEnd, b'}') if self.open.is_object() => Ok(self.leave()),
            (CommaOrEnd, b']') if !self.open.is_object() => Ok(self.leave()),
            (Start, _) => Err(Fault::not_an_object()),
            (expected, _) => Err(Fault::syntax(0, self.in_words(expected))),
        }
    }

    fn enter(&mut self, kind: Kind, expected: Expected) -> Result<Piece, Fault> {
        let piece = self.mark(kind, expected);
        self.open.push(kind == Kind::Object).ok_or(Fault::too_deep(MAX_DEPTH))?;
        Ok(piece)
    }

    fn leave(&mut self) -> Piece {
        self.open.pop();
        let outermost = self.open.depth() == 0;
        self.mark(Kind::Close, if outermost { Expected::Nothing } else { Expected::CommaOrEnd })
    }

    /// Takes what `input` has of a string after the `read` bytes of it.
    fn text(
        &mut self,
        kind: Kind,
        mut text: Text,
        read: usize,
        input: &[u8],
    ) -> Result<Piece, Fault> {
        let taken = text.take(input.get(read..).unwrap_or_default());
        let taken = taken.map_err(|fault| fault.later(read))?;
        self.state = match (taken.ended, kind == Kind::Key) {
            (false, _) => State::Text(kind, text),
            (true, true) => State::Between(Expected::Colon),
            (true, false) => State::Between(Expected::CommaOrEnd),
        };
        Ok(Piece { text: taken.counts, ..self.piece(kind, read + taken.len) })
    }

    /// Takes what `input` has of a number after the `read` bytes of it.
    fn number(&mut self, number: Number, read: usize, input: &[u8]) -> Result<Piece, Fault> {
        let (mut number, mut len) = (number, read);
        let mut rest = input.iter().skip(read);
        self.state = loop {
            let Some(byte) = rest.next() else {
                break State::Number(number);
            };
            match number.add(*byte) {
                Some(more) => number = more,
                None if number.may_end() => break State::Between(Expected::CommaOrEnd),
                None => return Err(Fault::syntax(len, "expected a digit")),
            }
            len += 1;
        };
        match len {
            0 => self.structure(Expected::CommaOrEnd, input),
            len => Ok(self.plain_scalar(len, input)),
        }
    }

    /// Takes what `input` has of the `missing` end of a literal.
    fn literal(&mut self, missing: &'static [u8], input: &[u8]) -> Result<Piece, Fault> {
        let len = missing.iter().zip(input).take_while(|(wanted, found)| wanted == found).count();
        let missing = missing.get(len..).unwrap_or_default();
        self.state = match missing {
            [] => State::Between(Expected::CommaOrEnd),
            [_, ..] if len == input.len() => State::Literal(missing),
            [_, ..] => return Err(Fault::syntax(len, LITERAL)),
        };
        Ok(self.plain_scalar(len, input))
    }

    /// (Part of) a number or a literal.
    fn plain_scalar(&self, len: usize, input: &[u8]) -> Piece {
        let mut piece = self.piece(Kind::Scalar, len);
        piece.text.add_ascii(input.get(..len).unwrap_or_default());
        piece
    }

    /// A piece of one byte, and what may follow it.
    fn mark(&mut self, kind: Kind, expected: Expected) -> Piece {
        self.state = State::Between(expected);
        self.piece(kind, 1)
    }

    fn piece(&self, kind: Kind, len: usize) -> Piece {
        Piece { kind, depth: self.open.depth(), len, text: TextCounts::default() }
    }

    fn in_words(&self, expected: Expected) -> &'static str {
        match expected {
            Expected::Start => "expected '{'",
            Expected::FirstKey => r#"expected '"' or '}'"#,
            Expected::NextKey => r#"expected '"'"#,
            Expected::Colon => "expected ':'",
            Expected::FirstItem => "expected a value or ']'",
            Expected::Value => "expected a value",
            Expected::CommaOrEnd if self.open.is_object() => "expected ',' or '}'",
            Expected::CommaOrEnd => "expected ',' or ']'",
            Expected::Nothing => "expected nothing more",
        }
    }
}

/// The objects and arrays around the present place.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    depth: u8,
    /// One bit a level, the innermost lowest: whether it is an object.
    objects: u128,
}

impl Open {
    fn push(&mut self, object: bool) -> Option<()> {
        self.objects = (self.objects << 1) | u128::from(object);
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    fn pop(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    fn depth(self) -> u8 {
        self.depth
    }

    fn is_object(self) -> bool {
        self.objects & 1 == 1
    }
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

const LITERAL: &str = "expected true, false or null";
