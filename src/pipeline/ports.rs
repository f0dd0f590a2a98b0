//! What the use cases need of the world. Each driver (`cloudflare`, `sim`)
//! implements these once.
use crate::claude::{CallFailure, PdfBody};
use crate::domain::{Entropy, JobId, Queue, Span, TenantId, Timestamp, from_json};
use crate::scheduler::{Quota, Refusal, Settlement, Submission, Wish};
use bytes::Bytes;
use futures_util::Stream;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

/// A store or a peer could not do what was asked.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum PortError {
    /// It may work later; whether it was done is not known.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// It will never work: our own fault, or a broken store.
    #[error("refused: {0}")]
    Refused(String),
}

impl PortError {
    /// A store's error, told apart by its words: the platform gives no more.
    /// What is not clearly our own fault may work later.
    #[must_use]
    pub fn of_store(message: String) -> Self {
        let ours = ["SQLITE_", "constraint failed", "D1_TYPE_ERROR", "no such ", "syntax error"];
        if ours.iter().any(|words| message.contains(words)) && !message.contains("SQLITE_BUSY") {
            Self::Refused(message)
        } else {
            Self::Unavailable(message)
        }
    }
}

/// The result of asking a port.
pub type PortResult<T> = Result<T, PortError>;

/// Time and chance.
pub trait Ambient {
    /// The present moment.
    fn now(&self) -> Timestamp;
    /// A fresh draw.
    fn chance(&self) -> Entropy;
    /// Returns after `span`.
    fn pause(&self, span: Span) -> impl Future<Output = ()>;
}

/// One SQL statement with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// SQL with `?1`, `?2` … A statement that returns rows returns one column
    /// named `row`: a JSON object as text.
    pub sql: &'static str,
    /// The values.
    pub values: Vec<Value>,
}

/// A value bound to a statement. Lists travel as one JSON text, read by
/// `json_each`: D1 binds at most 100 values a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer below 2^53.
    Integer(u64),
    /// A text.
    Text(String),
}

/// The rows a statement returned, each a JSON object as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows(pub Vec<String>);

impl Rows {
    /// Reads every row.
    ///
    /// # Errors
    ///
    /// [`PortError::Refused`] if a row has another shape.
    pub fn read<T: DeserializeOwned>(&self) -> PortResult<Vec<T>> {
        let read = |row: &String| from_json(row);
        self.0
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map_err(|error| PortError::Refused(format!("a row has an unexpected shape: {error}")))
    }
}

/// D1.
pub trait Database {
    /// Carries out the statements in one transaction, all or none.
    fn batch(&self, statements: Vec<Statement>) -> impl Future<Output = PortResult<Vec<Rows>>>;
}

/// What is kept beside an object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ObjectMeta {
    /// MIME type.
    pub content_type: &'static str,
    /// Name and value, ASCII, at most 8,192 bytes in all.
    pub custom: Vec<(String, String)>,
}

/// Whether a write-once put wrote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Written {
    /// The object is new.
    Wrote,
    /// An object of that name was there, and stays as it was.
    AlreadyExisted,
}

/// R2.
pub trait Objects {
    /// An upload in parts, for objects whose length is not known in advance.
    type Upload: Upload;

    /// Stores an object whole, unless one of that name exists.
    fn put_new(
        &self,
        key: &str,
        body: &[u8],
        meta: ObjectMeta,
    ) -> impl Future<Output = PortResult<Written>>;

    /// The custom metadata of an object; `None` if there is none.
    fn head(&self, key: &str) -> impl Future<Output = PortResult<Option<Vec<(String, String)>>>>;

    /// Begins an upload in parts.
    fn begin_upload(
        &self,
        key: &str,
        content_type: &'static str,
    ) -> impl Future<Output = PortResult<Self::Upload>>;

    /// Removes objects; those that do not exist are no error.
    fn delete(&self, keys: Vec<String>) -> impl Future<Output = PortResult<()>>;
}

