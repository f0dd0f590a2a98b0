//! Answers as they arrive: streams and single messages, cut anywhere.
#![allow(clippy::unwrap_used, reason = "test code")]

use claude_pipeline::{
    claude::{Answer, AnswerReader, CallFailure},
    domain::{Outcome, Tokens},
};
use serde_json::{Value, json};

#[test]
fn a_stream_becomes_the_message_a_plain_call_would_have_returned() {
    let answer = read(&[STREAM.as_bytes()]).unwrap();
    assert_eq!(answer.text, "Hé, 漢字 📄 and more");
    assert_eq!(answer.stop_reason.as_deref(), Some("tool_use"));
    assert_eq!(answer.model.as_deref(), Some("claude-test"));
    assert_eq!(answer.usage.input, Tokens::new(12 + 100));
    assert_eq!(answer.usage.output, Tokens::new(90));
    assert_eq!(
        whole(&answer),
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
            "content": [
                {"type": "thinking", "thinking": "hm, yes", "signature": "c2ln"},
                {"type": "text", "text": "Hé, 漢字 📄", "citations": [{"cited_text": "x"}]},
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": [1, 2]}},
                {"type": "of_next_year", "x": {"y": 1}},
                {"type": "text", "text": " and more"},
            ],
            "stop_reason": "tool_use", "stop_sequence": null, "container": {"id": "c"},
            "new_field": {"n": 1}, "context_management": {"applied_edits": []},
            "usage": {
                "input_tokens": 12, "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 5000, "output_tokens": 90,
                "server_tool_use": {"web_search_requests": 1},
            },
        })
    );
}

#[test]
fn numbers_and_unknown_fields_keep_their_text() {
    let body = r#"{"type":"message","x":1.10e2,"n":123456789012345678901,
        "content":[{"type":"tool_use","input":{"id":98765432109876543210}}]}"#;
    let json = String::from_utf8(read(&[body.as_bytes()]).unwrap().to_json().unwrap()).unwrap();
    for kept in ["1.10e2", "123456789012345678901", "98765432109876543210"] {
        assert!(json.contains(kept), "{json}");
    }
}

#[test]
fn a_skeleton_may_travel_in_a_header() {
    let skeleton = read(&[STREAM.as_bytes()]).unwrap().skeleton;
    assert!(skeleton.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
    assert!(!skeleton.contains("more"));
}

/// C14: a byte order mark before the answer.
#[test]
fn a_mark_before_the_answer_costs_nothing() {
    let answer = read(&[format!("\u{feff}{}", plain("fine", "end_turn")).as_bytes()]).unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.input.get()), ("fine", 12));
}

/// C22: a status of 200 that is a failure.
#[test]
fn a_failure_inside_an_answer_is_tried_again() {
    let half = STREAM.split_inclusive("\n\n").take(9).collect::<String>();
    for (body, kind) in [
        (ERROR_EVENT.to_owned(), "overloaded_error"),
        (format!("{half}{ERROR_EVENT}"), "overloaded_error"),
        (OVERLOADED.to_owned(), "overloaded_error"),
        (
            r#"{"error":{"message":"mock: upstream limit","code":502}}"#.to_owned(),
            "unexpected_answer",
        ),
        (half.clone(), "incomplete_answer"),
        (half.trim_end().to_owned(), "incomplete_answer"),
        (half.get(..half.len() - 9).unwrap().to_owned(), "incomplete_answer"),
        (String::new(), "incomplete_answer"),
        (plain("x", "y").get(..90).unwrap().to_owned(), "incomplete_answer"),
    ] {
        let outcome = read(&[body.as_bytes()]).unwrap_err().outcome();
        let Outcome::Transient { error, .. } = outcome else {
            panic!("{body}: {outcome:?}");
        };
        assert_eq!(error.kind, kind, "{body}");
    }
}

/// C24, C25: the reason is kept, whatever it is.
#[test]
fn a_refusal_a_cut_and_an_unknown_reason_are_answers() {
    for (text, reason) in [
        ("I can start but", "refusal"),
        ("ok", "some_future_reason"),
        (r#"{"items":[{"name":"one"},{"na"#, "max_tokens"),
        ("cut off he", "model_context_window_exceeded"),
    ] {
        let answer = read(&[plain(text, reason).as_bytes()]).unwrap();
        assert_eq!((answer.text.as_str(), answer.stop_reason.as_deref()), (text, Some(reason)));
    }
    let empty = r#"{"type":"message","content":[],"stop_reason":"refusal",
        "stop_details":{"type":"refusal","category":"mock","explanation":null}}"#;
    let refused = read(&[empty.as_bytes()]).unwrap();
    assert_eq!(refused.text, "");
    assert_eq!(whole(&refused)["stop_details"]["category"], "mock");
}

