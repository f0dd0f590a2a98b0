//! D1, on a real `SQLite` in memory with the real migrations.
use crate::pipeline::ports::{PortError, PortResult, Rows, Statement, Value};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Transaction, params_from_iter, types::Value as Sql};
use std::cell::RefCell;
use std::{fs, io, path::Path};

/// A database.
pub struct Sqlite(RefCell<Connection>);

impl Sqlite {
    /// A new database, migrated.
    ///
    /// # Errors
    ///
    /// A migration could not be read or carried out.
    pub fn open() -> PortResult<Self> {
        let connection = Connection::open_in_memory().map_err(refused)?;
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most).map_err(refused)?;
        }
        connection.execute_batch("PRAGMA foreign_keys = ON;").map_err(refused)?;
        for migration in migrations().map_err(|error| PortError::Refused(error.to_string()))? {
            connection.execute_batch(&migration).map_err(refused)?;
        }
        connection.execute_batch(WITNESSES).map_err(refused)?;
        Ok(Self(RefCell::new(connection)))
    }

    /// Carries out the statements in one transaction, all or none.
    ///
    /// # Errors
    ///
    /// In the words D1 would use.
    pub fn batch(&self, statements: &[Statement]) -> PortResult<Vec<Rows>> {
        let mut connection = self.0.borrow_mut();
        let transaction = connection.transaction().map_err(refused)?;
        let run = |statement| run(&transaction, statement);
        let rows = statements.iter().map(run).collect::<PortResult<_>>()?;
        transaction.commit().map_err(refused)?;
        Ok(rows)
    }

    /// Looks into the database from outside: the first column as text.
    ///
    /// # Errors
    ///
    /// In `SQLite`'s words.
    pub fn look(&self, sql: &str, values: &[&str]) -> PortResult<Vec<String>> {
        let connection = self.0.borrow();
        let mut prepared = connection.prepare_cached(sql).map_err(refused)?;
        let rows = prepared.query_map(params_from_iter(values), |row| row.get::<_, Sql>(0));
        let rows = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(refused)?;
        Ok(rows.into_iter().map(to_text).collect())
    }

    /// How `SQLite` means to carry a statement out: the lines of its plan.
    ///
    /// # Errors
    ///
    /// In `SQLite`'s words.
    pub fn plan(&self, statement: &Statement) -> PortResult<Vec<String>> {
        let connection = self.0.borrow();
        let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut prepared = connection.prepare(&sql).map_err(refused)?;
        let values = statement.values.iter().map(bound);
        let rows = prepared.query_map(params_from_iter(values), |row| row.get("detail"));
        rows.and_then(Iterator::collect).map_err(refused)
    }

    /// Changes the database from outside.
    ///
    /// # Errors
    ///
    /// In `SQLite`'s words.
    pub fn execute(&self, sql: &str, values: &[&str]) -> PortResult<()> {
        let connection = self.0.borrow();
        connection.execute(sql, params_from_iter(values)).map(drop).map_err(refused)
    }

    /// Changes that no job may ever see.
    ///
    /// # Errors
    ///
    /// In `SQLite`'s words.
    pub fn broken_laws(&self) -> PortResult<Vec<String>> {
        self.look("SELECT law FROM temp.broken", &[])
    }
}

fn run(transaction: &Transaction<'_>, statement: &Statement) -> PortResult<Rows> {
    if let Some(value) = statement.values.iter().find(|value| too_large(value)) {
        let begin: String = format!("{value:?}").chars().take(40).collect();
        return Err(d1_error(&format!("string or blob too big: {begin}"), "SQLITE_TOOBIG"));
    }
    let mut prepared = transaction.prepare_cached(statement.sql).map_err(refused)?;
    let returns_rows = prepared.column_count() > 0;
    if returns_rows && prepared.column_names() != ["row"] {
        return Err(d1_error("a statement returns another column than `row`", "SQLITE_ERROR"));
    }
    let values = params_from_iter(statement.values.iter().map(bound));
    let mut rows = prepared.query(values).map_err(refused)?;
    let mut texts = Vec::new();
    while let Some(row) = rows.next().map_err(refused)? {
        texts.push(row.get(0).map_err(refused)?);
    }
    Ok(Rows(texts))
}

/// D1 takes numbers as doubles only.
#[allow(clippy::cast_precision_loss, reason = "ours are below 2^53")]
fn bound(value: &Value) -> Sql {
    match value {
        Value::Integer(number) => Sql::Real(*number as f64),
        Value::Text(text) => Sql::Text(text.clone()),
    }
}

fn too_large(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.len() > MOST_TEXT)
}

fn to_text(value: Sql) -> String {
    match value {
        Sql::Null => String::new(),
        Sql::Integer(number) => number.to_string(),
        Sql::Real(number) => number.to_string(),
        Sql::Text(text) => text,
        Sql::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn refused(error: rusqlite::Error) -> PortError {
    d1_error(&error.to_string(), "SQLITE_ERROR")
}

fn d1_error(words: &str, code: &str) -> PortError {
    PortError::of_store(format!("D1_ERROR: {words}: {code}"))
}

/// The migrations, in order.
fn migrations() -> io::Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    files.iter().map(fs::read_to_string).collect()
}

/// D1's limits on a statement: terms of a compound `SELECT`, and arguments of a
/// function.
const LIMITS: [(Limit, i32); 2] =
    [(Limit::SQLITE_LIMIT_COMPOUND_SELECT, 5), (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32)];

/// D1's limit on a value, in bytes.
const MOST_TEXT: usize = 2_000_000;

/// They see every change, whoever makes it. What has ended changes once at most:
/// its content goes, and nothing else.
const WITNESSES: &str = "
CREATE TEMP TABLE broken (law TEXT NOT NULL);
CREATE TEMP TRIGGER ended_jobs_never_change AFTER UPDATE ON main.jobs
WHEN OLD.status NOT IN ('pending', 'running') AND (OLD.purged_at IS NOT NULL
  OR NEW.purged_at IS NULL OR NEW.status <> OLD.status OR NEW.input <> ''
  OR NEW.completed_at IS NOT OLD.completed_at OR NEW.attempts <> OLD.attempts
  OR NEW.input_tokens IS NOT OLD.input_tokens OR NEW.output_tokens IS NOT OLD.output_tokens)
BEGIN INSERT INTO broken VALUES
  ('job ' || OLD.job_id || ' changed after it was ' || OLD.status || ', to ' || NEW.status);
END;
CREATE TEMP TRIGGER leases_never_run_backwards AFTER UPDATE ON main.jobs
WHEN NEW.lease < OLD.lease
BEGIN INSERT INTO broken VALUES ('the lease of job ' || OLD.job_id || ' ran backwards'); END;
CREATE TEMP TRIGGER begun_jobs_stay AFTER DELETE ON main.jobs
WHEN OLD.lease > 0 AND OLD.status IN ('pending', 'running')
BEGIN INSERT INTO broken VALUES ('job ' || OLD.job_id || ' was removed after it began'); END;
";
