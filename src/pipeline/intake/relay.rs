//! The request on its way to the upstream: byte for byte, but for its `stream`,
//! which becomes `true`.
//!
//! Members called `stream` are left out, and `"stream":true` is added at the
//! end. So nothing has to be held back but a name until it is known, and a
//! comma is already right when it is written: a member follows it, if only our
//! own.
use super::{
    facts::{Member, RequestFacts, Witness},
    grammar::{Kind, Piece},
};
use crate::{claude::MAX_REQUEST_BYTES, pipeline::problem::Problem};

/// The request as it passes.
#[derive(Debug)]
pub(super) struct Relay {
    witness: Witness,
    /// The name of the present member, held back while it may be `stream`.
    name: Vec<u8>,
    within: Within,
    /// Whether a member has to follow what was sent.
    owes_member: bool,
    sent: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Within {
    /// A name that is held back.
    HeldName,
    /// A name too long to be of interest.
    LongName,
    /// What is sent on.
    Kept,
    /// A member that is left out.
    LeftOut,
}

impl Relay {
    /// Before the request's first byte.
    pub(super) fn new() -> Self {
        Self {
            witness: Witness::default(),
            name: Vec::new(),
            within: Within::Kept,
            owes_member: true,
            sent: 0,
        }
    }

    /// Takes the next piece, and appends to `out` what is to be sent.
    pub(super) fn take(
        &mut self,
        piece: &Piece,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let before = out.len();
        self.witness.count(piece, bytes);
        match piece.depth {
            OUTSIDE => self.brace(piece, bytes, out)?,
            MEMBERS => self.member(piece, bytes, out)?,
            _ => self.pass(bytes, out),
        }
        self.sent += (out.len() - before) as u64;
        if self.sent <= MAX_REQUEST_BYTES {
            return Ok(());
        }
        let detail = format!("`request` may have {MAX_REQUEST_BYTES} bytes at most");
        Err(Problem { field: Some("request".to_owned()), ..Problem::too_large(detail) })
    }

    /// What is known once the request has passed.
    pub(super) fn finish(self) -> RequestFacts {
        self.witness.finish(self.sent)
    }

    fn brace(&mut self, piece: &Piece, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        match piece.kind {
            Kind::Object => {}
            Kind::Close => {
                self.witness.member_ends()?;
                let comma: &[u8] = if self.owes_member { b"" } else { b"," };
                out.extend_from_slice(comma);
                out.extend_from_slice(br#""stream":true"#);
            }
            Kind::Array | Kind::Scalar | Kind::Blank | Kind::Comma | Kind::Colon | Kind::Key => {
                return Err(Problem::field("request", "`request` must be a JSON object"));
            }
        }
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn member(&mut self, piece: &Piece, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        match piece.kind {
            Kind::Key => self.name_part(bytes, out),
            Kind::Blank | Kind::Colon => {
                self.name_ends(out)?;
                self.pass(bytes, out);
            }
            Kind::Comma => {
                self.witness.member_ends()?;
                self.within = Within::Kept;
                if !self.owes_member {
                    out.extend_from_slice(bytes);
                    self.owes_member = true;
                }
            }
            Kind::Object | Kind::Array | Kind::Close | Kind::Scalar => {
                self.witness.value(piece, bytes)?;
                self.pass(bytes, out);
            }
        }
        Ok(())
    }

    fn name_part(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.within == Within::LongName {
            out.extend_from_slice(bytes);
            return;
        }
        self.within = Within::HeldName;
        if self.name.len() + bytes.len() <= LONGEST_NAME {
            self.name.extend_from_slice(bytes);
            return;
        }
        self.within = Within::LongName;
        self.owes_member = false;
        out.append(&mut self.name);
        out.extend_from_slice(bytes);
    }

    /// After the name, if that was not known before.
    fn name_ends(&mut self, out: &mut Vec<u8>) -> Result<(), Problem> {
        match self.within {
            Within::Kept | Within::LeftOut => return Ok(()),
            Within::LongName => self.within = Within::Kept,
            Within::HeldName => {
                let member = self.witness.member_begins(&self.name)?;
                if member == Member::Stream {
                    self.name.clear();
                    self.within = Within::LeftOut;
                } else {
                    out.append(&mut self.name);
                    self.within = Within::Kept;
                    self.owes_member = false;
                }
            }
        }
        Ok(())
    }

    fn pass(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.within != Within::LeftOut {
            out.extend_from_slice(bytes);
        }
    }
}

/// The longest spelling of a name that we know: each of the ten characters of
/// `max_tokens` as `\uXXXX`, and the quotes.
const LONGEST_NAME: usize = 10 * 6 + 2;
/// How many brackets are around the request's own braces, and its members.
const OUTSIDE: u8 = 1;
const MEMBERS: u8 = 2;
