//! What holds for every body: `serde_json` is the judge of what JSON is, and
//! no cut of the network changes anything.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code")]

use claude_pipeline::{
    claude::TextCounts,
    pipeline::{
        intake::{Body, BodyReader},
        problem::Problem,
    },
};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Map, Value};

proptest! {
    #[test]
    fn whatever_json_is_is_taken(text in object("k")) {
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "the generator writes JSON");
        for body in [format!(r#"{{"a":{text}}}"#), format!(r#"{{"request":{text}}}"#)] {
            prop_assert_eq!(read(body.as_bytes()).err(), None);
        }
    }

    #[test]
    fn what_json_is_not_is_not_taken(
        text in object("k"),
        as_request: bool,
        damage in vec((any::<Index>(), byte(), 0..3_u8), 1..4),
    ) {
        let name = if as_request { "request" } else { "a" };
        let body = damaged(format!(r#"{{"{name}":{text}}}"#), &damage);
        let judged = serde_json::from_slice::<Map<String, Value>>(&body);
        match (read(&body), judged) {
            (Ok(_), Ok(_)) => {}
            // A number beyond f64 is JSON all the same.
            (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{error}"),
            (Err(problem), Err(_)) => prop_assert_eq!(problem.status, 400),
            // More is refused than what is no JSON.
            (Err(problem), Ok(_)) => prop_assert!(!about_json(&problem), "{}", problem.detail),
        }
    }

    #[test]
    fn no_cut_changes_anything(
        text in object("k"),
        as_request: bool,
        damage in vec((any::<Index>(), byte(), 0..3_u8), 0..2),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let name = if as_request { "request" } else { "a" };
        let body = damaged(format!(r#"{{"{name}":{text}}}"#), &damage);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        cuts.sort_unstable();
        let every_byte: Vec<_> = (1..body.len()).collect();
        for cuts in [cuts, every_byte] {
            match (read_in_pieces(&body, &cuts), read(&body)) {
                // Of two faults, the one that is told may be either.
                (Err(_), Err(_)) if as_request => {}
                (cut, whole) => prop_assert_eq!(cut, whole),
            }
        }
    }

    #[test]
    fn a_field_is_the_value_serde_sees(text in object("k"), before in blank(), after in blank()) {
        let body = format!(r#"{{"a":{before}{text}{after},"b":7}}"#);
        let fields = read(body.as_bytes()).unwrap().0.fields;
        prop_assert_eq!(fields, [("a".to_owned(), text), ("b".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn the_upstream_gets_every_byte_but_those_of_stream(members in vec(member(), 0..6)) {
        let texts: Vec<_> = members.iter().map(|member| member.text(true)).collect();
        let request = format!("{{{}}}", texts.join(","));
        let body = format!(r#"{{"origin":1,"request":{request}}}"#);
        let sent = String::from_utf8(read(body.as_bytes()).unwrap().1).unwrap();
        prop_assert_eq!(&sent, &streamed(&members));

        let mut seen: Map<String, Value> = serde_json::from_str(&request).unwrap();
        seen.insert("stream".to_owned(), Value::Bool(true));
        prop_assert_eq!(serde_json::from_str::<Map<_, _>>(&sent).unwrap(), seen);
    }

    #[test]
    fn without_a_stream_the_request_is_only_added_to(text in object("k")) {
        let body = format!(r#"{{"request":{text}}}"#);
        let sent = String::from_utf8(read(body.as_bytes()).unwrap().1).unwrap();
        let original = sent.strip_suffix(r#""stream":true}"#).unwrap();
        let original = original.strip_suffix(',').unwrap_or(original);
        prop_assert_eq!(format!("{original}}}"), text);
    }

    #[test]
    fn every_character_is_counted_once(texts in vec(any::<String>(), 0..8), escaped: bool) {
        let mut expected = TextCounts::default();
        for text in &texts {
            expected += TextCounts::from(text.as_str());
        }
        // Braces and brackets, the commas, and a colon with its quotes.
        expected.signs += 4 + u32::try_from(texts.len().saturating_sub(1)).unwrap() + 2;
        let mut json = serde_json::to_string(&texts).unwrap();
        if escaped {
            json = json.chars().map(in_ascii).collect();
        }
        let body = format!(r#"{{"request":{{"":{json}}}}}"#);
        let counts = read(body.as_bytes()).unwrap().0.request.unwrap().counts;
        prop_assert_eq!(counts, expected);
    }
}

/// One member of a request, and the blanks around it.
#[derive(Clone, Debug)]
struct Member {
    before: String,
    name: &'static str,
    value: String,
}

impl Member {
    /// A `stream` leaves nothing but the blanks before it.
    fn text(&self, with_stream: bool) -> String {
        let Self { before, name, value } = self;
        if self.is_stream() && !with_stream {
            before.clone()
        } else {
            format!("{before}{name}{value}")
        }
    }

    fn is_stream(&self) -> bool {
        serde_json::from_str::<String>(self.name).unwrap() == "stream"
    }
}

/// A comma is written before a member if one that was kept came since the last
/// comma.
fn streamed(members: &[Member]) -> String {
    let (mut text, mut complete) = ("{".to_owned(), false);
    for member in members {
        text += if complete { "," } else { "" };
        text += &member.text(false);
        complete = !member.is_stream();
    }
    text += if complete { "," } else { "" };
    text + r#""stream":true}"#
}

fn member() -> impl Strategy<Value = Member> {
    let stream = prop_oneof![Just(r#""stream""#), Just(r#""\u0073tr\u0065am""#)];
    let other = prop_oneof![
        Just(r#""""#),
        Just(r#""a""#),
        Just(r#""Stream""#),
        Just(r#""streams""#),
        Just(r#""\\u0073tream""#),
        Just(r#""a name that is longer than any that has a meaning for the relay""#),
    ];
    let name = prop_oneof![stream, other];
    (blank(), name, blank(), blank(), json(), blank()).prop_map(
        |(before, name, colon, value, json, after)| {
            let value = format!("{colon}:{value}{json}{after}");
            Member { before, name, value }
        },
    )
}

/// The text of an object. Its own names are made of `prefix` and a number.
fn object(prefix: &'static str) -> impl Strategy<Value = String> {
    let members = vec((blank(), json(), blank()), 0..6);
    members.prop_map(move |members| {
        let member = |(at, (before, value, after))| {
            format!(r#"{before}"{prefix}{at}"{before}:{before}{value}{after}"#)
        };
        let members: Vec<_> = members.into_iter().enumerate().map(member).collect();
        format!("{{{}}}", members.join(","))
    })
}

/// The text of any value.
fn json() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?";
    let literal = prop_oneof![Just("true"), Just("false"), Just("null")];
    let leaf = prop_oneof![number, literal.prop_map(str::to_owned), string()];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let item =
            (blank(), inner.clone(), blank()).prop_map(|(a, b, c)| format!("{a}{b}{c}")).boxed();
        let member = (blank(), string(), blank(), item.clone())
            .prop_map(|(a, name, b, value)| format!("{a}{name}{b}:{value}"));
        prop_oneof![
            (vec(item, 0..5), blank()).prop_map(|(items, blank)| match items.as_slice() {
                [] => format!("[{blank}]"),
                items => format!("[{}]", items.join(",")),
            }),
            (vec(member, 0..5), blank()).prop_map(|(members, blank)| match members.as_slice() {
                [] => format!("{{{blank}}}"),
                members => format!("{{{}}}", members.join(",")),
            }),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    let plain = "[ !#-\\[\\]-~]{0,20}".boxed();
    let escape = prop_oneof![
        r#"\\["\\/bfnrt]"#,
        "\\\\u[0-9a-cA-C][0-9a-fA-F]{3}",
        "\\\\ud[89abAB][0-9a-f]{2}\\\\uD[c-fC-F][0-9A-F]{2}",
    ];
    let beyond = any::<char>().prop_map(|c| if c < ' ' || "\"\\".contains(c) { 'é' } else { c });
    let part = prop_oneof![plain, escape, beyond.prop_map(String::from)];
    vec(part, 0..6).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn blank() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => "[ \t\r\n]{1,4}"]
}

/// Mostly bytes that mean something.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        proptest::sample::select(b"{}[]:,\"\\u/0.eE+-dDtn \x80\xED\xF4".to_vec())
    ]
}

/// Changes, removes or adds bytes.
fn damaged(body: String, damage: &[(Index, u8, u8)]) -> Vec<u8> {
    let mut body = body.into_bytes();
    for (at, byte, how) in damage {
        let at = at.index(body.len());
        match how {
            0 => body[at] = *byte,
            1 => drop(body.remove(at)),
            _ => body.insert(at, *byte),
        }
    }
    body
}

fn in_ascii(c: char) -> String {
    if (' '..='~').contains(&c) {
        return c.to_string();
    }
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    units.map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat()
}

fn about_json(problem: &Problem) -> bool {
    ["not valid JSON", "the body must be a JSON object", "the body is empty"]
        .iter()
        .any(|words| problem.detail.contains(words))
}

fn read(body: &[u8]) -> Result<(Body, Vec<u8>), Problem> {
    read_in_pieces(body, &[])
}

/// Reads the body cut at the places given.
fn read_in_pieces(body: &[u8], cuts: &[usize]) -> Result<(Body, Vec<u8>), Problem> {
    let (mut reader, mut sent) = (BodyReader::new(), Vec::new());
    let from = [0].into_iter().chain(cuts.iter().copied());
    let to = cuts.iter().copied().chain([body.len()]);
    for (from, to) in from.zip(to) {
        let before = sent.len();
        reader.push(&body[from..to], &mut sent)?;
        assert!(sent.len() - before <= to - from + 100, "memory is bounded by the piece");
    }
    Ok((reader.finish()?, sent))
}
