//! Which modules a Rust source names. Words only: comments and literals are
//! skipped, groups are followed over any number of lines.

/// Something named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Named {
    /// `crate::name`; `self`, `*` and `as` stand for the root itself.
    FromRoot(String),
    /// `super::super::name`.
    FromAbove { steps: usize, name: String },
    /// The platform's crates.
    Platform(String),
    /// Source that another path or macro brings in.
    Elsewhere(String),
}

/// Everything a source names.
pub(crate) fn named(source: &str) -> Vec<Named> {
    let words = words(source);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let mut found = Vec::new();
    for at in 0..words.len() {
        let (before, next) = (if at > 0 { word(at - 1) } else { "" }, word(at + 1));
        match word(at) {
            "crate" if before == "extern" => found.push(Named::Elsewhere("extern crate".into())),
            "crate" if next == "::" => found.extend(heads(&words, at + 2).map(Named::FromRoot)),
            "crate" if next == "as" => found.push(Named::FromRoot("as".into())),
            "super" if before != "::" => {
                let steps = words[at..].chunks(2).take_while(|pair| pair[0] == "super").count();
                let names = heads(&words, at + 2 * steps);
                found.extend(names.map(|name| Named::FromAbove { steps, name }));
            }
            "worker" if before != "::" && (next == "::" || before == "use") => {
                found.push(Named::Platform("worker".into()));
            }
            platform @ ("js_sys" | "web_sys" | "wasm_bindgen" | "worker_sys") => {
                found.push(Named::Platform(platform.into()));
            }
            "path" if before == "[" && next == "=" => found.push(Named::Elsewhere("path".into())),
            "include" if next == "!" => found.push(Named::Elsewhere("include".into())),
            _ => {}
        }
    }
    found
}

/// The first word of a path, or of each path in a group.
fn heads(words: &[String], at: usize) -> impl Iterator<Item = String> {
    let mut heads = Vec::new();
    match words.get(at).map(String::as_str) {
        Some("{") => {
            let (mut depth, mut begins) = (1, true);
            for word in &words[at + 1..] {
                match word.as_str() {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "," if depth == 1 => begins = true,
                    name if begins => {
                        heads.push(name.to_owned());
                        begins = false;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        Some(name) => heads.push(name.to_owned()),
        None => {}
    }
    heads.into_iter()
}

/// Identifiers, `::`, and every other character by itself.
fn words(source: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if let Some(skipped) = skipped(rest) {
            skipped
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            end.unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, later) = rest.split_at(length);
        if skipped(rest).is_none() && !first.is_whitespace() {
            words.push(word.to_owned());
        }
        rest = later;
    }
    words
}

/// The length of the comment or literal that begins here.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(marks) =
        raw.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len())
        && raw[1 + marks..].starts_with('"')
    {
        let close = format!("\"{}", "#".repeat(marks));
        let begin = rest.len() - raw.len() + marks + 2;
        return Some(
            rest[begin..].find(&close).map_or(rest.len(), |end| begin + end + close.len()),
        );
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    // A lifetime has no closing quote right after its first character.
    let mut after = rest.strip_prefix('\'')?.chars();
    match (after.next()?, after.next()?) {
        ('\\', _) => Some(quoted(rest, '\'')),
        (one, '\'') => Some(2 + one.len_utf8()),
        (_, _) => None,
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest[at..];
        at += match here {
            open if open.starts_with("/*") => {
                depth += 1;
                2
            }
            close if close.starts_with("*/") => {
                depth -= 1;
                2
            }
            other => other.chars().next().map_or(1, char::len_utf8),
        };
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}
