//! What the door has to know of a request, noted while it passes.
use super::{
    counts::Counter,
    fields::{appears_twice, decoded},
    grammar::{Kind, Piece},
};
use crate::{claude::TextCounts, pipeline::problem::Problem};
use std::mem;

/// What is known of a request once it has passed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RequestFacts {
    /// `model`, if it is there.
    pub model: Option<String>,
    /// `max_tokens`, if it is there.
    pub max_tokens: Option<u64>,
    /// Whether `messages` is there; it is an array then.
    pub has_messages: bool,
    /// The text in it.
    pub counts: TextCounts,
    /// The length of the body for the upstream.
    pub bytes: u64,
}

/// A member of the request.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Member {
    Model,
    MaxTokens,
    Messages,
    Stream,
    /// One that we have no interest in.
    #[default]
    Other,
}

/// Notes the facts.
#[derive(Debug, Default)]
pub(super) struct Witness {
    member: Member,
    /// The present value as JSON, if it is one to note.
    value: Vec<u8>,
    counter: Counter,
    facts: RequestFacts,
}

impl Witness {
    /// Takes any piece of the request.
    pub(super) fn count(&mut self, piece: &Piece, bytes: &[u8]) {
        self.counter.take(piece, bytes);
    }

    /// A member of this name (as JSON) begins.
    pub(super) fn member_begins(&mut self, raw_name: &[u8]) -> Result<Member, Problem> {
        let name: String = decoded(raw_name).ok_or_else(Problem::internal)?;
        let (member, seen) = match name.as_str() {
            "model" => (Member::Model, self.facts.model.is_some()),
            "max_tokens" => (Member::MaxTokens, self.facts.max_tokens.is_some()),
            "messages" => (Member::Messages, self.facts.has_messages),
            "stream" => (Member::Stream, false),
            _ => (Member::Other, false),
        };
        if seen {
            return Err(appears_twice(&format!("request.{name}")));
        }
        self.member = member;
        Ok(member)
    }

    /// Takes the next piece of the member's value, nested ones aside.
    pub(super) fn value(&mut self, piece: &Piece, bytes: &[u8]) -> Result<(), Problem> {
        match (self.member, piece.kind) {
            (Member::Model | Member::MaxTokens, _) => {
                if self.value.len() + bytes.len() > LONGEST_VALUE {
                    return Err(self.wrong_value());
                }
                self.value.extend_from_slice(bytes);
            }
            (Member::Messages, Kind::Array) => self.facts.has_messages = true,
            (Member::Messages, Kind::Object | Kind::Scalar) => return Err(self.wrong_value()),
            (Member::Messages | Member::Stream | Member::Other, _) => {}
        }
        Ok(())
    }

    /// The member is complete.
    pub(super) fn member_ends(&mut self) -> Result<(), Problem> {
        let value = mem::take(&mut self.value);
        let read = match self.member {
            Member::Model => decoded(&value).map(|model| {
                self.facts.model = Some(model);
            }),
            Member::MaxTokens => decoded(&value).map(|max_tokens| {
                self.facts.max_tokens = Some(max_tokens);
            }),
            Member::Messages | Member::Stream | Member::Other => Some(()),
        };
        read.ok_or_else(|| self.wrong_value())?;
        self.member = Member::Other;
        Ok(())
    }

    /// The facts, once `bytes` bytes have passed.
    pub(super) fn finish(self, bytes: u64) -> RequestFacts {
        RequestFacts { counts: self.counter.total(), bytes, ..self.facts }
    }

    fn wrong_value(&self) -> Problem {
        match self.member {
            Member::Model => Problem::field(
                "request.model",
                format!("`request.model` must be a string of at most {LONGEST_VALUE} bytes"),
            ),
            Member::MaxTokens => Problem::field(
                "request.max_tokens",
                "`request.max_tokens` must be a whole number, 0 or more",
            ),
            Member::Messages => {
                Problem::field("request.messages", "`request.messages` must be an array")
            }
            Member::Stream | Member::Other => Problem::internal(),
        }
    }
}

/// As JSON, quotes included.
const LONGEST_VALUE: usize = 256;
