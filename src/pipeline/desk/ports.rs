//! What the desk needs beside the ports that every process has.
use crate::domain::{Span, Timestamp};
use crate::pipeline::ports::{Ambient, Database, Objects, PortResult, Queues};
use crate::pipeline::turn::Turn;
use crate::scheduler::{Config, Row};

/// The object's own storage: it survives the object's eviction. What is
/// written without an await in between is committed as one.
pub trait DeskStore {
    /// Every row. A job whose row cannot be read is left to the sweep.
    ///
    /// # Errors
    ///
    /// The storage failed.
    fn rows(&self) -> PortResult<Vec<Row>>;

    /// Makes a turn durable: its rows, and its snapshot as the note
    /// [`super::SNAPSHOT`].
    ///
    /// # Errors
    ///
    /// The storage failed; whether anything was written is not known.
    fn write(&self, turn: &Turn) -> PortResult<()>;

    /// A note, if it was ever set.
    ///
    /// # Errors
    ///
    /// The storage failed.
    fn note(&self, name: &str) -> PortResult<Option<String>>;

    /// Sets a note.
    ///
    /// # Errors
    ///
    /// The storage failed.
    fn set_note(&self, name: &'static str, value: &str) -> PortResult<()>;
}

/// The object's one alarm. What is asked of it is done in the order asked.
pub trait Alarm {
    /// The alarm rings then, and at no other time.
    fn arm_at(&self, at: Timestamp) -> impl Future<Output = PortResult<()>>;
    /// The alarm does not ring.
    fn disarm(&self) -> impl Future<Output = PortResult<()>>;
}

/// Everything the desk reaches the world by.
pub trait DeskPorts: Alarm + DeskStore + 'static {
    /// The ports that every process has.
    type Shared: Ambient + Database + Objects + Queues;

    /// The ports that every process has.
    fn shared(&self) -> &Self::Shared;
    /// What the scheduler is set to.
    fn config(&self) -> Config;
    /// How long a job is kept after its end.
    fn retention(&self) -> Span;
    /// Names this start of the machine, where consumers end with the machine.
    fn boot(&self) -> Option<String>;
    /// Carries work out beside the present request, but not at once: what is
    /// under way comes to its next await first.
    fn spawn(&self, work: impl Future<Output = ()> + 'static);
    /// Tells the operator of a trouble that mends itself.
    fn warn(&self, trouble: &str);
}
