//! What the scheduler object has behind the desk's ports.
use super::fault;
use super::scheduler_rows::SchedulerRows;
use super::shell::{Shell, Work, asked};
use crate::domain::{Span, Timestamp};
use crate::pipeline::desk::{Alarm, DeskPorts, DeskStore};
use crate::pipeline::ports::{Ambient, PortResult};
use crate::pipeline::settings::fingerprint;
use crate::pipeline::turn::Turn;
use crate::scheduler::{Config, Row};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;
use worker::{Result, ScheduledTime, State};

/// Drawn once by a process, or rather by its one isolate of ours.
static PROCESS: OnceLock<u64> = OnceLock::new();

/// The object's storage, alarm and bindings.
pub(super) struct ObjectPorts {
    state: Rc<State>,
    shell: Shell,
    rows: SchedulerRows,
    panic: Cell<Option<&'static str>>,
}

impl ObjectPorts {
    pub(super) fn open(state: Rc<State>, shell: Shell) -> Result<Self> {
        let rows = SchedulerRows::open(state.storage().sql())?;
        Ok(Self { state, shell, rows, panic: Cell::new(None) })
    }

    /// The next turn panics, half done.
    pub(super) fn panic_in_turn(&self, place: &'static str) {
        self.panic.set(Some(place));
    }
}

impl DeskPorts for ObjectPorts {
    type Shared = Shell;

    fn shared(&self) -> &Shell {
        &self.shell
    }

    fn config(&self) -> Config {
        let key = self.shell.variable("ANTHROPIC_API_KEY").unwrap_or_default();
        Config { credentials: fingerprint(&key), ..self.shell.settings.scheduler }
    }

    fn retention(&self) -> Span {
        self.shell.settings.retention
    }

    /// `BOOT_ID` says that consumers live and die with this process, which may
    /// also be started anew behind the back of whoever set it.
    fn boot(&self) -> Option<String> {
        let process = *PROCESS.get_or_init(|| self.shell.chance().0);
        self.shell.variable("BOOT_ID").map(|boot| format!("{boot}-{process:x}"))
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.state.wait_until::<Work>(Box::pin(work));
    }

    fn warn(&self, trouble: &str) {
        worker::console_warn!("{trouble}");
    }
}

impl DeskStore for ObjectPorts {
    fn rows(&self) -> PortResult<Vec<Row>> {
        asked(self.rows.all())
    }

    fn write(&self, turn: &Turn) -> PortResult<()> {
        if let Some(place) = self.panic.take() {
            fault::now(place);
        }
        asked(self.rows.write(turn))
    }

    fn note(&self, name: &str) -> PortResult<Option<String>> {
        asked(self.rows.note(name))
    }

    fn set_note(&self, name: &'static str, value: &str) -> PortResult<()> {
        asked(self.rows.set_note(name, value))
    }
}

impl Alarm for ObjectPorts {
    async fn arm_at(&self, at: Timestamp) -> PortResult<()> {
        let after = i64::try_from(at.since(self.shell.now()).as_millis()).unwrap_or(i64::MAX);
        asked(self.state.storage().set_alarm(ScheduledTime::from(after)).await)
    }

    async fn disarm(&self) -> PortResult<()> {
        asked(self.state.storage().delete_alarm().await)
    }
}