/// An upload in parts: every part but the last has the same length, 5 MiB or
/// more. Each step may be asked for again after [`PortError::Unavailable`].
pub trait Upload {
    /// Adds a part. One that failed has no place yet: the next takes its number.
    fn part(&mut self, body: &[u8]) -> impl Future<Output = PortResult<()>>;
    /// Makes the object appear.
    fn complete(&mut self) -> impl Future<Output = PortResult<()>>;
    /// Leaves nothing behind.
    fn abort(&mut self) -> impl Future<Output = PortResult<()>>;
}

/// The scheduler's answer to a wish for places, as it comes over the wire.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Admitted {
    /// Why nothing was let in, if so.
    pub refused: Option<Refusal>,
    /// How many places the request has.
    pub places: u32,
    /// What is left of the tenant's rate.
    pub quota: Option<Quota>,
    /// The tenant's demotion, to be handed on unread.
    pub demotion: Option<Box<RawValue>>,
}

/// Places that are given back.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Vacated {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub hold: JobId,
}

/// The scheduler object.
pub trait SchedulerPort {
    /// Asks for places, before anything is stored.
    fn admit(&self, wish: Wish) -> impl Future<Output = PortResult<Admitted>>;
    /// Gives places back.
    fn vacate(&self, places: Vacated) -> impl Future<Output = PortResult<()>>;
    /// Puts jobs in line, in the places held in the name of the first. Jobs it
    /// knows already are left as they are.
    fn submit(&self, jobs: Vec<Submission>) -> impl Future<Output = PortResult<()>>;
    /// Ends jobs by their owner's wish.
    fn cancel(&self, jobs: Vec<JobId>) -> impl Future<Output = PortResult<()>>;
    /// Which of these jobs, whose attempts are under way, were canceled.
    fn canceled(&self, jobs: Vec<JobId>) -> impl Future<Output = PortResult<Vec<JobId>>>;
    /// Returns when the job is no longer here, or after `span`; says whether it
    /// was here at first.
    fn wait(&self, job: JobId, span: Span) -> impl Future<Output = PortResult<bool>>;
    /// What a job waits for, as JSON; `None` if it does not wait here.
    fn explain(&self, job: JobId) -> impl Future<Output = PortResult<Option<Box<RawValue>>>>;
    /// Tells how attempts ended.
    fn settle(&self, settlements: Vec<Settlement>) -> impl Future<Output = PortResult<()>>;
}

/// Cloudflare's queues.
pub trait Queues {
    /// Sends message bodies, JSON as text, in as few operations as possible.
    fn send(&self, queue: Queue, bodies: Vec<String>) -> impl Future<Output = PortResult<()>>;
}

/// The body of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallBody {
    /// The bytes themselves.
    Whole(Vec<u8>),
    /// An object, as it is.
    Object {
        /// Its key in R2.
        key: String,
    },
    /// A PDF in base64 within JSON; streamed, with a known length.
    Pdf {
        /// The PDF's key in R2.
        key: String,
        /// What goes around it.
        body: PdfBody,
    },
}

/// One call to the Messages API.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Call {
    /// The body, `stream: true` included.
    pub body: CallBody,
    /// `anthropic-version`.
    pub version: String,
    /// `anthropic-beta`, if the caller sent one.
    pub beta: Option<String>,
    /// The whole call ends within this time, body included.
    pub timeout: Span,
}

/// What came back: a status, headers, and a body still on its way.
pub struct Reply<B> {
    /// HTTP status.
    pub status: u16,
    /// Lower-case name and value of each header we may need.
    pub headers: Vec<(String, String)>,
    /// The body, in chunks. An end without error is no proof of completeness.
    pub body: B,
}

impl<B> Reply<B> {
    /// A header's value, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        header(&self.headers, name)
    }
}

/// A header's value, by its lower-case name.
#[must_use]
pub fn header(headers: &[(String, String)], name: &str) -> Option<String> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// The Messages API.
pub trait Claude {
    /// The body of an answer.
    type Body: Stream<Item = Result<Bytes, CallFailure>> + Unpin;

    /// Calls. An answer of any status is an `Ok`.
    fn call(&self, call: Call) -> impl Future<Output = Result<Reply<Self::Body>, CallFailure>>;
}

/// The operator's webhook.
pub trait Notifier {
    /// Hands over an event (a JSON body). Never fails, never waits: delivery
    /// must not touch the job.
    fn notify(&self, event: String);
}
