//! `POST /batches`: a form of PDFs becomes objects in R2 while it arrives.
//!
//! ```text
//! body ─▶ Parts ─▶ Receiver ─┬─▶ Texts            small fields
//!        (multer)          └─▶ PdfInspector, Spool  one file at a time, 5 MiB of it
//! ```
//!
//! All or nothing: whatever goes wrong, every object stored for the request is
//! removed again. Only a request that is cut off from outside (the isolate
//! dies) can leave objects behind, and they belong to no job.
mod boundary;
mod content_disposition;
mod fields;
mod filename;
mod form;
mod pace;
mod parameters;
mod parts;
mod permits;
mod receiver;
mod spool;

pub use fields::Fields;
pub use form::{Form, UploadedFile};
pub use permits::{Permit, Permits};
pub use spool::PART;
pub(in crate::pipeline) use spool::Spool;

use super::{
    idempotency::Fingerprint,
    places::Room,
    ports::{Ambient, Objects},
    problem::Problem,
};
use crate::domain::{BatchId, JobId};
use bytes::Bytes;
use futures_util::Stream;

/// A form on its way in.
pub struct Arriving<'a, S> {
    /// The request's `Content-Type`.
    pub content_type: &'a str,
    /// The request's body.
    pub body: S,
    /// The batch its files are for.
    pub batch: BatchId,
    /// The job of its first file, in whose name the places are held.
    pub first: JobId,
    /// What it asks for is added here: not how it is framed, which differs
    /// from one time to the next.
    pub print: &'a Fingerprint,
}

/// The most files in one batch (mission A9).
pub const MAX_FILES: usize = 100;

/// Reads a form to its end and keeps its files.
///
/// # Errors
///
/// A [`Problem`], and then nothing is kept.
pub async fn receive<P, S, E>(
    ports: &P,
    permits: &Permits,
    arriving: Arriving<'_, S>,
    room: &mut impl Room,
) -> Result<Form, Problem>
where
    P: Objects + Ambient,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    let boundary = boundary::of(arriving.content_type)?;
    let _permit = permits.take(ports).await?;
    let mut receiver = receiver::Receiver::new(ports, arriving.batch, arriving.first);
    let form = parts::Parts::new(arriving.body, &boundary, arriving.print.clone());
    match receiver.read(form, room).await {
        Ok(()) => Ok(receiver.into_form()),
        Err(problem) => {
            receiver.undo().await;
            Err(problem)
        }
    }
}

/// Reads a form to its end, and keeps nothing but its fingerprint.
///
/// # Errors
///
/// 400 or 415 if it cannot be read.
pub async fn fingerprint<S, E>(
    content_type: &str,
    body: S,
    print: &Fingerprint,
) -> Result<(), Problem>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    let boundary = boundary::of(content_type)?;
    let mut parts = parts::Parts::new(body, &boundary, print.clone());
    while let Some(mut part) = parts.next().await? {
        while part.chunk().await?.is_some() {}
    }
    Ok(())
}
