//! How many requests of one isolate may hold a part buffer at once: its memory
//! is bounded, the number of callers is not.
use crate::{
    domain::Span,
    pipeline::{ports::Ambient, problem::Problem},
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The permits of one isolate; a `static`, as requests may share plain memory
/// but not wake each other. Who waits therefore asks again.
#[derive(Debug)]
pub struct Permits {
    free: AtomicU32,
}

impl Permits {
    /// Room for `count` at once.
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { free: AtomicU32::new(count) }
    }

    /// Takes a permit, if there is one.
    pub fn try_take(&self) -> Option<Permit<'_>> {
        let one_less = |free: u32| free.checked_sub(1);
        self.free.fetch_update(Relaxed, Relaxed, one_less).ok().map(|_| Permit(self))
    }

    /// Takes a permit, and waits a while for one.
    ///
    /// # Errors
    ///
    /// 503 when none came free.
    pub async fn take<A: Ambient>(&self, ambient: &A) -> Result<Permit<'_>, Problem> {
        let mut waited = Span::ZERO;
        while waited < PATIENCE {
            if let Some(permit) = self.try_take() {
                return Ok(permit);
            }
            let pause = ambient.chance().between(SHORTEST_PAUSE, LONGEST_PAUSE);
            ambient.pause(pause).await;
            waited = waited.saturating_add(pause);
        }
        self.try_take().ok_or_else(|| Problem {
            detail: "too many uploads are under way; nothing was accepted, try again".to_owned(),
            ..Problem::unavailable()
        })
    }
}

/// A place, until dropped.
#[derive(Debug)]
pub struct Permit<'a>(&'a Permits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Relaxed);
    }
}

const PATIENCE: Span = Span::from_secs(20);
const SHORTEST_PAUSE: Span = Span::from_millis(25);
const LONGEST_PAUSE: Span = Span::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Entropy, Timestamp};
    use futures_executor::block_on;
    use std::cell::{Cell, RefCell};

    #[test]
    fn a_dropped_permit_is_free_again() {
        let permits = Permits::new(2);
        let (first, _second) = (permits.try_take(), permits.try_take());
        assert!(permits.try_take().is_none());
        drop(first);
        assert!(permits.try_take().is_some());
    }

    #[test]
    fn who_comes_too_many_waits_for_a_place() {
        let permits = Permits::new(1);
        let world =
            World { held: RefCell::new(permits.try_take()), frees_at: 3, ..World::default() };
        assert!(block_on(permits.take(&world)).is_ok());
        assert_eq!(world.pauses.get(), 3);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let permits = Permits::new(0);
        let world = World { frees_at: u32::MAX, ..World::default() };
        let problem = block_on(permits.take(&world)).unwrap_err();
        assert_eq!(problem.status, 503);
        assert!(problem.retry_after.is_some());
        assert_eq!(world.slept.get(), PATIENCE);
    }

    /// A world in which the holder lets go after some pauses.
    #[derive(Default)]
    struct World<'a> {
        held: RefCell<Option<Permit<'a>>>,
        frees_at: u32,
        pauses: Cell<u32>,
        slept: Cell<Span>,
    }

    impl Ambient for World<'_> {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }

        fn chance(&self) -> Entropy {
            Entropy(0)
        }

        async fn pause(&self, span: Span) {
            self.slept.set(self.slept.get().saturating_add(span));
            self.pauses.set(self.pauses.get() + 1);
            if self.pauses.get() >= self.frees_at {
                self.held.take();
            }
        }
    }
}
