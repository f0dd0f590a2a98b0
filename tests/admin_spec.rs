//! The operator's API over a real `SQLite`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "admin_world/mod.rs"]
mod admin_world;

use admin_world::{Reply, World};
use claude_pipeline::pipeline::store::KeyHash;
use serde_json::json;

#[test]
fn a_tenant_is_made_with_the_defaults_of_its_plan() {
    let world = World::new();
    let made = world.post("/admin/tenants", json!({"tenantId": "acme"}));
    let acme = json!({
        "tenantId": "acme", "name": "acme", "plan": "free", "weight": null,
        "dailyInputTokens": null, "requestsPerMinute": null, "suspended": false,
        "createdAt": "2026-11-30T00:53:20.000Z",
    });
    assert_eq!(made, Reply::new(201, acme.clone()).at("/admin/tenants/acme"));
    assert_eq!(world.get("/admin/tenants/acme"), Reply::new(200, acme));
    assert_eq!(
        world.audit(),
        [json!(["tenant.created", "acme", {"name": "acme", "plan": "free"}])]
    );
}

#[test]
fn a_tenant_is_made_with_all_that_is_said() {
    let world = World::new();
    let said = json!({
        "tenantId": "z-9", "name": "Zoë “&” 漢 \\ \"quoted\"", "plan": "pro", "weight": 100,
        "dailyInputTokens": 1_000_000_000_000_u64, "requestsPerMinute": 1,
    });
    let made = world.post("/admin/tenants", said.clone());
    assert_eq!(made.status, 201);
    for (name, value) in said.as_object().unwrap() {
        assert_eq!(&made.body[name], value, "{name}");
    }
    let mut detail = said;
    detail.as_object_mut().unwrap().remove("tenantId");
    assert_eq!(world.audit(), [json!(["tenant.created", "z-9", detail])]);
}

#[test]
fn an_id_is_taken_once() {
    let world = World::with(&["acme"]);
    world.pass(5);
    let again = world.post("/admin/tenants", json!({"tenantId": "acme", "plan": "pro"}));
    assert_eq!(again.problem(), (409, "tenant-exists"));
    assert_eq!(again.body["field"], "tenantId");
    assert_eq!(world.get("/admin/tenants/acme").body["plan"], "free");
    assert_eq!(world.audit().len(), 1);
}

