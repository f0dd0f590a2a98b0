//! Whatever operators do, in whatever order, and whichever answers are lost:
//! the audit, read from its beginning, tells what there is now.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]
#[path = "admin_world/mod.rs"]
mod admin_world;

use admin_world::World;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What an operator does.
#[derive(Clone, Debug)]
enum Step {
    Create(&'static str, Value),
    Change(&'static str, Value),
    AddKey(&'static str),
    /// Revokes one of the keys there are, or were.
    Revoke(&'static str, usize),
}

proptest! {
    #[test]
    fn the_audit_tells_what_there_is(steps in vec((step(), 0..4_u32), 1..40)) {
        let world = World::new();
        for (step, lost) in steps {
            world.pass(1);
            world.lose(lost);
            take(&world, &step);
            world.lose(0);
        }
        let told = Told::by(&world);
        prop_assert_eq!(&told.tenants, &tenants(&world));
        for tenant in told.tenants.keys() {
            prop_assert_eq!(told.keys.get(tenant).cloned().unwrap_or_default(), keys(&world, tenant));
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let tenant = || select(vec!["a", "b", "c"]);
    prop_oneof![
        (tenant(), fields()).prop_map(|(tenant, mut fields)| {
            fields.as_object_mut().unwrap().remove("suspended");
            Step::Create(tenant, fields)
        }),
        (tenant(), fields()).prop_map(|(tenant, fields)| Step::Change(tenant, fields)),
        tenant().prop_map(Step::AddKey),
        (tenant(), 0..4_usize).prop_map(|(tenant, at)| Step::Revoke(tenant, at)),
    ]
}

/// Few values, so that a change often changes nothing.
fn fields() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        select(vec!["a", "Zoë \"&\" \\"]).prop_map(|name| ("name", json!(name))),
        select(vec!["free", "pro"]).prop_map(|plan| ("plan", json!(plan))),
        select(vec![json!(null), json!(1), json!(100)]).prop_map(|weight| ("weight", weight)),
        select(vec![json!(null), json!(0), json!(1_000_000_000_000_u64)])
            .prop_map(|tokens| ("dailyInputTokens", tokens)),
        select(vec![json!(null), json!(1)]).prop_map(|rate| ("requestsPerMinute", rate)),
        any::<bool>().prop_map(|suspended| ("suspended", json!(suspended))),
    ];
    vec(field, 1..4).prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    })
}

fn take(world: &World, step: &Step) {
    let reply = match step.clone() {
        Step::Create(tenant, mut fields) => {
            fields["tenantId"] = json!(tenant);
            world.post("/admin/tenants", fields)
        }
        Step::Change(tenant, fields) => world.patch_of(tenant, fields),
        Step::AddKey(tenant) => world.post(&format!("/admin/tenants/{tenant}/keys"), json!({})),
        Step::Revoke(tenant, at) => {
            let prefix =
                keys(world, tenant).into_iter().nth(at).map_or("cpk_none".to_owned(), |key| key.0);
            world.send("DELETE", &format!("/admin/tenants/{tenant}/keys/{prefix}"), "")
        }
    };
    assert!([200, 201, 404, 409].contains(&reply.status), "{step:?}: {reply:?}");
}

type Tenants = BTreeMap<String, Map<String, Value>>;
/// Prefixes, and whether each is revoked.
type Keys = BTreeSet<(String, bool)>;

/// What the audit tells.
#[derive(Default)]
struct Told {
    tenants: Tenants,
    keys: BTreeMap<String, Keys>,
}

impl Told {
    fn by(world: &World) -> Self {
        let mut told = Self::default();
        for entry in world.audit().iter().rev() {
            let (action, tenant) = (entry[0].as_str().unwrap(), entry[1].as_str().unwrap());
            let detail = entry[2].as_object().unwrap().clone();
            told.take(action, tenant.to_owned(), detail);
        }
        told
    }

    fn take(&mut self, action: &str, tenant: String, detail: Map<String, Value>) {
        let prefix = || detail["prefix"].as_str().unwrap().to_owned();
        match action {
            "tenant.created" => {
                let before = self.tenants.insert(tenant, facts(&Value::Object(detail)));
                assert_eq!(before, None, "made twice");
            }
            "tenant.changed" => {
                let known = self.tenants.get_mut(&tenant).unwrap();
                for (name, value) in detail {
                    assert_ne!(known.insert(name.clone(), value.clone()), Some(value), "{name}");
                }
            }
            "key.created" => {
                assert!(self.keys.entry(tenant).or_default().insert((prefix(), false)));
            }
            "key.revoked" => {
                let keys = self.keys.get_mut(&tenant).unwrap();
                assert!(keys.remove(&(prefix(), false)), "revoked twice");
                keys.insert((prefix(), true));
            }
            unknown => unreachable!("an action of an unknown kind: {unknown}"),
        }
    }
}

fn tenants(world: &World) -> Tenants {
    let listed = world.get("/admin/tenants").body["tenants"].as_array().unwrap().clone();
    listed.iter().map(|row| (row["tenantId"].as_str().unwrap().to_owned(), facts(row))).collect()
}

/// What can be changed of a tenant.
fn facts(tenant: &Value) -> Map<String, Value> {
    let names = ["name", "plan", "weight", "dailyInputTokens", "requestsPerMinute"];
    let mut facts: Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), tenant[*name].clone())).collect();
    let suspended = tenant["suspended"].as_bool().unwrap_or_default();
    facts.insert("suspended".to_owned(), json!(suspended));
    facts
}

fn keys(world: &World, tenant: &str) -> Keys {
    let listed = world.get(&format!("/admin/tenants/{tenant}/keys")).body;
    let rows = listed["keys"].as_array().cloned().unwrap_or_default();
    let key =
        |row: &Value| (row["prefix"].as_str().unwrap().to_owned(), row["revokedAt"].is_string());
    rows.iter().map(key).collect()
}
