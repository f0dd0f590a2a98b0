//! The fields of the body but `request`, kept as they were written.
use crate::pipeline::problem::Problem;
use serde::de::DeserializeOwned;
use std::{mem, str};

/// All fields but `request` may have this many bytes together, names
/// included; a body without `request` as well.
pub const MAX_FIELDS_BYTES: usize = 1_000_000;

/// Fields as they arrive.
#[derive(Debug, Default)]
pub(super) struct Collector {
    done: Vec<(String, String)>,
    /// The present field: its name as JSON, then decoded; and its value.
    raw_name: Vec<u8>,
    name: String,
    value: Vec<u8>,
    used: usize,
}

impl Collector {
    /// The name of the present field.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes part of a name.
    pub(super) fn name_part(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if self.raw_name.len() + bytes.len() > LONGEST_NAME {
            return Err(Problem::invalid(format!(
                "a field of the body has a name of more than {LONGEST_NAME} bytes"
            )));
        }
        self.raw_name.extend_from_slice(bytes);
        Ok(())
    }

    /// The name is complete.
    pub(super) fn name_ends(&mut self) -> Result<&str, Problem> {
        self.name = decoded(&self.raw_name).ok_or_else(Problem::internal)?;
        self.use_room(self.raw_name.len())?;
        self.raw_name.clear();
        if self.done.iter().any(|(other, _)| *other == self.name) {
            return Err(appears_twice(&self.name));
        }
        if self.done.len() >= MOST_FIELDS {
            let detail = format!("the body has more than {MOST_FIELDS} fields");
            return Err(Problem::invalid(detail));
        }
        Ok(&self.name)
    }

    /// Takes part of a value.
    pub(super) fn value_part(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.use_room(bytes.len())?;
        self.value.extend_from_slice(bytes);
        Ok(())
    }

    /// The value is complete.
    pub(super) fn value_ends(&mut self) -> Result<(), Problem> {
        let value = String::from_utf8(mem::take(&mut self.value));
        let mut value = value.map_err(|_| Problem::internal())?;
        value.shrink_to_fit();
        self.done.push((mem::take(&mut self.name), value));
        Ok(())
    }

    /// All names and values, in the order in which they came.
    pub(super) fn finish(self) -> Vec<(String, String)> {
        self.done
    }

    fn use_room(&mut self, bytes: usize) -> Result<(), Problem> {
        self.used += bytes;
        if self.used <= MAX_FIELDS_BYTES {
            return Ok(());
        }
        let detail = format!(
            "the fields of the body, `request` aside, may have {MAX_FIELDS_BYTES} bytes together; \
             `{}` goes beyond",
            self.name
        );
        Err(Problem { field: Some(self.name.clone()), ..Problem::too_large(detail) })
    }
}

/// What a JSON text means. All of the crate reads from text: a reader of bytes
/// would be compiled beside it.
pub(super) fn decoded<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_str(str::from_utf8(json).ok()?).ok()
}

/// Which of two values holds is anybody's guess, so neither does.
pub(super) fn appears_twice(field: &str) -> Problem {
    Problem::field(field, format!("`{field}` appears twice"))
}

/// As JSON, quotes included.
const LONGEST_NAME: usize = 128;
const MOST_FIELDS: usize = 64;
