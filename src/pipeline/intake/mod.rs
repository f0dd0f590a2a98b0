//! The body of `POST /jobs`, read while it arrives.
//!
//! ```text
//! body ─▶ BodyReader ─┬─▶ fields            prompt, model, origin … : small
//!         (Grammar)   └─▶ Relay ─▶ Keeper   request: inline or R2, byte for byte
//!                           └─▶ facts       what the door must know of it
//! ```
//!
//! Memory is bounded whatever is sent: the fields by [`MAX_FIELDS_BYTES`], the
//! request by one part buffer, for which a permit is needed, and nesting by one
//! bit a level.
mod counts;
mod facts;
mod fault;
mod fields;
mod grammar;
mod keeper;
mod number;
mod reader;
mod relay;
mod text;
mod utf8;

pub use facts::RequestFacts;
pub use fields::MAX_FIELDS_BYTES;
pub use grammar::MAX_DEPTH;
pub use keeper::RequestPlace;
pub use reader::{Body, BodyReader};

use super::{
    ports::{Ambient, Objects},
    problem::Problem,
    upload::Permits,
};
use crate::domain::JobId;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use keeper::Keeper;
use std::pin::pin;

/// A body that was received.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// What it held.
    pub body: Body,
    /// Where its request is kept, if it has one.
    pub place: Option<RequestPlace>,
}

/// Reads a body to its end, and keeps its request for `job`: up to
/// `inline_max` bytes in memory, a larger one in R2.
///
/// # Errors
///
/// A [`Problem`], and then nothing is kept.
pub async fn receive<P, S, E>(
    ports: &P,
    body: S,
    job: JobId,
    permits: &Permits,
    inline_max: usize,
) -> Result<Received, Problem>
where
    P: Objects + Ambient,
    S: Stream<Item = Result<Bytes, E>>,
{
    let mut keeper = Keeper::new(ports, job, permits, inline_max);
    let received = read(body, &mut keeper).await;
    if received.is_err() {
        keeper.discard().await;
    }
    received
}

async fn read<P, S, E>(body: S, keeper: &mut Keeper<'_, P>) -> Result<Received, Problem>
where
    P: Objects + Ambient,
    S: Stream<Item = Result<Bytes, E>>,
{
    let mut body = pin!(body);
    let mut reader = BodyReader::new();
    let mut request = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Problem::invalid("the body could not be read to its end"))?;
        for piece in chunk.chunks(PIECE) {
            reader.push(piece, &mut request)?;
            keeper.write(&mut request).await?;
        }
    }
    Ok(Received { body: reader.finish()?, place: keeper.finish().await? })
}

/// What is read before it is written.
const PIECE: usize = 64 * 1024;
