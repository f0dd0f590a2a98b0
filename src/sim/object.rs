//! What the scheduler object has: a storage that stays, a memory that does not.
use crate::domain::{JobId, Timestamp};
use crate::pipeline::turn::{Outbox, Turn};
use crate::scheduler::{Change, Row, Scheduler};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The object, alive or not.
#[derive(Default)]
pub(super) struct Object {
    pub(super) storage: Storage,
    memory: RefCell<Option<Rc<Memory>>>,
}

/// Survives everything but its own removal.
#[derive(Default)]
pub(super) struct Storage {
    rows: RefCell<BTreeMap<JobId, String>>,
    notes: RefCell<BTreeMap<&'static str, String>>,
    /// When the alarm rings, and its number.
    pub(super) alarm: Cell<Option<(Timestamp, u64)>>,
}

/// Gone when the object is evicted or crashes.
#[derive(Default)]
pub(super) struct Memory {
    /// Read from storage when it is not here.
    pub(super) scheduler: RefCell<Option<Scheduler>>,
    pub(super) outbox: RefCell<Outbox>,
    pub(super) sending: Cell<bool>,
    /// When the alarm will ring, as far as this instance knows.
    pub(super) armed: Cell<Option<Timestamp>>,
}

impl Object {
    /// The memory of the instance that lives, or of a new one.
    pub(super) fn memory(&self) -> Rc<Memory> {
        Rc::clone(self.memory.borrow_mut().get_or_insert_default())
    }

    pub(super) fn forget(&self) {
        drop(self.memory.take());
    }
}

impl Storage {
    /// Makes a turn durable.
    pub(super) fn write(&self, turn: &Turn) {
        let mut rows = self.rows.borrow_mut();
        for change in &turn.changes {
            match change {
                Change::Put(row) => drop(rows.insert(row.id(), row.to_json())),
                Change::Delete(job) => drop(rows.remove(job)),
            }
        }
        self.set_note("snapshot", turn.snapshot.clone());
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        self.rows.borrow().values().filter_map(|row| Row::from_json(row)).collect()
    }

    pub(super) fn jobs(&self) -> usize {
        self.rows.borrow().len()
    }

    pub(super) fn note(&self, name: &str) -> Option<String> {
        self.notes.borrow().get(name).cloned()
    }

    pub(super) fn set_note(&self, name: &'static str, value: String) {
        self.notes.borrow_mut().insert(name, value);
    }

    pub(super) fn wipe(&self) {
        drop(self.rows.take());
        drop(self.notes.take());
        self.alarm.set(None);
    }
}
