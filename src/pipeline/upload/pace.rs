//! The body on its way to multer, which would otherwise take whatever has
//! arrived, and wait for ever for the end of a header.
use bytes::Bytes;
use futures_util::Stream;
use std::{
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use thiserror::Error;

/// A body handed out in pieces, one a poll, and no more than [`MOST_UNUSED`]
/// bytes before the reader makes use of them.
pub(super) struct Pace<S> {
    body: Pin<Box<S>>,
    /// What is left of the last chunk.
    chunk: Bytes,
    /// A piece was just handed out.
    gave: bool,
    unused: Unused,
}

impl<S> Pace<S> {
    pub(super) fn new(body: S, unused: Unused) -> Self {
        Self { body: Box::pin(body), chunk: Bytes::new(), gave: false, unused }
    }
}

impl<S: Stream<Item = Result<Bytes, E>>, E> Stream for Pace<S> {
    type Item = Result<Bytes, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if mem::take(&mut self.gave) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.chunk.is_empty() {
            match self.body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => self.chunk = chunk,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Some(Err(Broken::Body))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
        let most = self.chunk.len().min(PIECE);
        let piece = self.chunk.split_to(most);
        self.gave = true;
        Poll::Ready(Some(self.unused.add(piece.len()).map(|()| piece)))
    }
}

/// How much was handed out since the reader last made use of it: a bound on
/// what it holds.
#[derive(Clone, Default)]
pub(super) struct Unused(Arc<AtomicUsize>);

impl Unused {
    /// The reader came to something.
    pub(super) fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    fn add(&self, bytes: usize) -> Result<(), Broken> {
        let unused = self.0.fetch_add(bytes, Relaxed);
        if unused < MOST_UNUSED { Ok(()) } else { Err(Broken::Framing) }
    }
}

/// Why a body cannot be read on.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(super) enum Broken {
    #[error("the body could not be read to its end")]
    Body,
    #[error(
        "no part of a form begins within {MOST_UNUSED} bytes: \
         every line of its framing must end with CRLF"
    )]
    Framing,
}

const PIECE: usize = 64 * 1024;
const MOST_UNUSED: usize = 2 * PIECE;

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;
    use futures_util::{FutureExt, StreamExt, stream};

    #[test]
    fn it_hands_out_one_piece_a_poll() {
        let unused = Unused::default();
        let mut paced = paced(&[10, 0, PIECE + 1], unused);
        let mut polled = || paced.next().now_or_never().flatten();
        for piece in [10, PIECE, 1] {
            assert_eq!(polled().map(|piece| piece.map(|piece| piece.len())), Some(Ok(piece)));
            assert_eq!(polled(), None, "it pauses after each piece");
        }
        assert_eq!(block_on(paced.next()), None);
    }

    #[test]
    fn it_stops_when_the_reader_makes_no_use_of_it() {
        let unused = Unused::default();
        let mut paced = paced(&[PIECE; 5], unused.clone());
        let mut next = || block_on(paced.next()).unwrap().map(|piece| piece.len());
        assert_eq!([next(), next()], [Ok(PIECE); 2]);
        unused.clear();
        assert_eq!([next(), next()], [Ok(PIECE); 2]);
        assert_eq!(next(), Err(Broken::Framing));
    }

    fn paced(chunks: &[usize], unused: Unused) -> Pace<impl Stream<Item = Result<Bytes, ()>>> {
        let chunks: Vec<_> = chunks.iter().map(|len| Ok(Bytes::from(vec![0; *len]))).collect();
        Pace::new(stream::iter(chunks), unused)
    }
}
