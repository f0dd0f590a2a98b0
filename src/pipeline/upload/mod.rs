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
    ports::{Ambient, Objects},
    problem::Problem,
};
use crate::domain::BatchId;
use bytes::Bytes;
use futures_util::Stream;

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
    content_type: &str,
    body: S,
    batch: BatchId,
) -> Result<Form, Problem>
where
    P: Objects + Ambient,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    let boundary = boundary::of(content_type)?;
    let _permit = permits.take(ports).await?;
    let mut receiver = receiver::Receiver::new(ports, batch);
    match receiver.read(parts::Parts::new(body, &boundary)).await {
        Ok(()) => Ok(receiver.into_form()),
        Err(problem) => {
            receiver.undo().await;
            Err(problem)
        }
    }
}
