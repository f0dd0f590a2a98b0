//! Laws of reading and storing answers, over generated messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use claude_pipeline::claude::{Answer, AnswerReader, CallFailure, Join};
use proptest::{collection::vec, prelude::*, test_runner::FileFailurePersistence};
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig::with_failure_persistence(
        FileFailurePersistence::WithSource("proptest-regressions"),
    ))]

    #[test]
    fn cuts_change_nothing(message in message(), cuts in vec(0..200_usize, 0..30)) {
        let stream = as_stream(&message);
        let chunks = cut(stream.as_bytes(), &cuts);
        prop_assert_eq!(read(&chunks), read(&[stream.as_bytes()]));
        let plain = message.to_string();
        prop_assert_eq!(read(&cut(plain.as_bytes(), &cuts)), read(&[plain.as_bytes()]));
    }

    #[test]
    fn a_stream_cut_off_anywhere_is_no_answer(message in message(), cut_at: prop::sample::Index) {
        let stream = as_stream(&message);
        let stop = stream.rfind("event: message_stop").unwrap();
        let kept = cut_at.index(stop);
        let cut = read(&[&stream.as_bytes()[..kept]]);
        prop_assert_eq!(cut, Err(CallFailure::CutShort));
    }

    #[test]
    fn text_and_skeleton_give_the_message_back(message in message(), cuts in vec(0..20_usize, 0..9)) {
        let answer = read(&[message.to_string().as_bytes()]).unwrap();
        let mut join = Join::new(&answer.skeleton).unwrap();
        prop_assert_eq!(join.text_len(), answer.text.len());
        let mut out = Vec::new();
        for chunk in cut(answer.text.as_bytes(), &cuts) {
            join.push(chunk, &mut out).unwrap();
        }
        join.finish(&mut out).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), message);
    }

    #[test]
    fn streamed_and_plain_answers_are_the_same(message in message()) {
        let streamed = read(&[as_stream(&message).as_bytes()]).unwrap();
        prop_assert_eq!(whole(&streamed), message);
    }
}

fn message() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        any::<String>().prop_map(|text| json!({"type": "text", "text": text})),
        any::<String>().prop_map(|text| json!({"type": "thinking", "thinking": text})),
        (any::<String>(), any::<i64>())
            .prop_map(|(key, n)| json!({"type": "tool_use", "input": {key: [n, null]}})),
        any::<String>().prop_map(|text| json!({"type": "other", "text": text, "input": {}})),
    ];
    (vec(block, 0..5), any::<String>(), any::<u32>()).prop_map(|(content, id, n)| {
        json!({"type": "message", "id": id, "content": content, "stop_reason": "end_turn",
            "usage": {"input_tokens": n, "output_tokens": 1}})
    })
}

/// The message as Claude would stream it, in deltas of one character.
fn as_stream(message: &Value) -> String {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": start})];
    let blocks = message["content"].as_array().unwrap();
    for (index, block) in blocks.iter().enumerate() {
        let (field, kind, text) = match block["type"].as_str().unwrap() {
            "text" => ("text", "text", block["text"].as_str().unwrap().to_owned()),
            "thinking" => ("thinking", "thinking", block["thinking"].as_str().unwrap().to_owned()),
            "tool_use" => ("partial_json", "input_json", block["input"].to_string()),
            _ => ("none", "none", String::new()),
        };
        let mut begun = block.clone();
        for field in ["text", "thinking"].iter().filter(|name| **name == field) {
            begun[field] = json!("");
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        for c in text.chars() {
            let delta = json!({"type": format!("{kind}_delta"), field: c});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    let lines = events.iter().map(|event| {
        format!("event: {}\r\ndata: {event}\r\n\r\n", event["type"].as_str().unwrap())
    });
    lines.collect()
}

#[track_caller]
fn whole(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.to_json().unwrap()).unwrap()
}

fn read(chunks: &[&[u8]]) -> Result<Answer, CallFailure> {
    let mut reader = AnswerReader::default();
    for chunk in chunks {
        reader.push(chunk)?;
    }
    reader.finish()
}

fn cut<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for at in cuts {
        let (head, tail) = bytes.split_at((*at).min(bytes.len()));
        chunks.push(head);
        bytes = tail;
    }
    chunks.push(bytes);
    chunks
}
