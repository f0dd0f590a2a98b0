//! The operator's API when answers are lost, chance repeats itself, or the
//! request is wrong.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "admin_world/mod.rs"]
mod admin_world;

use admin_world::World;
use serde_json::json;

#[test]
fn a_tenant_whose_answer_was_lost_is_there_once_and_no_conflict() {
    for lost in 1..=3 {
        let world = World::new();
        world.lose(lost);
        let said = json!({"tenantId": "acme", "name": "é\"", "weight": 3});
        assert_eq!(world.post("/admin/tenants", said).status, 201);
        assert_eq!(world.asked(), lost + 1);
        assert_eq!(world.audit().len(), 1);
    }
}

#[test]
fn a_change_whose_answer_was_lost_is_one_entry() {
    let world = World::with(&["acme"]);
    world.lose(3);
    let changed = world.patch(json!({"plan": "pro", "suspended": true, "weight": 3}));
    assert_eq!((changed.status, &changed.body["plan"]), (200, &json!("pro")));
    assert_eq!(world.audit().len(), 2);
}

#[test]
fn a_key_whose_answer_was_lost_exists_once_and_opens() {
    let world = World::with(&["acme"]);
    world.lose(3);
    let (key, _) = world.key("acme");
    assert_eq!(world.holder(&key).as_deref(), Some("acme"));
    assert_eq!(world.get("/admin/tenants/acme/keys").body["keys"].as_array().unwrap().len(), 1);
    assert_eq!(world.audit().len(), 2);
}

#[test]
fn a_revocation_whose_answer_was_lost_is_one_entry() {
    let world = World::with(&["acme"]);
    let (key, prefix) = world.key("acme");
    world.lose(3);
    let revoked = world.send("DELETE", &format!("/admin/tenants/acme/keys/{prefix}"), "");
    assert_eq!((revoked.status, world.holder(&key)), (200, None));
    assert_eq!(world.audit().len(), 3);
}

#[test]
fn a_change_in_doubt_is_said_to_be_in_doubt() {
    let world = World::new();
    world.lose(4);
    let reply = world.post("/admin/tenants", json!({"tenantId": "acme"}));
    assert_eq!(reply.problem(), (503, "unavailable"));
    assert!(reply.body["detail"].as_str().unwrap().contains("is not known"), "{reply:?}");
    world.lose(4);
    let read = world.get("/admin/tenants");
    assert!(!read.body["detail"].as_str().unwrap().contains("is not known"), "{read:?}");
}

#[test]
fn of_two_who_make_one_tenant_at_the_same_time_one_is_refused() {
    let world = World::new();
    assert_eq!(world.post("/admin/tenants", json!({"tenantId": "a", "plan": "pro"})).status, 201);
    let other = world.post("/admin/tenants", json!({"tenantId": "a", "plan": "free"}));
    assert_eq!(other.problem(), (409, "tenant-exists"));
}

#[test]
fn a_prefix_that_is_taken_is_drawn_again() {
    let world = World::with(&["acme", "bolt"]);
    world.draw_next(&[1, 2, 3, 1, 2, 4, 5, 6, 7]);
    let (first, prefix) = world.key("acme");
    let (second, other) = world.key("acme");
    assert_ne!(prefix, other);
    assert_ne!(first, second);
    assert_eq!(world.audit().len(), 4);
    world.draw_next(&[1, 2, 8]);
    assert_eq!(world.key("bolt").1, prefix, "another tenant's key may begin alike");
}

#[test]
fn chance_that_repeats_itself_makes_no_key() {
    let world = World::with(&["acme"]);
    for draws in [[0, 0, 0], [1, 1, 2], [1, 2, 2]] {
        world.draw_next(&draws);
        let refused = world.post("/admin/tenants/acme/keys", json!({}));
        assert_eq!(refused.problem(), (500, "internal"));
    }
    assert_eq!(world.audit().len(), 1);
}

#[test]
fn a_bad_body_is_refused_by_the_name_of_its_field() {
    for (method, path, body, field) in BAD {
        refused(method, path, body, field, (400, "invalid-request"));
    }
}

