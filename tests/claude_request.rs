//! Requests at the door: depth, size, cost.
use claude_pipeline::claude::{JsonFault, estimate_request, estimate_text, guard_json, streamed};

const MODEL: &str = "claude-sonnet-4-6";

/// C17: 100 levels pass, 20,000 are refused, in fields nobody reads as well.
#[test]
fn depth_is_refused_before_anything_is_parsed() {
    let request = |open: &str, close: &str, depth| {
        let deep = open.repeat(depth) + "1" + &close.repeat(depth);
        format!(r#"{{"prompt":"x","metadata":{deep}}}"#)
    };
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        assert!(guard_json(request(open, close, 100).as_bytes()).is_ok());
        let deep = request(open, close, 20_000);
        let refused = guard_json(deep.as_bytes());
        assert!(matches!(refused, Err(JsonFault::TooDeep { .. })));
    }
}

/// C40: Han text is not counted by four, in any spelling.
#[test]
fn a_han_prompt_is_charged_before_the_call() {
    let prompt = "漢字".repeat(10_000);
    let escaped = r"\u6f22\u5b57".repeat(10_000);
    assert!(estimate_text(&prompt, MODEL).get() >= 12_000);
    for text in [prompt, escaped] {
        let charged = estimate_request(&request(&text), MODEL).get();
        assert!((30_000..30_100).contains(&charged), "{charged}");
    }
}

/// C21: a long prompt goes out whole.
#[test]
fn a_long_prompt_is_sent_unchanged() {
    for text in ["a".repeat(200_000), "漢".repeat(60_000)] {
        let sent = streamed(&request(&text)).unwrap();
        assert_eq!(sent, format!(r#"{{"stream":true,{}"#, &request(&text)[1..]));
    }
}

#[test]
fn a_tool_definition_costs_about_what_its_json_does() {
    let tool = r#"{"name":"get_weather","description":"Looks the weather up.","input_schema":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["c","f"]}},"required":["city"]}}"#;
    let tokens = estimate_request(tool, MODEL).get();
    let per_token = tool.len() as u64 * 10 / tokens;
    assert!((18..=28).contains(&per_token), "{per_token}");
}

fn request(text: &str) -> String {
    format!(
        r#"{{"model":"{MODEL}","max_tokens":64,"messages":[{{"role":"user","content":"{text}"}}]}}"#
    )
}
