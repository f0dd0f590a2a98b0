//! D1 behind the `Database` port.
use super::shell::{Shell, asked};
use crate::pipeline::ports::{Database, PortError, PortResult, Rows, Statement, Value};
use serde::Deserialize;
use std::time::Duration;
use wasm_bindgen::JsValue;
use worker::{D1Database, D1PreparedStatement, D1Result, Delay};

impl Database for Shell {
    async fn batch(&self, statements: Vec<Statement>) -> PortResult<Vec<Rows>> {
        let database = asked(self.env.d1("DB"))?;
        let prepared: worker::Result<Vec<_>> =
            statements.iter().map(|statement| prepare(&database, statement)).collect();
        let work = Box::pin(database.batch(asked(prepared)?));
        // D1 stalls now and then for longer than anyone would wait.
        let stalled = Delay::from(STALL);
        match futures_util::future::select(work, stalled).await {
            futures_util::future::Either::Left((results, _)) => {
                asked(results)?.iter().map(rows).collect()
            }
            futures_util::future::Either::Right(_) => {
                Err(PortError::Unavailable("D1 did not answer in time".to_owned()))
            }
        }
    }
}

fn prepare(database: &D1Database, statement: &Statement) -> worker::Result<D1PreparedStatement> {
    let values: Vec<JsValue> = statement.values.iter().map(bound).collect();
    database.prepare(statement.sql).bind(&values)
}

/// D1 takes numbers as doubles only; ours are below 2^53.
#[allow(clippy::cast_precision_loss)]
fn bound(value: &Value) -> JsValue {
    match value {
        Value::Integer(number) => JsValue::from_f64(*number as f64),
        Value::Text(text) => JsValue::from_str(text),
    }
}

fn rows(result: &D1Result) -> PortResult<Rows> {
    let rows: Vec<Row> = asked(result.results())?;
    Ok(Rows(rows.into_iter().map(|row| row.row).collect()))
}

#[derive(Deserialize)]
struct Row {
    row: String,
}

const STALL: Duration = Duration::from_secs(15);