#[test]
fn what_is_too_long_is_refused() {
    let invalid = (400, "invalid-request");
    let id = format!(r#"{{"tenantId":"{}"}}"#, "a".repeat(65));
    refused("POST", TENANTS, &id, "tenantId", invalid);
    let name = |letters| format!(r#"{{"name":"{}"}}"#, "é".repeat(letters));
    refused("PATCH", ACME, &name(201), "name", invalid);
    refused("PATCH", ACME, &"[".repeat(1_000), "", invalid);
    refused("PATCH", ACME, &name(40_000), "", (413, "too-large"));
    let world = World::with(&["acme"]);
    assert_eq!(world.send("PATCH", ACME, &name(200)).status, 200, "the longest name");
}

/// Asks, and looks whether anything changed.
fn refused(method: &str, path: &str, body: &str, field: &str, problem: (u16, &str)) {
    let world = World::with(&["acme"]);
    let before = (world.dump(), world.get(TENANTS));
    let reply = world.send(method, path, body);
    assert_eq!(reply.problem(), problem, "{method} {path} {body}");
    assert_eq!(reply.body["field"].as_str().unwrap_or_default(), field, "{body}: {reply:?}");
    assert_eq!((world.dump(), world.get(TENANTS)), before);
}

#[test]
fn a_refusal_names_what_is_allowed() {
    let world = World::with(&["acme"]);
    let detail = |body| world.patch(body).body["detail"].as_str().unwrap().to_owned();
    assert_eq!(
        detail(json!({"colour": 1})),
        "unknown field `colour`; allowed are name, plan, weight, dailyInputTokens, \
         requestsPerMinute, suspended"
    );
    assert_eq!(
        detail(json!({"weight": 0})),
        "`weight` must be a whole number from 1 to 100, not 0"
    );
    assert_eq!(detail(json!({"suspended": 1})), "`suspended` must be true or false, not a number");
    assert_eq!(detail(json!({"plan": "x"})), "`plan` must be one of free, pro");
    assert!(detail(json!({})).starts_with("there is nothing to change; allowed are name,"));
}

const TENANTS: &str = "/admin/tenants";
const ACME: &str = "/admin/tenants/acme";
const KEYS: &str = "/admin/tenants/acme/keys";

/// Method, path, body, and the field at fault.
const BAD: [(&str, &str, &str, &str); 45] = [
    ("POST", TENANTS, "", ""),
    ("POST", TENANTS, "[]", ""),
    ("POST", TENANTS, "null", ""),
    ("POST", TENANTS, "{\"tenantId\":\"a\"", ""),
    ("POST", TENANTS, "{} {}", ""),
    ("POST", TENANTS, "{}", "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":7}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":"b","tenantId":"c"}"#, "tenantId"),
    ("PATCH", ACME, r#"{"weight":2,"weight":3}"#, "weight"),
    ("PATCH", "/admin/tenants/acme?force=1", r#"{"weight":2}"#, "force"),
    ("POST", "/admin/tenants/acme/keys?name=x", "", "name"),
    ("POST", TENANTS, r#"{"tenantId":null}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":""}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":"Acme"}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":"a b"}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":"é"}"#, "tenantId"),
    ("POST", TENANTS, r#"{"tenantId":"b","suspended":true}"#, "suspended"),
    ("POST", TENANTS, r#"{"tenantId":"b","colour":1}"#, "colour"),
    ("POST", TENANTS, r#"{"tenantId":"b","plan":"gold"}"#, "plan"),
    ("PATCH", ACME, "{}", ""),
    ("PATCH", ACME, "", ""),
    ("PATCH", ACME, r#"{"tenantId":"b"}"#, "tenantId"),
    ("PATCH", ACME, r#"{"createdAt":0}"#, "createdAt"),
    ("PATCH", ACME, r#"{"name":null}"#, "name"),
    ("PATCH", ACME, r#"{"name":""}"#, "name"),
    ("PATCH", ACME, r#"{"name":"  "}"#, "name"),
    ("PATCH", ACME, r#"{"name":"a\u0000b"}"#, "name"),
    ("PATCH", ACME, r#"{"name":"a\nb"}"#, "name"),
    ("PATCH", ACME, r#"{"name":"\ud800"}"#, ""),
    ("PATCH", ACME, r#"{"plan":null}"#, "plan"),
    ("PATCH", ACME, r#"{"weight":0}"#, "weight"),
    ("PATCH", ACME, r#"{"weight":101}"#, "weight"),
    ("PATCH", ACME, r#"{"weight":1.5}"#, "weight"),
    ("PATCH", ACME, r#"{"weight":"5"}"#, "weight"),
    ("PATCH", ACME, r#"{"dailyInputTokens":-1}"#, "dailyInputTokens"),
    ("PATCH", ACME, r#"{"dailyInputTokens":1000000000001}"#, "dailyInputTokens"),
    ("PATCH", ACME, r#"{"requestsPerMinute":0}"#, "requestsPerMinute"),
    ("PATCH", ACME, r#"{"requestsPerMinute":1000000001}"#, "requestsPerMinute"),
    ("PATCH", ACME, r#"{"suspended":null}"#, "suspended"),
    ("PATCH", ACME, r#"{"suspended":"yes"}"#, "suspended"),
    ("PATCH", ACME, r#"{"plan":"pro","weight":0}"#, "weight"),
    ("POST", KEYS, r#"{"name":7}"#, "name"),
    ("POST", KEYS, r#"{"prefix":"cpk_12345678"}"#, "prefix"),
    ("POST", KEYS, r#"{"key":"mine"}"#, "key"),
    ("POST", KEYS, "[]", ""),
];
