//! Server-sent events out of byte chunks cut anywhere (WHATWG HTML, section
//! 9.2.6), with one bound: an event of absurd size is an error, not memory.
use super::json::MARK;
use std::mem::take;

/// The largest event that is read. Claude's own are below a few hundred KB,
/// except for tool results that the server streams whole.
const MAX_EVENT_BYTES: usize = 8_000_000;

/// One event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Event {
    /// The `event:` field; empty if the event had none.
    pub(super) name: String,
    /// The `data:` lines, joined by line feeds.
    pub(super) data: String,
}

/// The event grew beyond [`MAX_EVENT_BYTES`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EventTooLarge;

/// Reads events from chunks.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    /// A line feed that comes next belongs to the carriage return before it.
    after_return: bool,
    begun: bool,
}

impl EventReader {
    /// Reads a chunk and hands over every event that ends in it.
    pub(super) fn push<E: From<EventTooLarge>>(
        &mut self,
        mut chunk: &[u8],
        mut hand_over: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(&first) = chunk.first() {
            if take(&mut self.after_return) && first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (part, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
                return Err(EventTooLarge.into());
            }
            if let Some((&ending, rest)) = rest.split_first() {
                self.after_return = ending == b'\r';
                chunk = rest;
                self.end_line().map_or(Ok(()), &mut hand_over)?;
            } else {
                chunk = rest;
            }
        }
        Ok(())
    }

    /// The event that lacked its closing empty line when the stream ended. The
    /// standard drops it; a paid answer is not thrown away for a line feed.
    pub(super) fn finish(mut self) -> Option<Event> {
        self.end_line().or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = take(&mut self.line);
        if !self.begun && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        self.begun = true;
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = split_field(&line);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            // A comment, `id`, `retry` or anything unknown.
            _ => {}
        }
        line.clear();
        self.line = line;
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let (name, mut data) = (take(&mut self.name), take(&mut self.data));
        data.pop()?;
        Some(Event {
            name: String::from_utf8_lossy(&name).into_owned(),
            data: String::from_utf8_lossy(&data).into_owned(),
        })
    }
}

/// One space after the colon belongs to the syntax.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = line.splitn(2, |byte| *byte == b':');
    let field = parts.next().unwrap_or_default();
    let value = parts.next().unwrap_or_default();
    (field, value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, sample::select};

    #[test]
    fn every_line_end_ends_a_line() {
        for end in ["\n", "\r", "\r\n"] {
            let text = [": hi", "event: a", "data: 1", "data:2", "id: 7", "", "data", "", ""];
            assert_eq!(
                events(&[text.join(end).as_bytes()]),
                [event("a", "1\n2"), event("", "")],
                "{end:?}"
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_field() {
        assert_eq!(events(&[b"\xef\xbb", b"\xbfdata: x\n\n"]), [event("", "x")]);
    }

    #[test]
    fn an_event_without_data_is_none_and_forgets_its_name() {
        assert_eq!(events(&[b"event: a\n\ndata: x\n\n"]), [event("", "x")]);
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        let mut reader = EventReader::default();
        let chunk = vec![b'x'; MAX_EVENT_BYTES];
        let fine: Result<(), EventTooLarge> = reader.push(&chunk, |_| Ok(()));
        assert_eq!(fine, Ok(()));
        assert_eq!(reader.push(b"yy", |_| Ok(())), Err(EventTooLarge));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            pieces in vec(
                select(vec!["\r", "\n", "\n\n", "data:", "event: é", "x", " ", ":", "漢"]), 0..40),
            cuts in vec(0..100_usize, 0..10),
        ) {
            let text = pieces.concat();
            let chunks = cut(text.as_bytes(), cuts);
            prop_assert_eq!(events(&chunks), events(&[text.as_bytes()]));
        }
    }

    fn cut(mut text: &[u8], cuts: Vec<usize>) -> Vec<&[u8]> {
        let mut chunks = Vec::new();
        for at in cuts {
            let (head, tail) = text.split_at(at.min(text.len()));
            chunks.push(head);
            text = tail;
        }
        chunks.push(text);
        chunks
    }

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    fn events(chunks: &[&[u8]]) -> Vec<Event> {
        let (mut reader, mut seen) = (EventReader::default(), Vec::new());
        for chunk in chunks {
            let read: Result<(), EventTooLarge> = reader.push(chunk, |event| {
                seen.push(event);
                Ok(())
            });
            read.unwrap();
        }
        seen.extend(reader.finish());
        seen
    }
}
