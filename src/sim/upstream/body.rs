//! An answer on its way.
use crate::claude::CallFailure;
use crate::domain::{Span, Timestamp};
use crate::sim::stage::{Pause, Stage};
use bytes::Bytes;
use futures_util::Stream;
use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A piece of an answer.
pub(super) enum Part {
    /// Bytes, after this long.
    Chunk(Span, Bytes),
    /// The connection breaks.
    Break,
    /// Nothing more comes.
    Never,
}

/// A connection to the API; closed when it is dropped.
pub(in crate::sim) struct OpenCall(Rc<Cell<u32>>);

impl OpenCall {
    pub(super) fn new(open: &Rc<Cell<u32>>) -> Self {
        open.set(open.get() + 1);
        Self(Rc::clone(open))
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The body of an answer. The caller's time is up at its deadline.
pub(in crate::sim) struct AnswerBody {
    stage: Rc<Stage>,
    parts: VecDeque<Part>,
    pause: Option<Pause>,
    deadline: Timestamp,
    _open: OpenCall,
}

impl AnswerBody {
    pub(super) fn new(
        stage: Rc<Stage>,
        parts: VecDeque<Part>,
        deadline: Timestamp,
        open: OpenCall,
    ) -> Self {
        Self { stage, parts, pause: None, deadline, _open: open }
    }

    /// When the next part is there, or the caller's time is up.
    fn next_at(&self) -> Option<Timestamp> {
        let at = match self.parts.front()? {
            Part::Chunk(after, _) => self.stage.now() + *after,
            Part::Break => self.stage.now(),
            Part::Never => self.deadline,
        };
        Some(at.min(self.deadline))
    }
}

impl Stream for AnswerBody {
    type Item = Result<Bytes, CallFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(at) = self.next_at() else {
            return Poll::Ready(None);
        };
        let this = &mut *self;
        let pause = this.pause.get_or_insert_with(|| this.stage.until(at));
        ready!(Pin::new(pause).poll(cx));
        self.pause = None;
        if self.stage.now() >= self.deadline {
            self.parts.clear();
            return Poll::Ready(Some(Err(CallFailure::Timeout)));
        }
        Poll::Ready(match self.parts.pop_front() {
            Some(Part::Chunk(_, bytes)) => Some(Ok(bytes)),
            Some(Part::Break) => {
                self.parts.clear();
                Some(Err(CallFailure::Connection("the connection broke".to_owned())))
            }
            Some(Part::Never) | None => None,
        })
    }
}