#[test]
fn the_end_is_known_before_the_connection_ends() {
    let mut reader = AnswerReader::default();
    let stream = STREAM.trim_end();
    reader.push(stream.as_bytes()).unwrap();
    assert!(!reader.is_complete());
    reader.push(b"\n\n").unwrap();
    assert!(reader.is_complete());
    reader.push(ERROR_EVENT.as_bytes()).unwrap();
    assert!(reader.finish().is_ok());
    assert!(read(&[stream.as_bytes()]).is_ok(), "the last empty line may be missing");
}

#[test]
fn events_need_no_name_and_names_need_no_type() {
    let lines = STREAM.split_inclusive('\n');
    let unnamed: String = lines.filter(|line| !line.starts_with("event:")).collect();
    assert_eq!(read(&[unnamed.as_bytes()]), read(&[STREAM.as_bytes()]));
    let untyped = STREAM.replace(r#""type":"message_stop""#, "");
    assert_eq!(read(&[untyped.as_bytes()]), read(&[STREAM.as_bytes()]));
}

#[test]
fn a_stream_that_breaks_the_rules_is_no_answer() {
    let start = STREAM.split_inclusive("\n\n").take(2).collect::<String>();
    let delta =
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}"#;
    for broken in [
        format!("{start}{start}"),
        format!("{start}data: {delta}\n\n"),
        format!("{start}event: message_delta\ndata: {{\n\n"),
        "data: {\"type\":\"message_stop\"}\n\n".to_owned(),
        format!("data: {delta}\n\n"),
    ] {
        let failure = read(&[broken.as_bytes()]).unwrap_err();
        assert!(matches!(failure, CallFailure::Unexpected(_)), "{broken}");
    }
}

#[test]
fn an_answer_that_grows_without_end_is_given_up() {
    let start = STREAM.split_inclusive("\n\n").take(2).collect::<String>();
    let mut reader = AnswerReader::default();
    reader.push(start.as_bytes()).unwrap();
    reader.push(b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n").unwrap();
    let more = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{}\"}}}}\n\n",
        "x".repeat(1 << 20)
    );
    let failure = (0..20).find_map(|_| reader.push(more.as_bytes()).err());
    assert_eq!(failure, Some(CallFailure::TooLarge));
}

#[track_caller]
fn whole(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.to_json().unwrap()).unwrap()
}

fn plain(text: &str, stop_reason: &str) -> String {
    json!({
        "id": "msg_case", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [{"type": "text", "text": text}], "stop_reason": stop_reason,
        "stop_sequence": null, "usage": {"input_tokens": 12, "output_tokens": 7},
    })
    .to_string()
}

fn read(chunks: &[&[u8]]) -> Result<Answer, CallFailure> {
    let mut reader = AnswerReader::default();
    for chunk in chunks {
        reader.push(chunk)?;
    }
    reader.finish()
}

const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"mock: busy"},"request_id":"r"}"#;

const ERROR_EVENT: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"mock: busy\"}}\n\n";

const STREAM: &str = concat!(
    ": hello\n\n",
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"new_field":{"n":1},"usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":5000,"output_tokens":1}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"yes"}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    "\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hé, 漢字"}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" \ud83d\udcc4"}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"delta_of_next_year","text":"no"}}"#,
    "\n\nevent: of_next_year\ndata: not even json\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"add","input":{}}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":[1,"}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"2]}"}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"of_next_year","x":{"y":1}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":4,"content_block":{"type":"text","text":" and"}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":" more"}}"#,
    "\n\nevent: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use","container":{"id":"c"}},"usage":{"output_tokens":50}}"#,
    "\n\nevent: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":90,"input_tokens":null,"server_tool_use":{"web_search_requests":1}},"context_management":{"applied_edits":[]}}"#,
    "\n\nevent: message_stop\n",
    r#"data: {"type":"message_stop"}"#,
    "\n\n",
);
