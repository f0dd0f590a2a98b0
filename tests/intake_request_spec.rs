//! What becomes of `request` in the body of `POST /jobs`.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code")]

use claude_pipeline::{
    claude::TextCounts,
    pipeline::{
        intake::{BodyReader, RequestFacts},
        problem::Problem,
    },
};

#[test]
fn a_request_goes_on_byte_for_byte_and_streamed() {
    for (request, sent) in [
        (r"{}", r#"{"stream":true}"#),
        (r"{ }", r#"{ "stream":true}"#),
        (r#"{"a":1}"#, r#"{"a":1,"stream":true}"#),
        (
            "{ \"a\" : 1.0e0 ,\n\"b\" : \"\\u0041\" }",
            "{ \"a\" : 1.0e0 ,\n\"b\" : \"\\u0041\" ,\"stream\":true}",
        ),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2,"stream":true}"#),
    ] {
        assert_eq!(relayed(request), sent);
    }
}

#[test]
fn its_own_stream_gives_way_wherever_it_stands() {
    for (request, sent) in [
        (r#"{"stream":false}"#, r#"{"stream":true}"#),
        (r#"{"stream":true,"a":1}"#, r#"{"a":1,"stream":true}"#),
        (r#"{"a":1,"stream":null,"b":2}"#, r#"{"a":1,"b":2,"stream":true}"#),
        (r#"{"a":1,"stream":false}"#, r#"{"a":1,"stream":true}"#),
        (r#"{"a":1, "stream" : {"x":[",}"]} , "b":2}"#, r#"{"a":1,  "b":2,"stream":true}"#),
        (r#"{"stream":1,"a":2,"stream":3,"stream":4}"#, r#"{"a":2,"stream":true}"#),
    ] {
        assert_eq!(relayed(request), sent);
    }
}

#[test]
fn an_escaped_stream_is_a_stream() {
    let escaped = "stream".chars().map(|c| format!("\\u{:04X}", u32::from(c)));
    let escaped = escaped.collect::<Vec<_>>().concat();
    for name in ["\\u0073tream", "strea\\u006d", &escaped] {
        assert_eq!(relayed(&format!(r#"{{"{name}":false}}"#)), r#"{"stream":true}"#);
    }
}

#[test]
fn only_its_own_stream_gives_way() {
    let like = ["streams", "Stream", "stream ", "\\\\u0073tream", &"stream".repeat(50)];
    let like = like.map(|name| format!(r#"{{"{name}":false"#));
    let nested = r#"{"a":{"stream":false,"b":[{"stream":0}]}"#.to_owned();
    for request in like.into_iter().chain([nested]) {
        assert_eq!(relayed(&format!("{request}}}")), format!(r#"{request},"stream":true}}"#));
    }
}

#[test]
fn what_the_door_must_know_is_noted() {
    let facts = facts(
        r#"{"metadata":{"model":"x"},"mo\u0064el":"claude-\u0061","max_tokens" : 5 ,"messages":[]}"#,
    );
    assert_eq!(facts.model.as_deref(), Some("claude-a"));
    assert_eq!(facts.max_tokens, Some(5));
    assert!(facts.has_messages);
}

#[test]
fn what_is_not_there_is_not_noted() {
    let facts = facts(r#"{"a":{"model":"m","max_tokens":1,"messages":[]}}"#);
    assert_eq!((facts.model, facts.max_tokens, facts.has_messages), (None, None, false));
}

#[test]
fn a_member_of_the_wrong_type_is_named() {
    let long = format!(r#""{}""#, "m".repeat(1_000));
    for (name, values) in [
        ("model", ["1", "null", "[\"m\"]", "{\"a\":\"m\"}", long.as_str()].as_slice()),
        ("max_tokens", &["\"5\"", "-1", "1.5", "null", "[5]", "99999999999999999999"]),
        ("messages", &["{}", "\"hello\"", "null"]),
    ] {
        for value in values {
            let problem = refused(&format!(r#"{{"request":{{"{name}":{value}}}}}"#));
            let field = format!("request.{name}");
            assert_eq!((problem.status, problem.field), (400, Some(field)), "{value}");
        }
    }
}

#[test]
fn a_request_that_is_no_object_is_refused() {
    for request in ["[]", "1", "null", "true", r#""x""#] {
        let problem = refused(&format!(r#"{{"request":{request}}}"#));
        assert_eq!(problem.detail, "`request` must be a JSON object");
        assert_eq!(problem.field.as_deref(), Some("request"));
    }
}

#[test]
fn a_text_is_counted_as_the_same_text_anywhere() {
    for (text, plain) in [
        ("hello", "hello"),
        (r"a\n\u0041\\", "a\nA\\"),
        ("漢字かなカナ한글、。", "漢字かなカナ한글、。"),
        (r"\u6f22\ud840\udc00", "漢\u{20000}"),
        ("日本語 in English", "日本語 in English"),
        (r"äß\u00e9 Ж", "äßé Ж"),
        (r"🦀\ud83e\udd80", "🦀🦀"),
    ] {
        let mut expected = counts(r#"{"":""}"#);
        expected += TextCounts::from(plain);
        assert_eq!(counts(&format!(r#"{{"":"{text}"}}"#)), expected, "{text}");
    }
}

#[test]
fn names_numbers_literals_and_marks_count_too() {
    let counted = counts(r#"{ "ab" : [ 12.5, true ] }"#);
    let expected = TextCounts { letters: 2 + 4, digits: 3, signs: 1 + 7, ..TextCounts::default() };
    assert_eq!(counted, expected);
}

#[test]
fn a_file_in_base64_is_no_text() {
    let file = "QUJD".repeat(1_000);
    let source = |data: &str| format!(r#"{{"a":{{"type":"base64","data":"{data}"}},"b":"c"}}"#);
    let mut expected = counts(&source(""));
    expected.data_bytes = 4_000;
    let slashed = file.replace("QUJDQUJD", r"QU\/DQUJD");
    for file in [&file, &slashed] {
        assert_eq!(counts(&source(file)), expected);
    }
}

#[test]
fn a_text_that_is_called_data_is_text() {
    let prose = "This is a plain text document. ".repeat(100);
    let escaped = r"\u6f22".repeat(1_000);
    for text in [prose.as_str(), "QUJD", &escaped] {
        let counts = counts(&format!(r#"{{"data":"{text}"}}"#));
        assert_eq!(counts.data_bytes, 0);
    }
    let file = "QUJD".repeat(1_000);
    assert_eq!(counts(&format!(r#"{{"text":"{file}"}}"#)).data_bytes, 0);
}

fn read(request: &str) -> (RequestFacts, String) {
    let body = format!(r#"{{"origin":"scheduled","request": {request} }}"#);
    let (mut reader, mut sent) = (BodyReader::new(), Vec::new());
    reader.push(body.as_bytes(), &mut sent).unwrap();
    let facts = reader.finish().unwrap().request.unwrap();
    assert_eq!(facts.bytes, sent.len() as u64);
    (facts, String::from_utf8(sent).unwrap())
}

fn relayed(request: &str) -> String {
    read(request).1
}

fn facts(request: &str) -> RequestFacts {
    read(request).0
}

fn counts(request: &str) -> TextCounts {
    facts(request).counts
}

fn refused(body: &str) -> Problem {
    let mut reader = BodyReader::new();
    let pushed = reader.push(body.as_bytes(), &mut Vec::new());
    pushed.and_then(|()| reader.finish().map(|_| ())).unwrap_err()
}
