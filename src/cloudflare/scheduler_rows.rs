//! The scheduler object's database: one row a job, one a tenant, and a few notes.
use crate::pipeline::desk::SNAPSHOT;
use crate::pipeline::turn::Turn;
use crate::scheduler::{Change, Row};
use serde::Deserialize;
use worker::{Result, SqlStorage, SqlStorageValue};

/// What must survive the object's eviction.
pub(super) struct SchedulerRows(SqlStorage);

impl SchedulerRows {
    /// Opens the storage, new or not.
    pub(super) fn open(sql: SqlStorage) -> Result<Self> {
        sql.exec(TABLES, None)?;
        Ok(Self(sql))
    }

    /// Every row. A job whose row cannot be read is left to the sweep.
    pub(super) fn all(&self) -> Result<Vec<Row>> {
        let rows: Vec<Stored> = self.0.exec("SELECT name, value FROM rows", None)?.to_array()?;
        Ok(rows.iter().filter_map(|row| Row::read(&row.name, &row.value)).collect())
    }

    /// Makes a turn durable. There is no await in here: the statements are
    /// committed together.
    pub(super) fn write(&self, turn: &Turn) -> Result<()> {
        let (mut put, mut delete) = (Vec::new(), Vec::new());
        for change in &turn.changes {
            match change {
                Change::Put(row) => put.push((row.key(), row)),
                Change::Delete(key) => delete.push(key),
            }
        }
        if !put.is_empty() {
            self.exec(PUT, vec![serde_json::to_string(&put)?])?;
        }
        if !delete.is_empty() {
            self.exec(DELETE, vec![serde_json::to_string(&delete)?])?;
        }
        self.set_note(SNAPSHOT, &turn.snapshot)
    }

    /// A note, if it was ever set.
    pub(super) fn note(&self, name: &str) -> Result<Option<String>> {
        let name = SqlStorageValue::from(name.to_owned());
        let rows = self.0.exec("SELECT name, value FROM notes WHERE name = ?", vec![name])?;
        Ok(rows.to_array::<Stored>()?.pop().map(|row| row.value))
    }

    /// Sets a note.
    pub(super) fn set_note(&self, name: &str, value: &str) -> Result<()> {
        self.exec(SET_NOTE, vec![name.to_owned(), value.to_owned()])
    }

    fn exec(&self, sql: &str, values: Vec<String>) -> Result<()> {
        let values: Vec<_> = values.into_iter().map(SqlStorageValue::from).collect();
        self.0.exec(sql, values).map(drop)
    }
}

#[derive(Deserialize)]
struct Stored {
    name: String,
    value: String,
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;";

const PUT: &str = "
INSERT INTO rows (name, value)
SELECT value->>0, value->1 FROM json_each(?) WHERE true
ON CONFLICT (name) DO UPDATE SET value = excluded.value";

const DELETE: &str = "DELETE FROM rows WHERE name IN (SELECT value FROM json_each(?))";

const SET_NOTE: &str = "
INSERT INTO notes (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value";
