//! Asking a store again: D1, R2 and objects fail now and then, and recover.
use super::ports::{Ambient, PortError, PortResult};
use crate::domain::Span;

/// Takes a step up to [`TRIES`] times while the port is unavailable, with a
/// jittered, growing pause between. The step must be safe to repeat.
///
/// # Errors
///
/// The last error.
pub(super) async fn patiently<P: Ambient, T>(
    ports: &P,
    mut step: impl AsyncFnMut() -> PortResult<T>,
) -> PortResult<T> {
    let mut longest = FIRST_PAUSE;
    for _ in 1..TRIES {
        match step().await {
            Err(PortError::Unavailable(_)) => {}
            answer => return answer,
        }
        ports.pause(ports.chance().between(longest.scaled(1, 2), longest)).await;
        longest = longest.scaled(3, 1);
    }
    step().await
}

/// Enough for a storage reset, short enough for a caller to wait through.
const TRIES: u32 = 4;
const FIRST_PAUSE: Span = Span::from_millis(100);
