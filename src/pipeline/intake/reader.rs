//! The body of `POST /jobs`, in whatever pieces the network delivers it.
use super::{
    facts::RequestFacts,
    fault::Fault,
    fields::{Collector, MAX_FIELDS_BYTES, appears_twice},
    grammar::{Grammar, Kind, Piece},
    relay::Relay,
};
use crate::{claude::MAX_REQUEST_BYTES, pipeline::problem::Problem};

/// What a body held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Body {
    /// All fields but `request`, in the order in which they came: each one's
    /// name, and its value as the JSON it was.
    pub fields: Vec<(String, String)>,
    /// What is known of `request`, if it was there.
    pub request: Option<RequestFacts>,
}

/// Reads a body in one pass. It keeps the small fields; the bytes of `request`
/// go out as they come in.
#[derive(Debug)]
pub struct BodyReader {
    /// What may still come of a byte order mark.
    mark: &'static [u8],
    grammar: Grammar,
    fields: Collector,
    relay: Option<Relay>,
    within: Within,
    read: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Within {
    Between,
    Field,
    Request,
}

impl BodyReader {
    /// Before the first byte.
    #[must_use]
    pub fn new() -> Self {
        Self {
            mark: MARK,
            grammar: Grammar::new(),
            fields: Collector::default(),
            relay: None,
            within: Within::Between,
            read: 0,
        }
    }

    /// Reads on, and appends to `out` the next bytes of the upstream's body:
    /// at most as many as `chunk` has, and a hundred more.
    ///
    /// # Errors
    ///
    /// A [`Problem`]; nothing more can be read then.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        let mut rest = self.skip_mark(chunk)?;
        while !rest.is_empty() {
            let piece = self.grammar.take(rest).map_err(|fault| self.locate(fault))?;
            let (bytes, after) = rest.split_at(piece.len);
            self.route(&piece, bytes, out)?;
            self.read += piece.len as u64;
            rest = after;
        }
        if self.read <= MAX_BODY_BYTES {
            return Ok(());
        }
        Err(Problem::too_large(format!("the body may have {MAX_BODY_BYTES} bytes at most")))
    }

    /// The body has ended.
    ///
    /// # Errors
    ///
    /// A [`Problem`] if it should not have.
    pub fn finish(self) -> Result<Body, Problem> {
        self.grammar.finish().map_err(|fault| self.locate(fault))?;
        if self.relay.is_none() && self.read > MAX_FIELDS_BYTES as u64 {
            let detail =
                format!("a body without `request` may have {MAX_FIELDS_BYTES} bytes at most");
            return Err(Problem::too_large(detail));
        }
        Ok(Body { fields: self.fields.finish(), request: self.relay.map(Relay::finish) })
    }

    fn skip_mark<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], Problem> {
        let mut rest = chunk;
        while let ([wanted, missing @ ..], [first, after @ ..]) = (self.mark, rest) {
            if first == wanted {
                self.mark = missing;
                self.read += 1;
                rest = after;
            } else if self.read == 0 {
                self.mark = &[];
            } else {
                return Err(self.locate(Fault::not_an_object()));
            }
        }
        Ok(rest)
    }

    fn route(&mut self, piece: &Piece, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        match (piece.depth, piece.kind) {
            (0, Kind::Close) | (1, Kind::Comma) => self.field_ends(),
            (0, _) | (1, Kind::Blank) => Ok(()),
            (1, Kind::Key) => self.fields.name_part(bytes),
            (1, Kind::Colon) => self.field_begins(),
            (_, _) => match (self.within, &mut self.relay) {
                (Within::Request, Some(relay)) => relay.take(piece, bytes, out),
                (Within::Request, None) | (Within::Between, _) => Ok(()),
                (Within::Field, _) => self.fields.value_part(bytes),
            },
        }
    }

    fn field_begins(&mut self) -> Result<(), Problem> {
        let is_request = self.fields.name_ends()? == REQUEST;
        if !is_request {
            self.within = Within::Field;
            return Ok(());
        }
        if self.relay.is_some() {
            return Err(appears_twice(REQUEST));
        }
        self.within = Within::Request;
        self.relay = Some(Relay::new());
        Ok(())
    }

    fn field_ends(&mut self) -> Result<(), Problem> {
        if self.within == Within::Field {
            self.fields.value_ends()?;
        }
        self.within = Within::Between;
        Ok(())
    }

    fn locate(&self, fault: Fault) -> Problem {
        let field = match self.within {
            Within::Between => None,
            Within::Field => Some(self.fields.name().to_owned()),
            Within::Request => Some(REQUEST.to_owned()),
        };
        Problem { field, ..fault.problem(self.read) }
    }
}

impl Default for BodyReader {
    fn default() -> Self {
        Self::new()
    }
}

const REQUEST: &str = "request";
/// U+FEFF, which Windows programs put before a text (case C14).
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// A full request, full fields, and blanks between them.
const MAX_BODY_BYTES: u64 = MAX_REQUEST_BYTES + 2_000_000;
