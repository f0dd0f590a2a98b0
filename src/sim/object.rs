//! What the scheduler object has: a storage that stays, a memory that does not.
use super::ports::Ports;
use super::stage::Process;
use super::world::Inner;
use crate::pipeline::desk::{Desk, SNAPSHOT};
use crate::pipeline::turn::Turn;
use crate::scheduler::{Change, Row};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The object, alive or not.
#[derive(Default)]
pub(super) struct Object {
    pub(super) storage: Storage,
    /// Gone when the object is evicted or crashes.
    desk: RefCell<Option<Rc<Desk<Ports>>>>,
    /// How often the machine was started anew.
    pub(super) boots: Cell<u32>,
}

/// Survives everything but its own removal.
#[derive(Default)]
pub(super) struct Storage {
    rows: RefCell<BTreeMap<String, String>>,
    notes: RefCell<BTreeMap<&'static str, String>>,
    /// The number of the alarm that is to ring.
    pub(super) alarm: Cell<Option<u64>>,
}

impl Object {
    /// The instance that lives, or a new one.
    pub(super) fn desk(&self, world: &Rc<Inner>) -> Rc<Desk<Ports>> {
        let mut desk = self.desk.borrow_mut();
        let open = || Desk::open(Ports::new(world, Process::Object));
        Rc::clone(desk.get_or_insert_with(open))
    }

    pub(super) fn forget(&self) {
        drop(self.desk.take());
    }
}

impl Storage {
    /// Makes a turn durable.
    pub(super) fn write(&self, turn: &Turn) {
        let mut rows = self.rows.borrow_mut();
        for change in &turn.changes {
            match change {
                Change::Put(row) => drop(rows.insert(row.key(), row.to_json())),
                Change::Delete(key) => drop(rows.remove(key)),
            }
        }
        self.set_note(SNAPSHOT, turn.snapshot.clone());
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let rows = self.rows.borrow();
        rows.iter().filter_map(|(key, row)| Row::read(key, row)).collect()
    }

    pub(super) fn jobs(&self) -> usize {
        self.rows.borrow().keys().filter(|key| key.starts_with("job/")).count()
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
