//! A request's body, read once, by whoever wants it first.
use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use worker::send::SendWrapper;
use worker::{ByteStream, Delay, Request};

/// The body. Nothing is read before somebody asks.
#[derive(Clone)]
pub(super) struct Body(Rc<RefCell<State>>);

struct State {
    stream: Option<ByteStream>,
    /// Runs while a chunk is awaited.
    patience: Option<Delay>,
}

impl Body {
    pub(super) fn of(request: &mut Request) -> Self {
        let stream = request.stream().ok();
        Self(Rc::new(RefCell::new(State { stream, patience: None })))
    }

    /// The chunks that have not been read yet.
    ///
    /// The multipart reader wants a `Send` stream; a Worker has one thread.
    pub(super) fn chunks(&self) -> Chunks {
        Chunks(SendWrapper::new(self.clone()))
    }

    /// Reads and forgets the rest, within reason: a caller that is still
    /// sending when the connection closes never hears why it was refused.
    pub(super) async fn drain(self) {
        let mut rest = self.chunks();
        let read = async {
            let mut read = 0;
            while let Some(Ok(chunk)) = rest.next().await {
                read += chunk.len();
                if read > MOST_DRAINED {
                    return;
                }
            }
        };
        let late = Delay::from(LONGEST_DRAIN);
        futures_util::future::select(Box::pin(read), late).await;
    }
}

impl State {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
        if let Poll::Ready(chunk) = stream.poll_next_unpin(cx) {
            self.patience = None;
            let failed = |error: worker::Error| io::Error::other(error.to_string());
            return Poll::Ready(chunk.map(|chunk| chunk.map(Bytes::from).map_err(failed)));
        }
        let patience = self.patience.get_or_insert_with(|| Delay::from(PATIENCE));
        if patience.poll_unpin(cx).is_ready() {
            self.stream = None;
            return Poll::Ready(Some(Err(io::Error::other("nothing came for too long"))));
        }
        Poll::Pending
    }
}

/// The rest of a body.
pub(super) struct Chunks(SendWrapper<Body>);

impl Stream for Chunks {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.0.0.borrow_mut().poll_chunk(cx)
    }
}

/// A caller that stalls this long is given up: it may hold a part buffer that
/// others wait for.
const PATIENCE: Duration = Duration::from_secs(15);

/// What Cloudflare takes at most in one request.
const MOST_DRAINED: usize = 100_000_000;
const LONGEST_DRAIN: Duration = Duration::from_secs(20);
