//! A store in memory that can fail, and forms to put into it.
#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used, reason = "test code")]

use bytes::Bytes;
use claude_pipeline::{
    domain::{BatchId, Entropy, JobId, Span, Timestamp},
    pipeline::{
        idempotency::Fingerprint,
        places::Room,
        ports::{Ambient, ObjectMeta, Objects, PortError, PortResult, Upload, Written},
        problem::Problem,
        upload::{Arriving, Form, PART, Permits, UploadedFile, receive},
    },
    scheduler::{Limit, Refusal},
};
use futures_executor::block_on;
use futures_util::{Stream, StreamExt, stream};
use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

/// The store, the clock and the dice.
#[derive(Clone, Default)]
pub(crate) struct World {
    memory: Arc<Mutex<Memory>>,
    fault: Option<(Range<u32>, Fault)>,
}

#[derive(Default)]
struct Memory {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<u32, Vec<Vec<u8>>>,
    /// How many commands the store was given.
    commands: u32,
    /// Addresses and lengths of the bodies it was given.
    bodies: Vec<(usize, usize)>,
    draws: u64,
    slept: Span,
}

/// How a command fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// It does nothing.
    Before,
    /// It does what it should, but reports a failure.
    After,
    /// It does nothing, and asking again does not help.
    Refused,
}

impl World {
    /// A store whose commands with these numbers fail.
    pub(crate) fn failing(commands: Range<u32>, fault: Fault) -> Self {
        Self { fault: Some((commands, fault)), ..Self::default() }
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.memory().objects.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memory().objects.is_empty()
    }

    pub(crate) fn open_uploads(&self) -> usize {
        self.memory().uploads.len()
    }

    pub(crate) fn commands(&self) -> u32 {
        self.memory().commands
    }

    pub(crate) fn body_lengths(&self) -> Vec<usize> {
        self.memory().bodies.iter().map(|(_, len)| *len).collect()
    }

    /// How many different buffers the bodies came from.
    pub(crate) fn buffers(&self) -> usize {
        self.memory().bodies.iter().map(|(at, _)| at).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn slept(&self) -> Span {
        self.memory().slept
    }

    /// The files of a form as they are stored, with their names.
    pub(crate) fn files(&self, form: &Form) -> Vec<(String, Vec<u8>)> {
        let objects = self.objects();
        assert_eq!(objects.len(), form.files.len(), "an object for each file, no more");
        let read = |file: &UploadedFile| {
            assert_eq!(file.key, format!("uploads/{}/{}.pdf", batch(), file.job));
            assert_eq!(file.bytes, objects[&file.key].len() as u64);
            (file.filename.clone(), objects[&file.key].clone())
        };
        form.files.iter().map(read).collect()
    }

    /// Posts a body in chunks of a size.
    pub(crate) fn post(&self, body: &[u8], chunk: usize) -> Result<Form, Problem> {
        self.post_chunks(body.chunks(chunk).map(Bytes::copy_from_slice).collect())
    }

    pub(crate) fn post_chunks(&self, chunks: Vec<Bytes>) -> Result<Form, Problem> {
        self.post_stream(stream::iter(chunks))
    }

    pub(crate) fn post_stream(
        &self,
        body: impl Stream<Item = Bytes> + Send,
    ) -> Result<Form, Problem> {
        self.post_broken(body.map(Ok::<_, Infallible>), &mut Seats(u32::MAX))
    }

    /// Posts a body that may break off, to where there are so many seats.
    pub(crate) fn post_broken<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Send,
        seats: &mut Seats,
    ) -> Result<Form, Problem> {
        block_on(receive(self, &Permits::new(1), arriving(body), seats))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap()
    }

    fn saw(&self, body: &[u8]) {
        self.memory().bodies.push((body.as_ptr() as usize, body.len()));
    }

    fn command<T>(&self, act: impl FnOnce(&mut Memory) -> PortResult<T>) -> PortResult<T> {
        let mut memory = self.memory();
        let number = memory.commands;
        memory.commands += 1;
        let fault = self.fault.as_ref().filter(|(when, _)| when.contains(&number));
        let lost = || PortError::Unavailable("lost".to_owned());
        match fault.map(|(_, fault)| *fault) {
            None => act(&mut memory),
            Some(Fault::Before) => Err(lost()),
            Some(Fault::After) => act(&mut memory).and(Err(lost())),
            Some(Fault::Refused) => Err(PortError::Refused("no".to_owned())),
        }
    }
}

