//! The dependency rules of the design, checked against the source itself.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "architecture/scanner.rs"]
mod scanner;

use scanner::{Named, named};
use std::fs;
use std::path::{Path, PathBuf};

/// Each folder of `src`, and the sibling folders it may name. Arrows never
/// turn; `cloudflare` and `sim` never meet.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("scheduler", &["domain"]),
    ("claude", &["domain"]),
    ("pipeline", &["domain", "scheduler", "claude"]),
    ("sim", &["domain", "scheduler", "claude", "pipeline"]),
    ("cloudflare", &["domain", "scheduler", "claude", "pipeline"]),
];

/// Their module roots deny clocks and hash maps.
const PURE: &[&str] = &["domain", "scheduler", "claude", "pipeline"];
const DENIAL: &str = "#![deny(clippy::disallowed_methods, clippy::disallowed_types)]";

const MAX_LINES: usize = 300;

#[test]
fn folders_import_only_what_lies_below_them() {
    for (folder, allowed) in MAY_IMPORT {
        for file in rust_files(&Path::new("src").join(folder)) {
            let faults = faults(folder, allowed, &file, &read(&file));
            assert!(faults.is_empty(), "{}: {}", file.display(), faults.join("; "));
        }
    }
}

#[test]
fn every_folder_has_its_rule() {
    for entry in fs::read_dir("src").unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let known = MAY_IMPORT.iter().any(|(folder, _)| *folder == name);
        assert!(known || name == "lib.rs", "src/{name} has no rule");
    }
}

#[test]
fn pure_folders_deny_clocks_and_hash_maps() {
    for folder in PURE {
        let root = read(&Path::new("src").join(folder).join("mod.rs"));
        assert!(root.lines().any(|line| line == DENIAL), "src/{folder}/mod.rs lacks the denial");
        for file in rust_files(&Path::new("src").join(folder)) {
            let lifted = read(&file).contains("allow(clippy::disallowed");
            assert!(!lifted, "{} lifts the denial", file.display());
        }
    }
}

#[test]
fn files_stay_short_enough_to_read_in_one_sitting() {
    let folders = ["src", "tests"].map(Path::new);
    let files = folders.into_iter().flat_map(rust_files);
    let long: Vec<String> = files
        .map(|file| (read(&file).lines().count(), file))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, file)| format!("{} has {lines} lines", file.display()))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_planted_import_is_found_in_every_form() {
    for planted in [
        "use crate::pipeline::ports;",
        "use crate::pipeline;",
        "use crate::{domain::Span, pipeline::ports::{Ambient, Call}};",
        "use crate::{\n    domain::{Span, Timestamp},\n    // why not\n    pipeline,\n};",
        "use crate :: { self as root, domain };",
        "use crate::*;",
        "use crate as root;",
        "fn f() { let x = crate::pipeline::read::job(); }",
        "type A = <crate::pipeline::Settings as Default>::Output;",
        "use super::pipeline::ports;",
        "use super::{domain, pipeline};",
        "macro_rules! m { () => { $crate::pipeline::x() } }",
        "extern crate self as root;",
        "#[path = \"../pipeline/ports.rs\"] mod ports;",
        "include!(\"../pipeline/ports.rs\");",
        "use worker::Date;",
        "fn f() { worker::console_log!(\"\") }",
        "use js_sys::Uint8Array;",
        "use web_sys::Response;",
        "use wasm_bindgen::JsValue;",
    ] {
        let file = Path::new("src/scheduler/mod.rs");
        assert!(!faults("scheduler", &["domain"], file, planted).is_empty(), "{planted}");
    }
}

#[test]
fn what_only_looks_like_an_import_is_none() {
    for innocent in [
        "use crate::domain::{Span, Timestamp};",
        "use crate::{domain::Span, scheduler::Config};",
        "// use crate::pipeline;",
        "/* use crate::{ /* nested */ pipeline }; */",
        "//! See [`crate::pipeline`].",
        "const A: &str = \"crate::pipeline\"; const B: char = '\"';",
        "const A: &str = r#\"use crate::pipeline; \" worker::x\"#;",
        "fn f<'a>(worker: &'a str) -> &'a str { worker }",
        "use super::config::pipeline;",
        "use self::pipeline::x;",
    ] {
        let file = Path::new("src/scheduler/mod.rs");
        let found = faults("scheduler", &["domain"], file, innocent);
        assert!(found.is_empty(), "{innocent}: {found:?}");
    }
}

#[test]
fn super_leaves_a_folder_only_from_its_root() {
    let deep = Path::new("src/scheduler/bucket/tests.rs");
    let found = |source: &str| faults("scheduler", &["domain"], deep, source).len();
    assert_eq!(found("use super::super::pipeline;"), 0, "a module of its own");
    assert_eq!(found("use super::super::super::pipeline;"), 1);
}

/// What a file names that it may not.
fn faults(folder: &str, allowed: &[&str], path: &Path, source: &str) -> Vec<String> {
    let fine = |name: &str| name == folder || allowed.contains(&name);
    let is_folder = |name: &str| MAY_IMPORT.iter().any(|(folder, _)| *folder == name);
    let mut faults = Vec::new();
    for named in named(source) {
        match named {
            Named::FromRoot(name) if fine(&name) => {}
            Named::FromRoot(name) => faults.push(format!("names `{name}`")),
            Named::FromAbove { steps, name } => {
                let outside = steps >= depth(path) && is_folder(&name) && !fine(&name);
                faults.extend(outside.then(|| format!("names `{name}` through super")));
            }
            Named::Platform(name) if folder == "cloudflare" => drop(name),
            Named::Platform(name) => faults.push(format!("names the platform: `{name}`")),
            Named::Elsewhere(how) => faults.push(format!("takes source from elsewhere: {how}")),
        }
    }
    faults
}

/// How many modules a file is below the root.
fn depth(file: &Path) -> usize {
    let below = file.components().count() - 1;
    if file.file_name().is_some_and(|name| name == "mod.rs") { below - 1 } else { below }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}
