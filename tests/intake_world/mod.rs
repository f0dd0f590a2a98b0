//! A store in memory that can fail.
use claude_pipeline::{
    domain::{Entropy, Span, Timestamp},
    pipeline::ports::{Ambient, ObjectMeta, Objects, PortError, PortResult, Upload, Written},
};
use std::{cell::RefCell, collections::BTreeMap, ops::Range, rc::Rc};

/// The store.
#[derive(Clone, Default)]
pub(crate) struct World {
    memory: Rc<RefCell<Memory>>,
    /// Which commands fail, and how. Removals are commands, but do not fail.
    failing: Option<(Range<u32>, Fault)>,
    removals_fail: bool,
}

#[derive(Default)]
struct Memory {
    commands: u32,
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<u32, Vec<Vec<u8>>>,
}

/// How a command fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// Nothing is done.
    Before,
    /// It is done, and reported as failed.
    After,
    /// Nothing is done, and never will be.
    Refused,
}

impl World {
    pub(crate) fn failing(commands: Range<u32>, fault: Fault) -> Self {
        Self { failing: Some((commands, fault)), ..Self::default() }
    }

    pub(crate) fn that_cannot_remove() -> Self {
        Self { removals_fail: true, ..Self::default() }
    }

    pub(crate) fn commands(&self) -> u32 {
        self.memory.borrow().commands
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, String> {
        let objects = self.memory.borrow().objects.clone();
        objects.into_iter().map(|(key, body)| (key, String::from_utf8(body).unwrap())).collect()
    }

    pub(crate) fn open_uploads(&self) -> usize {
        self.memory.borrow().uploads.len()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.objects().is_empty() && self.open_uploads() == 0
    }

    fn command<T>(&self, act: impl FnOnce(&mut Memory) -> T) -> PortResult<T> {
        let memory = &mut *self.memory.borrow_mut();
        let number = memory.commands;
        memory.commands += 1;
        let fault = self.failing.as_ref().filter(|(commands, _)| commands.contains(&number));
        match fault.map(|(_, fault)| *fault) {
            None => Ok(act(memory)),
            Some(Fault::Before) => Err(lost()),
            Some(Fault::After) => {
                act(memory);
                Err(lost())
            }
            Some(Fault::Refused) => Err(PortError::Refused("no".to_owned())),
        }
    }

    fn removal(&self, act: impl FnOnce(&mut Memory)) -> PortResult<()> {
        let memory = &mut *self.memory.borrow_mut();
        memory.commands += 1;
        if self.removals_fail {
            return Err(lost());
        }
        act(memory);
        Ok(())
    }
}

fn lost() -> PortError {
    PortError::Unavailable("lost".to_owned())
}

impl Ambient for World {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn chance(&self) -> Entropy {
        Entropy(u64::MAX)
    }

    async fn pause(&self, _: Span) {}
}

impl Objects for World {
    type Upload = Parts;

    async fn put_new(&self, key: &str, body: &[u8], meta: ObjectMeta) -> PortResult<Written> {
        assert_eq!(meta.content_type, "application/json");
        self.command(|memory| match memory.objects.insert(key.to_owned(), body.to_vec()) {
            None => Written::Wrote,
            Some(_) => Written::AlreadyExisted,
        })
    }

    async fn head(&self, key: &str) -> PortResult<Option<Vec<(String, String)>>> {
        self.command(|memory| memory.objects.get(key).map(|_| Vec::new()))
    }

    async fn begin_upload(&self, key: &str, content_type: &'static str) -> PortResult<Parts> {
        assert_eq!(content_type, "application/json");
        self.command(|memory| {
            let id = memory.commands;
            memory.uploads.insert(id, Vec::new());
            Parts { world: self.clone(), id, key: key.to_owned(), next: 0 }
        })
    }

    async fn delete(&self, keys: Vec<String>) -> PortResult<()> {
        self.removal(|memory| memory.objects.retain(|key, _| !keys.contains(key)))
    }
}

/// An upload. Like R2's: a part sent again replaces the one of its number.
pub(crate) struct Parts {
    world: World,
    id: u32,
    key: String,
    next: usize,
}

impl Upload for Parts {
    async fn part(&mut self, body: &[u8]) -> PortResult<()> {
        self.world.command(|memory| {
            let parts = memory.uploads.get_mut(&self.id).unwrap();
            parts.truncate(self.next);
            parts.push(body.to_vec());
        })?;
        self.next += 1;
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        self.world.command(|memory| {
            if let Some(parts) = memory.uploads.remove(&self.id) {
                memory.objects.insert(self.key.clone(), parts.concat());
            }
        })
    }

    async fn abort(&mut self) -> PortResult<()> {
        self.world.removal(|memory| drop(memory.uploads.remove(&self.id)))
    }
}
