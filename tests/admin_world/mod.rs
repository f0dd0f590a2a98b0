//! An operator, the API, and a database that can lose its answers.
#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "test code"
)]
use bytes::Bytes;
use claude_pipeline::domain::{Entropy, Span, Timestamp};
use claude_pipeline::pipeline::admin;
use claude_pipeline::pipeline::ports::{Ambient, Database, PortError, PortResult, Rows, Statement};
use claude_pipeline::pipeline::query::Query;
use claude_pipeline::pipeline::route::Route;
use claude_pipeline::pipeline::store::{self, KeyHash, Tenant};
use claude_pipeline::sim::Sqlite;
use futures_executor::block_on;
use futures_util::stream;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;

/// A database, a clock, chance, and what goes wrong.
pub(crate) struct World {
    pub(crate) sqlite: Sqlite,
    now: Cell<u64>,
    drawn: Cell<u64>,
    /// What is drawn next, before all else.
    draws: RefCell<Vec<u64>>,
    /// So many batches lose their answers.
    lost: Cell<u32>,
    asked: Cell<u32>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            sqlite: Sqlite::open().unwrap(),
            now: Cell::new(1_796_000_000_000),
            drawn: Cell::new(0),
            draws: RefCell::default(),
            lost: Cell::new(0),
            asked: Cell::new(0),
        }
    }

    /// With tenants, made in this order.
    pub(crate) fn with(tenants: &[&str]) -> Self {
        let world = Self::new();
        for tenant in tenants {
            assert_eq!(world.post("/admin/tenants", json!({"tenantId": tenant})).status, 201);
        }
        world
    }

    pub(crate) fn pass(&self, millis: u64) {
        self.now.set(self.now.get() + millis);
    }

    /// The next batches are carried out, and their answers lost.
    pub(crate) fn lose(&self, answers: u32) {
        self.lost.set(answers);
    }

    pub(crate) fn draw_next(&self, draws: &[u64]) {
        self.draws.borrow_mut().extend(draws);
    }

    /// How often the database was asked.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.get()
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, &body.to_string())
    }

    /// Changes acme.
    pub(crate) fn patch(&self, body: Value) -> Reply {
        self.patch_of("acme", body)
    }

    pub(crate) fn patch_of(&self, tenant: &str, body: Value) -> Reply {
        self.send("PATCH", &format!("/admin/tenants/{tenant}"), &body.to_string())
    }

    /// A new key and its prefix; each is younger than the one before.
    pub(crate) fn key(&self, tenant: &str) -> (String, String) {
        self.pass(1);
        let made = self.send("POST", &format!("/admin/tenants/{tenant}/keys"), "");
        assert_eq!(made.status, 201, "{made:?}");
        let text = |name| made.body[name].as_str().unwrap().to_owned();
        (text("key"), text("prefix"))
    }

    pub(crate) fn send(&self, method: &str, target: &str, body: &str) -> Reply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = Query(pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect());
        let Ok(Route::Admin(route)) = Route::of(method, path) else {
            unreachable!("{method} {path} is no admin route")
        };
        let chunks = body.as_bytes().chunks(1_000).map(Bytes::copy_from_slice);
        let chunks = stream::iter(chunks.map(Ok::<_, Infallible>));
        let asked = async {
            let body = admin::body(chunks, None).await?;
            admin::answer(self, route, &query, &body).await
        };
        match block_on(asked) {
            Ok(answer) => Reply {
                status: answer.status,
                body: serde_json::from_str(&answer.body).unwrap(),
                location: answer.headers.first().map(|(_, value)| value.clone()),
            },
            Err(problem) => {
                Reply::new(problem.status, serde_json::from_str(&problem.to_json()).unwrap())
            }
        }
    }

    /// The audit, newest first: action, tenant and detail of each entry.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let sql = "SELECT json_array(action, tenant_id, json(detail)) FROM audit
                   ORDER BY audit_id DESC";
        let rows = self.sqlite.look(sql, &[]).unwrap();
        rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
    }

    /// Whose key it is.
    pub(crate) fn holder(&self, key: &str) -> Option<String> {
        let rows = self.sqlite.batch(&[store::tenant_of_key(KeyHash::of(key))]).unwrap();
        store::first::<Tenant>(&rows).unwrap().pop().map(|tenant| tenant.tenant_id.to_string())
    }

    /// All that is stored of keys and changes.
    pub(crate) fn dump(&self) -> String {
        let look = |sql| self.sqlite.look(sql, &[]).unwrap().join("\n");
        look("SELECT json_array(key_hash, tenant_id, prefix, name) FROM api_keys")
            + &look("SELECT json_array(action, tenant_id, detail) FROM audit")
    }
}

impl Database for World {
    async fn batch(&self, statements: Vec<Statement>) -> PortResult<Vec<Rows>> {
        self.asked.set(self.asked.get() + 1);
        let rows = self.sqlite.batch(&statements)?;
        match self.lost.get() {
            0 => Ok(rows),
            more => {
                self.lost.set(more - 1);
                Err(PortError::Unavailable("lost".to_owned()))
            }
        }
    }
}

impl Ambient for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.get())
    }

    /// Never the same twice, unless a test wants it.
    fn chance(&self) -> Entropy {
        let mut draws = self.draws.borrow_mut();
        if !draws.is_empty() {
            return Entropy(draws.remove(0));
        }
        self.drawn.set(self.drawn.get() + 1);
        Entropy(self.drawn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    async fn pause(&self, span: Span) {
        self.pass(span.as_millis());
    }
}

/// What an operator is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    location: Option<String>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self { status, body, location: None }
    }

    pub(crate) fn at(self, location: &str) -> Self {
        Self { location: Some(location.to_owned()), ..self }
    }

    /// Status and kind of a refusal.
    pub(crate) fn problem(&self) -> (u16, &str) {
        (self.status, self.body["type"].as_str().unwrap_or_default())
    }
}