impl Ambient for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_796_000_000_000)
    }

    fn chance(&self) -> Entropy {
        let draw = &mut self.memory().draws;
        *draw += 1;
        Entropy(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    async fn pause(&self, span: Span) {
        let slept = &mut self.memory().slept;
        *slept = slept.saturating_add(span);
    }
}

impl Objects for World {
    type Upload = OpenUpload;

    async fn put_new(&self, key: &str, body: &[u8], meta: ObjectMeta) -> PortResult<Written> {
        assert_eq!(meta.content_type, "application/pdf");
        self.saw(body);
        self.command(|memory| {
            if memory.objects.contains_key(key) {
                return Ok(Written::AlreadyExisted);
            }
            memory.objects.insert(key.to_owned(), body.to_vec());
            Ok(Written::Wrote)
        })
    }

    async fn head(&self, key: &str) -> PortResult<Option<Vec<(String, String)>>> {
        self.command(|memory| Ok(memory.objects.get(key).map(|_| Vec::new())))
    }

    async fn begin_upload(&self, key: &str, content_type: &'static str) -> PortResult<OpenUpload> {
        assert_eq!(content_type, "application/pdf");
        self.command(|memory| {
            let id = memory.commands;
            memory.uploads.insert(id, Vec::new());
            Ok(OpenUpload { world: self.clone(), id, key: key.to_owned(), parts: 0 })
        })
    }

    async fn delete(&self, keys: Vec<String>) -> PortResult<()> {
        self.command(|memory| {
            memory.objects.retain(|key, _| !keys.contains(key));
            Ok(())
        })
    }
}

/// Like R2's: a part sent again replaces the one of its number.
pub(crate) struct OpenUpload {
    world: World,
    id: u32,
    key: String,
    parts: usize,
}

impl Upload for OpenUpload {
    async fn part(&mut self, body: &[u8]) -> PortResult<()> {
        self.world.saw(body);
        self.world.command(|memory| {
            let parts = memory.uploads.get_mut(&self.id).expect("the upload is open");
            parts.truncate(self.parts);
            parts.push(body.to_vec());
            Ok(())
        })?;
        self.parts += 1;
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        self.world.command(|memory| {
            let gone = || PortError::Refused("no such upload".to_owned());
            let parts = memory.uploads.remove(&self.id).ok_or_else(gone)?;
            let (last, others) = parts.split_last().expect("a part");
            assert!(others.iter().all(|part| part.len() == PART));
            assert!((1..=PART).contains(&last.len()));
            memory.objects.insert(self.key.clone(), parts.concat());
            Ok(())
        })
    }

    async fn abort(&mut self) -> PortResult<()> {
        self.world.command(|memory| {
            memory.uploads.remove(&self.id);
            Ok(())
        })
    }
}

pub(crate) fn batch() -> BatchId {
    BatchId::new(Timestamp::from_millis(7), [Entropy(7), Entropy(7)])
}

/// A form with these parts, in this order.
pub(crate) fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(b"--XcaseBoundary7\r\n");
        body.extend_from_slice(part);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XcaseBoundary7--\r\n");
    body
}

pub(crate) fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "Content-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
         Content-Type: application/pdf\r\n\r\n"
    );
    [head.as_bytes(), content].concat()
}

pub(crate) fn text(name: &str, content: &str) -> Vec<u8> {
    format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}").into_bytes()
}

/// A PDF of that length, for which nothing but its beginning is true.
pub(crate) fn pdf(bytes: usize) -> Vec<u8> {
    let mut content = b"%PDF-1.7\n".to_vec();
    let noise = (0..251).map(|at: u8| at.wrapping_mul(101));
    content.extend(noise.cycle().take(bytes));
    content.truncate(bytes);
    content
}

pub(crate) const CONTENT_TYPE: &str = "multipart/form-data; boundary=XcaseBoundary7";

/// A form whose fingerprint nobody wants.
pub(crate) fn arriving<S>(body: S) -> Arriving<'static, S> {
    const NONE: &Fingerprint = &Fingerprint::none();
    let first = JobId::new(Timestamp::from_millis(1), [Entropy(1), Entropy(1)]);
    Arriving { content_type: CONTENT_TYPE, body, batch: batch(), first, print: NONE }
}

/// Room for so many files, of three that one form may ever have.
pub(crate) struct Seats(pub(crate) u32);

impl Room for Seats {
    async fn at_least(&mut self, files: u32) -> Result<(), Problem> {
        let (limit, largest, [most, used, asked]) = (Limit::Share, Some(3), [1; 3]);
        let full = Refusal { limit, most, used, asked, largest, retry_after: None };
        if files <= self.0 { Ok(()) } else { Err(Problem::limited(full, None)) }
    }
}
