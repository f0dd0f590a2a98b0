//! The API's document: it is as the types say, and they as the routes do.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "admin_world/mod.rs"]
mod admin_world;

use admin_world::World;
use claude_pipeline::pipeline::job_request::Wishes;
use claude_pipeline::pipeline::openapi;
use claude_pipeline::pipeline::route::ROUTES;
use serde_json::{Map, Value, json};
use std::fs;

fn document() -> Value {
    serde_json::to_value(openapi::document()).unwrap()
}

fn properties(schema: &str) -> Map<String, Value> {
    document()["components"]["schemas"][schema]["properties"].as_object().unwrap().clone()
}

#[test]
fn the_document_in_the_docs_is_the_one_of_the_types() {
    let written = fs::read_to_string("docs/openapi.json").unwrap();
    assert!(written == openapi::text().unwrap(), "run `cargo run --example openapi`");
}

#[test]
fn every_route_is_described_and_no_other() {
    let paths = document()["paths"].clone();
    let mut described = Vec::new();
    for (path, item) in paths.as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            described.push(format!("{} {path}", method.to_uppercase()));
        }
    }
    let bare = |text: String| text.replace(['{', '}', ':'], "");
    let mut routes = ROUTES.map(|(method, path)| bare(format!("{method} {path}")));
    let mut described: Vec<_> = described.into_iter().map(bare).collect();
    routes.sort();
    described.sort();
    assert_eq!(described, routes);
}

#[test]
fn what_is_referred_to_is_there() {
    let document = document();
    let mut open = vec![&document];
    let mut seen = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get("$ref") {
                    let known = document.pointer(to.strip_prefix('#').unwrap());
                    assert!(known.is_some(), "{to}");
                    seen += 1;
                }
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn the_body_of_a_job_has_the_fields_that_are_read() {
    let described = properties("JobRequest");
    let mut names: Vec<_> = described.keys().map(String::as_str).collect();
    let mut read: Vec<_> = Wishes::FIELDS.into_iter().chain(["request"]).collect();
    names.sort_unstable();
    read.sort_unstable();
    assert_eq!(names, read);
    let mut tried = 0;
    for name in Wishes::FIELDS {
        for (value, fits) in edges(&described[name]) {
            let taken = Wishes::default().set(name, &value.to_string()).is_ok();
            assert_eq!(taken, fits, "{name}: {}", shown(&value));
            tried += 1;
        }
    }
    assert!(tried >= 14, "{tried}");
}

#[test]
fn what_operators_send_has_the_fields_and_bounds_that_are_read() {
    let world = World::with(&["acme"]);
    for (schema, allowed, method, path) in [
        ("NewTenant", "tenantId", "POST", "/admin/tenants"),
        ("TenantChange", "name", "PATCH", "/admin/tenants/acme"),
        ("NewKeyRequest", "name", "POST", "/admin/tenants/acme/keys"),
    ] {
        let described = properties(schema);
        let unknown = world.send(method, path, r#"{"nope":1}"#).body;
        let told = unknown["detail"].as_str().unwrap().split("allowed are ").nth(1).unwrap();
        let mut told: Vec<_> = told.split(", ").collect();
        let mut names: Vec<_> = described.keys().map(String::as_str).collect();
        assert!(told.contains(&allowed), "{told:?}");
        told.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, told, "{schema}");
        for (name, property) in &described {
            for (value, fits) in edges(property) {
                // A tenant needs an id, and each another.
                let mut body = json!({name: value});
                if schema == "NewTenant" {
                    body["tenantId"] = json!(format!("t-{}", world.audit().len()));
                }
                let status = world.send(method, path, &body.to_string()).status;
                assert_eq!(status != 400, fits, "{schema} {}", shown(&body));
            }
        }
    }
}

/// Values at the bounds of a property, which fit, and beyond, which do not.
fn edges(property: &Value) -> Vec<(Value, bool)> {
    let mut edges = Vec::new();
    let bound = |name: &str| property[name].as_i64();
    edges.extend(
        bound("minimum").into_iter().flat_map(|n| [(json!(n), true), (json!(n - 1), false)]),
    );
    edges.extend(
        bound("maximum").into_iter().flat_map(|n| [(json!(n), true), (json!(n + 1), false)]),
    );
    let text = |n: i64| json!("x".repeat(usize::try_from(n).unwrap()));
    edges.extend(
        bound("minLength").into_iter().flat_map(|n| [(text(n), true), (text(n - 1), false)]),
    );
    edges.extend(
        bound("maxLength").into_iter().flat_map(|n| [(text(n), true), (text(n + 1), false)]),
    );
    edges
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}
