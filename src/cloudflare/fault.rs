//! Panics on request, to prove on the build that ships that one request's
//! panic hurts no other. Asleep unless the variable `PANIC_HOOK` is set, which
//! no configuration of ours does.
use super::shell::Shell;
use crate::pipeline::ports::CallBody;
use worker::Headers;

/// Where a request asks for a panic, if it may: its header `x-panic`.
pub(super) fn wanted(shell: &Shell, headers: &Headers) -> Option<String> {
    shell.variable("PANIC_HOOK")?;
    headers.get("x-panic").ok().flatten()
}

/// Panics if the body of a call asks for it.
pub(super) fn in_call(shell: &Shell, body: &CallBody) {
    let CallBody::Whole(body) = body else { return };
    if shell.variable("PANIC_HOOK").is_some() && body.windows(MARK.len()).any(|part| part == MARK) {
        now("call");
    }
}

/// Panics.
#[allow(clippy::panic)]
pub(super) fn now(place: &str) {
    panic!("asked to panic: {place}");
}

const MARK: &[u8] = b"[[panic]]";