#[test]
fn tenants_come_in_pages_in_the_order_of_their_ids() {
    let world = World::with(&["c", "a", "e", "b", "d"]);
    let mut seen = Vec::new();
    let mut path = "/admin/tenants?limit=2".to_owned();
    loop {
        let page = world.get(&path).body;
        let tenants = page["tenants"].as_array().unwrap();
        seen.extend(tenants.iter().map(|tenant| tenant["tenantId"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        assert_eq!(tenants.len(), 2);
        path = format!("/admin/tenants?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
    assert_eq!(world.get("/admin/tenants?cursor=No").problem(), (400, "invalid-request"));
    assert_eq!(world.get("/admin/tenants?limit=101").status, 400);
    assert_eq!(world.get("/admin/tenants?page=2").body["field"], "page");
}

#[test]
fn a_change_changes_what_it_names_and_only_that() {
    let world = World::with(&["acme", "bolt"]);
    let changed = world.patch(json!({"plan": "pro", "weight": 7, "dailyInputTokens": 0}));
    assert_eq!(changed.status, 200);
    let facts = ["name", "plan", "weight", "dailyInputTokens", "requestsPerMinute"];
    let read = |path: &str| facts.map(|fact| world.get(path).body[fact].clone());
    let expected = [json!("acme"), json!("pro"), json!(7), json!(0), json!(null)];
    assert_eq!(read("/admin/tenants/acme"), expected);
    assert_eq!(read("/admin/tenants/bolt")[1], "free");
    let detail = json!({"plan": "pro", "weight": 7, "dailyInputTokens": 0});
    assert_eq!(world.audit()[0], json!(["tenant.changed", "acme", detail]));
}

#[test]
fn null_brings_the_default_back() {
    let world = World::with(&["acme"]);
    world.patch(json!({"weight": 7, "dailyInputTokens": 0, "requestsPerMinute": 5, "name": "A"}));
    let back = json!({"weight": null, "dailyInputTokens": null, "requestsPerMinute": null});
    let changed = world.patch(back.clone()).body;
    for name in ["weight", "dailyInputTokens", "requestsPerMinute"] {
        assert_eq!(changed[name], json!(null), "{name}");
    }
    assert_eq!(changed["name"], "A");
    assert_eq!(world.audit()[0], json!(["tenant.changed", "acme", back]));
}

#[test]
fn a_suspension_keeps_its_beginning_until_it_is_lifted() {
    let world = World::with(&["acme"]);
    let first = world.patch(json!({"suspended": true})).body;
    assert_eq!((&first["suspended"], &first["suspendedAt"]), (&json!(true), &first["createdAt"]));
    world.pass(1_000);
    assert_eq!(
        world.patch(json!({"suspended": true, "weight": 2})).body["suspendedAt"],
        first["createdAt"]
    );
    let lifted = world.patch(json!({"suspended": false})).body;
    assert_eq!((&lifted["suspended"], lifted.get("suspendedAt")), (&json!(false), None));
    let entries: Vec<_> = world.audit().iter().map(|entry| entry[2].clone()).collect();
    let expected = [json!({"suspended": false}), json!({"weight": 2}), json!({"suspended": true})];
    assert_eq!(entries[..3], expected);
}

#[test]
fn a_change_that_changes_nothing_is_no_entry() {
    let world = World::with(&["acme"]);
    world.patch(json!({"name": "Zoë \"x\"", "weight": 3}));
    let before = world.audit();
    for same in [
        json!({"name": "Zoë \"x\""}),
        json!({"plan": "free", "weight": 3, "suspended": false}),
        json!({"requestsPerMinute": null}),
    ] {
        assert_eq!(world.patch(same).status, 200);
    }
    assert_eq!(world.audit(), before);
}

#[test]
fn a_key_is_shown_once_and_kept_as_its_hash() {
    let world = World::with(&["acme"]);
    let made = world.post("/admin/tenants/acme/keys", json!({"name": "laptop of Zoë"}));
    assert_eq!(made.status, 201);
    let key = made.body["key"].as_str().unwrap();
    assert_eq!((key.len(), &key[..4]), (36, "cpk_"));
    let base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!(key.chars().all(base64url), "{key}");
    assert_eq!(made.body["prefix"], key[..12]);
    let listed = world.get("/admin/tenants/acme/keys").body;
    let view =
        json!({"prefix": &key[..12], "name": "laptop of Zoë", "createdAt": made.body["createdAt"]});
    assert_eq!(listed, json!({"keys": [view]}));
    assert_eq!(world.holder(key).as_deref(), Some("acme"));
    let entry = json!(["key.created", "acme", {"prefix": &key[..12], "name": "laptop of Zoë"}]);
    assert_eq!(world.audit()[0], entry);
    let stored = world.dump();
    assert!(!stored.contains(key) && !stored.contains(&key[12..]));
    assert_eq!(stored.matches(&KeyHash::of(key).to_hex()).count(), 1);
}

#[test]
fn a_key_needs_no_name_and_no_body() {
    let world = World::with(&["acme"]);
    for body in ["", "{}", r#"{"name":null}"#, "\u{feff}{}"] {
        let made = world.send("POST", "/admin/tenants/acme/keys", body);
        assert_eq!((made.status, made.body.get("name")), (201, None), "{body}");
    }
    assert_eq!(world.audit()[0][2].get("name"), None);
}

#[test]
fn keys_come_newest_first_and_are_found_by_how_they_begin() {
    let world = World::with(&["acme", "bolt"]);
    let prefixes: Vec<String> = (0..3).map(|_| world.key("acme").1).collect();
    world.key("bolt");
    let listed = |query: &str| -> Vec<String> {
        let listed = world.get(&format!("/admin/tenants/acme/keys{query}")).body;
        let keys = listed["keys"].as_array().unwrap().clone();
        keys.iter().map(|key| key["prefix"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(""), prefixes.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(listed(&format!("?prefix={}", prefixes[1])), [prefixes[1].clone()]);
    assert_eq!(listed("?prefix=cpk_").len(), 3);
    for none in ["%", "_", "CPK", "pk_"] {
        assert_eq!(listed(&format!("?prefix={none}")), Vec::<String>::new(), "{none}");
    }
}

#[test]
fn a_revoked_key_stays_in_the_list_and_opens_nothing() {
    let world = World::with(&["acme", "bolt"]);
    let (key, prefix) = world.key("acme");
    let (other, _) = world.key("acme");
    world.pass(1_000);
    let path = format!("/admin/tenants/acme/keys/{prefix}");
    let revoked = world.send("DELETE", &path, "");
    assert_eq!((revoked.status, &revoked.body["prefix"]), (200, &json!(prefix)));
    assert!(revoked.body["revokedAt"].is_string());
    assert_eq!((world.holder(&key), world.holder(&other).as_deref()), (None, Some("acme")));
    assert_eq!(world.audit()[0], json!(["key.revoked", "acme", {"prefix": prefix}]));
    world.pass(1_000);
    let entries = world.audit().len();
    assert_eq!(world.send("DELETE", &path, ""), revoked, "again");
    assert_eq!(world.audit().len(), entries);
    let listed = world.get(&format!("/admin/tenants/acme/keys?prefix={prefix}")).body;
    assert_eq!(listed["keys"][0]["revokedAt"], revoked.body["revokedAt"]);
    let foreign = format!("/admin/tenants/bolt/keys/{prefix}");
    assert_eq!(world.send("DELETE", &foreign, "").problem(), (404, "not-found"));
    assert_eq!(world.send("DELETE", "/admin/tenants/acme/keys/cpk_", "").status, 404);
}

#[test]
fn what_is_unknown_is_not_found_and_leaves_no_entry() {
    let world = World::with(&["acme"]);
    for (method, path, body) in [
        ("GET", "/admin/tenants/bolt", ""),
        ("PATCH", "/admin/tenants/bolt", r#"{"plan":"pro"}"#),
        ("POST", "/admin/tenants/bolt/keys", "{}"),
        ("GET", "/admin/tenants/bolt/keys", ""),
        ("DELETE", "/admin/tenants/bolt/keys/cpk_12345678", ""),
    ] {
        assert_eq!(world.send(method, path, body).problem(), (404, "not-found"), "{method} {path}");
    }
    assert_eq!(world.audit().len(), 1);
}

#[test]
fn the_audit_is_read_newest_first_by_tenant_and_in_pages() {
    let world = World::with(&["a", "b", "c"]);
    world.patch_of("b", json!({"weight": 2}));
    let ids = |path: &str| -> Vec<u64> {
        let page = world.get(path).body;
        page["entries"].as_array().unwrap().iter().map(|e| e["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids("/admin/audit"), [4, 3, 2, 1]);
    assert_eq!(ids("/admin/audit?tenant=b"), [4, 2]);
    assert_eq!(ids("/admin/audit?tenant=nobody"), Vec::<u64>::new());
    let first = world.get("/admin/audit?limit=3").body;
    assert_eq!(first["nextCursor"], "2");
    assert_eq!(ids("/admin/audit?limit=3&cursor=2"), [1]);
    assert_eq!(world.get("/admin/audit?limit=4").body.get("nextCursor"), None);
    assert_eq!(ids("/admin/audit?tenant=b&limit=1&cursor=4"), [2]);
    let entry = &first["entries"][0];
    assert_eq!(entry["at"], "2026-11-30T00:53:20.000Z");
    for wrong in ["cursor=x", "cursor=-1", "tenant=NO", "limit=0", "from=1"] {
        assert_eq!(world.get(&format!("/admin/audit?{wrong}")).status, 400, "{wrong}");
    }
}
