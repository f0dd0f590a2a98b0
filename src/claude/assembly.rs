//! The message, put together from the events of a stream.
use super::{
    answer::Answer,
    api_error::ApiError,
    block::Block,
    failure::CallFailure,
    json::{Members, Object, elements},
    sse::Event,
    stored::skeleton,
};
use crate::domain::{Tokens, Usage};

/// The largest answer kept: text, thinking, tool input and all. The longest
/// output of any model (300,000 tokens) is about a tenth of it. Counted in
/// bytes after JSON escapes are resolved.
pub(super) const MAX_ANSWER_BYTES: usize = 16 << 20;

/// A message under construction.
///
/// ```text
/// message_start ─▶ (content_block_start ─▶ delta* ─▶ stop)* ─▶ message_delta+ ─▶ message_stop
/// ```
/// `ping` and events nobody knows may stand anywhere; `error` ends it all.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    message: Option<Object>,
    blocks: Vec<Block>,
    bytes: usize,
    complete: bool,
}

impl Assembly {
    /// A message that came in one piece.
    pub(super) fn whole(message: Members<'_>) -> Result<Answer, CallFailure> {
        let mut assembly = Self::default();
        assembly.begin(message)?;
        assembly.complete = true;
        assembly.finish()
    }

    /// Takes an event. What comes after `message_stop` is not looked at.
    pub(super) fn take(&mut self, event: &Event) -> Result<(), CallFailure> {
        if self.complete {
            return Ok(());
        }
        let data = Members::read(&event.data);
        let kind = kind(event, data.as_ref());
        let known = data.ok_or_else(|| unexpected(&kind));
        match kind.as_str() {
            "error" => Err(CallFailure::InAnswer(ApiError::read(event.data.as_bytes()))),
            "message_start" => {
                let message = known?.object("message");
                self.begin(message.ok_or_else(|| unexpected(&kind))?)
            }
            "content_block_start" => self.open_block(&known?),
            "content_block_delta" => self.grow_block(&known?),
            "message_delta" => self.amend(&known?),
            "message_stop" => {
                self.complete = self.message.is_some();
                self.begun(&kind).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Whether the message is whole, so that nothing more need be read.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The answer; a message without `message_stop` is none.
    pub(super) fn finish(self) -> Result<Answer, CallFailure> {
        let message = self.message.filter(|_| self.complete);
        let message = message.ok_or(CallFailure::CutShort)?;
        let mut text = String::new();
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in self.blocks {
            let block = block.finish();
            blocks.push((block.fields, block.text.as_ref().map(String::len)));
            match block.text {
                Some(first) if text.is_empty() => text = first,
                Some(more) => text += &more,
                None => {}
            }
        }
        Ok(Answer {
            skeleton: skeleton(&message, &blocks),
            stop_reason: message.text("stop_reason"),
            model: message.text("model"),
            usage: usage(&message),
            text,
        })
    }

    fn begin(&mut self, message: Members<'_>) -> Result<(), CallFailure> {
        if self.message.is_some() {
            return Err(unexpected("second message_start"));
        }
        let content = message.get("content").unwrap_or("[]");
        let content = elements(content).ok_or_else(|| unexpected("content"))?;
        for (index, block) in (0..).zip(content) {
            let block = Members::read(block).and_then(|block| Block::start(index, block));
            self.blocks.push(block.ok_or_else(|| unexpected("content"))?);
        }
        let mut message = Object::from(message);
        self.bytes = message.iter().map(|(_, value)| value.len()).sum();
        message.set("content", "null");
        self.message = Some(message);
        self.keep(0)
    }

    fn open_block(&mut self, event: &Members<'_>) -> Result<(), CallFailure> {
        self.begun("content_block_start")?;
        let block = event.object("content_block").zip(event.get("content_block"));
        let (block, written) = block.ok_or_else(|| unexpected("content_block_start"))?;
        let index = event.number("index").unwrap_or(self.blocks.len() as u64);
        let block = Block::start(index, block);
        self.blocks.push(block.ok_or_else(|| unexpected("content_block_start"))?);
        self.keep(written.len())
    }

    /// A delta of a known type without its block would be text lost: an error.
    fn grow_block(&mut self, event: &Members<'_>) -> Result<(), CallFailure> {
        let index = event.number("index");
        let mut newest_first = self.blocks.iter_mut().rev();
        let block = newest_first.find(|block| index.is_none_or(|index| block.index == index));
        let added = block.zip(event.object("delta")).and_then(|(block, delta)| block.grow(&delta));
        self.keep(added.ok_or_else(|| unexpected("content_block_delta"))?)
    }

    /// `message_delta`: the members of `delta` and of `usage` are totals that
    /// replace earlier ones; other members (`context_management` …) belong to
    /// the message itself.
    fn amend(&mut self, event: &Members<'_>) -> Result<(), CallFailure> {
        let message = self.begun("message_delta")?;
        let mut usage = Object::default();
        for part in [message.get("usage"), event.get("usage")] {
            for (key, value) in part.and_then(Members::read).iter().flat_map(Members::iter) {
                usage.update(key, value);
            }
        }
        let delta = event.object("delta");
        for (key, value) in delta.iter().flat_map(Members::iter) {
            message.update(key, value);
        }
        for (key, value) in event.iter() {
            if !["type", "delta", "usage"].contains(&key) {
                message.update(key, value);
            }
        }
        message.set("usage", usage.to_json());
        let added = event.iter().map(|(_, value)| value.len()).sum();
        self.keep(added)
    }

    fn begun(&mut self, event: &str) -> Result<&mut Object, CallFailure> {
        let early = || unexpected(&format!("{event} before message_start"));
        self.message.as_mut().ok_or_else(early)
    }

    fn keep(&mut self, added: usize) -> Result<(), CallFailure> {
        self.bytes += added;
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(CallFailure::TooLarge);
        }
        Ok(())
    }
}

/// What an event is. The data's own `type` decides, because some gateways drop
/// the `event:` line; an error without any type is an error nonetheless.
fn kind(event: &Event, data: Option<&Members<'_>>) -> String {
    let said = data.and_then(|data| data.text("type"));
    let bare = said.is_none() && data.is_some_and(|data| data.get("error").is_some());
    if event.name == "error" || bare {
        "error".to_owned()
    } else {
        said.unwrap_or_else(|| event.name.clone())
    }
}

fn unexpected(what: &str) -> CallFailure {
    CallFailure::Unexpected(format!("the stream has an unreadable part: {what}"))
}

/// As the rate limits count it: cache reads are free of charge.
fn usage(message: &Object) -> Usage {
    let usage = message.get("usage").and_then(Members::read);
    let tokens = |key| {
        let count = usage.as_ref().and_then(|usage| usage.number(key));
        Tokens::new(count.unwrap_or(0))
    };
    Usage {
        input: tokens("input_tokens").saturating_add(tokens("cache_creation_input_tokens")),
        output: tokens("output_tokens"),
    }
}
