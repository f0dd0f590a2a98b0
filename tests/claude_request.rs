//! Requests at the door: what they are charged, and that they go out whole.
#![allow(clippy::unwrap_used, reason = "test code")]

use claude_pipeline::{
    claude::{Instructions, TextCounts},
    pipeline::intake::BodyReader,
};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use serde_json::{Value, json};

const MODELS: [&str; 2] = ["claude-sonnet-4-6", "claude-opus-5"];

/// What names, roles and marks of a request with one message are charged more.
const ENVELOPE: std::ops::Range<u64> = 0..70;

/// C40: Han text is not counted by four, in any spelling.
#[test]
fn a_han_prompt_is_charged_before_the_call() {
    let prompt = "漢字".repeat(10_000);
    let escaped = r"\u6f22\u5b57".repeat(10_000);
    for model in MODELS {
        assert!((30_000..30_100).contains(&as_prompt(&prompt, model)));
        for text in [&prompt, &escaped] {
            let charged = as_request(&format!("\"{text}\""), model);
            assert!((30_000..30_100).contains(&charged), "{charged}");
        }
    }
}

#[test]
fn a_prompt_costs_the_same_in_a_request() {
    for text in ["", "hello", "It's 12:30, \"really\"!\n", "äß Ж 한글 漢字 かな 🦀", "{\"a\": [1]}"]
    {
        compare(&text.repeat(1_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_failure_persistence(
        FileFailurePersistence::WithSource("proptest-regressions"),
    ))]

    #[test]
    fn any_prompt_costs_the_same_in_a_request(text: String) {
        compare(&text);
    }
}

#[test]
fn a_tool_definition_costs_about_what_its_json_does() {
    let tool = json!({
        "name": "get_weather",
        "description": "Looks the weather up.",
        "input_schema": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["c", "f"]},
            },
            "required": ["city"],
        },
    });
    let tool = tool.to_string();
    let tokens = charged(&tool, MODELS[0]);
    let per_token = tool.len() as u64 * 10 / tokens;
    assert!((18..=28).contains(&per_token), "{per_token}");
}

/// C21: a long prompt goes out whole.
#[test]
fn a_long_prompt_is_sent_unchanged() {
    for text in ["a".repeat(200_000), "漢".repeat(60_000)] {
        let body: Value = serde_json::from_str(&instructions(&text, MODELS[0]).body()).unwrap();
        assert_eq!(body.pointer("/messages/0/content"), Some(&json!(text)));
    }
}

fn compare(text: &str) {
    let json = Value::from(text).to_string();
    let escaped: String = json.chars().map(in_ascii).collect();
    for model in MODELS {
        let alone = as_prompt(text, model);
        for json in [&json, &escaped] {
            let more = as_request(json, model).checked_sub(alone);
            assert!(more.is_some_and(|more| ENVELOPE.contains(&more)), "{more:?}: {json}");
        }
    }
}

fn as_prompt(text: &str, model: &str) -> u64 {
    let tokens = instructions(text, model).input_tokens().get();
    assert!(tokens >= TextCounts::from(text).tokens(model).get());
    tokens
}

fn instructions<'a>(prompt: &'a str, model: &'a str) -> Instructions<'a> {
    Instructions { model, max_tokens: 64, system: None, prompt }
}

fn as_request(content: &str, model: &str) -> u64 {
    let message = format!(r#"{{"role":"user","content":{content}}}"#);
    charged(&format!(r#"{{"model":"{model}","max_tokens":64,"messages":[{message}]}}"#), model)
}

fn charged(request: &str, model: &str) -> u64 {
    let mut reader = BodyReader::new();
    reader.push(format!(r#"{{"request":{request}}}"#).as_bytes(), &mut Vec::new()).unwrap();
    reader.finish().unwrap().request.unwrap().counts.tokens(model).get()
}

fn in_ascii(c: char) -> String {
    if c.is_ascii() {
        return c.to_string();
    }
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    units.map(|unit| format!("\\u{unit:04X}")).collect::<Vec<_>>().concat()
}
