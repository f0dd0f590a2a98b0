//! What the API sends back: statuses, headers, and real server-sent events.
use super::behaviour::Behaviour;
use super::body::{AnswerBody, OpenCall, Part};
use super::connection;
use super::request::Asked;
use crate::claude::CallFailure;
use crate::domain::{Span, Timestamp};
use crate::pipeline::ports::Reply;
use crate::sim::chance::number_of;
use crate::sim::world::Inner;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::rc::Rc;

/// The right answer to a prompt.
#[must_use]
pub fn answer_to(prompt: &str) -> String {
    let shown: String = prompt.chars().take(60).collect();
    format!("I read “{shown}” ({:016x}) — 読んだ。", number_of(prompt))
}

/// The right answer to a prompt about a PDF.
#[must_use]
pub fn answer_to_pdf(prompt: &str, title: &str, pdf: &[u8]) -> String {
    let bytes = pdf.iter().fold(String::new(), |text, byte| text + &byte.to_string());
    format!("{} — {title}: {:016x}", answer_to(prompt), number_of(&bytes))
}

/// What comes back.
pub(super) enum Reaction {
    Reply { status: u16, headers: Vec<(String, String)>, parts: VecDeque<Part> },
    Reset,
    Silent,
    Panic,
}

impl Reaction {
    pub(super) const fn status(&self) -> Option<u16> {
        match self {
            Self::Reply { status, .. } => Some(*status),
            Self::Reset | Self::Silent | Self::Panic => None,
        }
    }

    /// On its way to the caller, who waits until `deadline`.
    pub(super) async fn arrive(
        self,
        world: &Inner,
        deadline: Timestamp,
        open: OpenCall,
    ) -> Result<Reply<AnswerBody>, CallFailure> {
        match self {
            Self::Reply { status, headers, parts } => {
                let body = AnswerBody::new(Rc::clone(&world.stage), parts, deadline, open);
                Ok(Reply { status, headers, body })
            }
            Self::Reset => Err(connection("the connection was reset")),
            Self::Silent => {
                world.stage.until(deadline).await;
                Err(CallFailure::Timeout)
            }
            Self::Panic => std::panic::resume_unwind(Box::new("a poisonous answer")),
        }
    }
}

/// What a call brings that the API does not begin to work on.
pub(super) fn not_taken_on(behaviour: Behaviour) -> Reaction {
    let problem = |status, kind, words| error(status, kind, words, Vec::new());
    match behaviour {
        Behaviour::Throttled(after) => throttled(after, Vec::new()),
        Behaviour::Overloaded(after) => overloaded(after),
        Behaviour::Refused => problem(400, "invalid_request_error", "messages: not like this"),
        Behaviour::Unauthorized => problem(401, "authentication_error", "invalid x-api-key"),
        Behaviour::OutOfCredit => problem(402, "billing_error", "no credit left"),
        Behaviour::Silent => Reaction::Silent,
        Behaviour::Panic => Reaction::Panic,
        Behaviour::Reset
        | Behaviour::Answer
        | Behaviour::Slow(_)
        | Behaviour::Hang
        | Behaviour::CutShort
        | Behaviour::Broken
        | Behaviour::ErrorInStream => Reaction::Reset,
    }
}

pub(super) fn throttled(after: Option<u64>, headers: Vec<(String, String)>) -> Reaction {
    error(429, "rate_limit_error", "this exceeds your rate limit", wait(after, headers))
}

pub(super) fn overloaded(after: Option<u64>) -> Reaction {
    error(529, "overloaded_error", "Overloaded", wait(after, Vec::new()))
}

/// What a call brings that the API works on.
pub(super) fn taken_on(
    world: &Inner,
    asked: &Asked,
    behaviour: Behaviour,
    headers: Vec<(String, String)>,
    pace: (Span, Span),
) -> Reaction {
    let text = match &asked.pdf {
        Some((title, pdf)) => answer_to_pdf(&asked.prompt, title, pdf),
        None => answer_to(&asked.prompt),
    };
    let mut whole = world.chance.between(pace.0, pace.1);
    if let Behaviour::Slow(span) = behaviour {
        whole = span;
    }
    let whole_answer = events(asked, &text).concat();
    let error = format!("event: error\ndata: {}\n\n", error_json("overloaded_error", "Overloaded"));
    let in_stream = behaviour == Behaviour::ErrorInStream;
    let sent = if in_stream { begin(asked) + &error } else { whole_answer };
    let mut parts = cut(world, sent.as_bytes(), whole);
    let end = [(Behaviour::Hang, Part::Never), (Behaviour::Broken, Part::Break)];
    if behaviour == Behaviour::CutShort {
        parts.truncate(parts.len() / 2);
    }
    for (_, end) in end.into_iter().filter(|(of, _)| *of == behaviour) {
        parts.truncate(parts.len() / 2);
        parts.push_back(end);
    }
    Reaction::Reply { status: 200, headers, parts }
}

/// Cut anywhere, also within a character; the last byte comes last.
fn cut(world: &Inner, mut bytes: &[u8], whole: Span) -> VecDeque<Part> {
    let pieces = 2 + world.chance.below(6);
    let step = whole.scaled(1, pieces);
    let mut parts = VecDeque::new();
    for _ in 1..pieces {
        let at = usize::try_from(world.chance.below(bytes.len() as u64)).unwrap_or_default();
        let (piece, rest) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
        parts.push_back(Part::Chunk(step, Bytes::copy_from_slice(piece)));
        bytes = rest;
    }
    parts.push_back(Part::Chunk(step, Bytes::copy_from_slice(bytes)));
    parts
}

fn begin(asked: &Asked) -> String {
    let input = asked.usage.input.get();
    let message = json!({
        "id": "msg_sim", "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": input, "output_tokens": 1},
    });
    event(&json!({"type": "message_start", "message": message}))
}

fn events(asked: &Asked, text: &str) -> Vec<String> {
    let output = asked.usage.output.get();
    let mut events = vec![
        begin(asked),
        event(&json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}})),
        event(&json!({"type": "ping"})),
    ];
    let characters: Vec<char> = text.chars().collect();
    events.extend(characters.chunks(17).map(|piece| {
        let delta = json!({"type": "text_delta", "text": piece.iter().collect::<String>()});
        event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
    }));
    events.extend([
        event(&json!({"type": "content_block_stop", "index": 0})),
        event(&json!({"type": "message_delta", "usage": {"output_tokens": output},
            "delta": {"stop_reason": "end_turn", "stop_sequence": null}})),
        event(&json!({"type": "message_stop"})),
    ]);
    events
}

fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn error(status: u16, kind: &str, words: &str, headers: Vec<(String, String)>) -> Reaction {
    let body = Bytes::from(error_json(kind, words).to_string());
    let parts = VecDeque::from([Part::Chunk(Span::from_millis(5), body)]);
    Reaction::Reply { status, headers, parts }
}

fn error_json(kind: &str, words: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": words}})
}

fn wait(after: Option<u64>, mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.extend(after.map(|seconds| ("retry-after".to_owned(), seconds.to_string())));
    headers
}
