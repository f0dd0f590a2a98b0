//! What `POST /jobs` takes for a body, and what it does with it.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code")]

use claude_pipeline::{
    claude::MAX_REQUEST_BYTES,
    pipeline::{
        intake::{Body, BodyReader, MAX_DEPTH, MAX_FIELDS_BYTES},
        problem::Problem,
    },
};

#[test]
fn a_field_is_kept_as_it_was_written() {
    let body = fields(b" { \"a\" : [ 1.50 , \"\\u00e9\" ]\t,\"\\u0062\":1e9 }\r\n");
    assert_eq!(body, [pair("a", r#"[ 1.50 , "\u00e9" ]"#), pair("b", "1e9")]);
}

#[test]
fn c14_a_byte_order_mark_is_skipped() {
    let body = include_bytes!("fixtures/intake/c14-bom.json");
    assert_eq!(fields(body), [pair("prompt", r#""hello""#)]);
}

#[test]
fn half_a_byte_order_mark_is_refused() {
    assert_eq!(
        refused(b"\xEF\xBB{}").detail,
        "the body must be a JSON object: expected '{' at byte 2"
    );
    assert_eq!(refused(b"\xEF\xBB\xBF\xEF\xBB\xBF{}").status, 400);
}

#[test]
fn c16_a_nul_cuts_nothing_off() {
    let kept = fields(include_bytes!("fixtures/intake/c16-nul.json"));
    let prompt: String = serde_json::from_str(&kept[0].1).unwrap();
    assert_eq!(prompt, "before\0after");
}

#[test]
fn c17_a_hundred_levels_are_taken() {
    let kept = fields(include_bytes!("fixtures/intake/c17-depth-100.json"));
    assert_eq!(kept[1].1, format!("{}0{}", "[".repeat(100), "]".repeat(100)));
}

#[test]
fn c17_twenty_thousand_levels_are_refused_wherever_they_are() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = nested(open, 20_000, close);
        let problem = refused(format!(r#"{{"prompt":"x","metadata":{deep}}}"#).as_bytes());
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("metadata")));
        assert!(problem.detail.contains("nested more than 128 levels deep"), "{}", problem.detail);

        let problem = refused(format!(r#"{{"request":{{"tools":{deep}}}}}"#).as_bytes());
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("request")));
    }
}

#[test]
fn the_deepest_value_taken_can_be_read_by_serde_too() {
    let levels = usize::from(MAX_DEPTH) - 1;
    let body = |levels| format!(r#"{{"a":{}}}"#, nested("[", levels, "]"));
    let kept = fields(body(levels).as_bytes());
    assert!(serde_json::from_str::<serde_json::Value>(&kept[0].1).is_ok());
    refused(body(levels + 1).as_bytes());
}

#[test]
fn c21_a_long_prompt_is_kept_to_its_last_character() {
    for prompt in ["0123456789".repeat(20_000), "漢字".repeat(30_000)] {
        let kept = fields(format!(r#"{{"prompt":"{prompt}"}}"#).as_bytes());
        assert_eq!(kept[0].1, format!(r#""{prompt}""#));
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (body, why) in [
        (r#"{"a":1 "b":2}"#, "at byte 7: expected ',' or '}'"),
        (r#"{"a" 1}"#, "at byte 5: expected ':'"),
        (r#"{"a":1,}"#, r#"at byte 7: expected '"'"#),
        (r"{a:1}", r#"at byte 1: expected '"' or '}'"#),
        (r#"{"a":[1,]}"#, "at byte 8: expected a value"),
        (r#"{"a":[,]}"#, "at byte 6: expected a value or ']'"),
        (r#"{"a":[1}"#, "at byte 7: expected ',' or ']'"),
        (r#"{"a":01}"#, "at byte 6: expected ',' or '}'"),
        (r#"{"a":-}"#, "at byte 6: expected a digit"),
        (r#"{"a":nul}"#, "at byte 8: expected true, false or null"),
        (r#"{"a":NaN}"#, "at byte 5: expected a value"),
        (r#"{"a":"\x"}"#, "at byte 7: expected one of \"\\/bfnrtu after a backslash"),
        (r#"{"a":"\u12g4"}"#, "at byte 10: expected a hexadecimal digit"),
        (r#"{"a":"\ud800"}"#, "at byte 12: half a surrogate pair is no character"),
        (r#"{"a":"\udc00"}"#, "at byte 11: half a surrogate pair is no character"),
        (r#"{"a":"\ud800\u0041"}"#, "at byte 17: half a surrogate pair is no character"),
        ("{\"a\":\"\0\"}", "at byte 6: a control character in a string needs an escape"),
        (r"{} {}", "at byte 3: expected nothing more"),
        (r#"{"a":"b"#, "at byte 7: expected the rest of a string, but it ends there"),
        (r#"{"a":1."#, "at byte 7: expected the rest of a number, but it ends there"),
        (r#"{"a":1"#, "at byte 6: expected ',' or '}', but it ends there"),
    ] {
        assert_eq!(refused(body.as_bytes()).detail, format!("the body is not valid JSON {why}"));
    }
    let problem = refused(b"{\"prompt\":\"\xC0\x80\"}");
    assert_eq!(
        problem.detail,
        "the body is not valid JSON at byte 11: the text is not valid UTF-8"
    );
    assert_eq!(problem.field.as_deref(), Some("prompt"));
}

#[test]
fn only_an_object_is_a_body() {
    for (body, why) in [
        ("", "the body is empty: expected a JSON object"),
        ("[]", "the body must be a JSON object: expected '{' at byte 0"),
        (" \n7", "the body must be a JSON object: expected '{' at byte 2"),
    ] {
        assert_eq!(refused(body.as_bytes()).detail, why);
    }
}

#[test]
fn a_field_that_appears_twice_is_refused_however_it_is_spelled() {
    for (body, field) in [
        (r#"{"a":1,"a":1}"#, "a"),
        (r#"{"a":1,"\u0061":1}"#, "a"),
        (r#"{"request":{},"request":{}}"#, "request"),
        (r#"{"request":{"model":"a","mode\u006c":"b"}}"#, "request.model"),
        (r#"{"request":{"messages":[],"messages":[]}}"#, "request.messages"),
    ] {
        let problem = refused(body.as_bytes());
        assert_eq!(problem.detail, format!("`{field}` appears twice"));
        assert_eq!(problem.field.as_deref(), Some(field));
    }
}

#[test]
fn the_fields_together_may_have_a_megabyte() {
    let body = |len| format!(r#"{{"a":1,"prompt":"{}","request":{{}}}}"#, "x".repeat(len));
    let around = r#""a"1"prompt""""request""#.len();
    fields(body(MAX_FIELDS_BYTES - around).as_bytes());

    let problem = refused(body(MAX_FIELDS_BYTES).as_bytes());
    assert_eq!((problem.status, problem.field.as_deref()), (413, Some("prompt")));
}

#[test]
fn a_body_without_a_request_may_have_a_megabyte() {
    let body = |len| format!("{{}}{}", " ".repeat(len - 2));
    fields(body(MAX_FIELDS_BYTES).as_bytes());
    assert_eq!(refused(body(MAX_FIELDS_BYTES + 1).as_bytes()).status, 413);
}

#[test]
fn blanks_do_not_go_on_for_ever() {
    let body = " ".repeat(35_000_000);
    assert_eq!(refused(body.as_bytes()).status, 413);
}

#[test]
fn a_request_may_be_as_large_as_the_upstream_takes_it() {
    let around = r#"{"a":"","stream":true}"#.len();
    let most = usize::try_from(MAX_REQUEST_BYTES).unwrap() - around;
    let body = |len| format!(r#"{{"request":{{"a":"{}"}}}}"#, "x".repeat(len));
    assert_eq!(read(body(most).as_bytes()).unwrap().1.len(), most + around);

    let problem = refused(body(most + 1).as_bytes());
    assert_eq!((problem.status, problem.field.as_deref()), (413, Some("request")));
}

#[test]
fn many_or_long_names_do_not_fill_the_memory() {
    let many: Vec<_> = (0..65).map(|number| format!(r#""{number}":0"#)).collect();
    refused(format!("{{{}}}", many.join(",")).as_bytes());
    fields(format!("{{{}}}", many[1..].join(",")).as_bytes());
    refused(format!(r#"{{"{}":1}}"#, "x".repeat(200)).as_bytes());
}

fn nested(open: &str, levels: usize, close: &str) -> String {
    let inmost = if open == "[" { "" } else { "1" };
    format!("{}{inmost}{}", open.repeat(levels), close.repeat(levels))
}

fn read(body: &[u8]) -> Result<(Body, Vec<u8>), Problem> {
    let (mut reader, mut sent) = (BodyReader::new(), Vec::new());
    reader.push(body, &mut sent)?;
    Ok((reader.finish()?, sent))
}

fn fields(body: &[u8]) -> Vec<(String, String)> {
    read(body).unwrap().0.fields
}

fn refused(body: &[u8]) -> Problem {
    read(body).unwrap_err()
}

fn pair(name: &str, json: &str) -> (String, String) {
    (name.to_owned(), json.to_owned())
}
