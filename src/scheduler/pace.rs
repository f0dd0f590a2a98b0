//! How much is served in a time, and what comes meanwhile.
use super::{ahead::Ahead, ratio::part, view::View};
use crate::domain::Span;

impl View<'_> {
    /// What can be served in a minute, in cost.
    pub(super) fn capacity(&self) -> u64 {
        self.tariff.inflow(MINUTE).unsigned_abs().min(self.through_slots()).max(1)
    }

    /// What the slots let through in a minute.
    fn through_slots(&self) -> u64 {
        let mean = self.class.known.mean_duration.get().map_or(0, Span::as_millis);
        let calls = part(self.config.slots.into(), MINUTE.as_millis(), mean);
        calls.saturating_mul(self.tariff.quantum.unsigned_abs()).max(1)
    }

    /// A wait, longer by what is expected to come and go before.
    pub(super) fn stretched(&self, wait: Span, ahead: &Ahead) -> Span {
        let known = ahead.cost.saturating_add(self.tariff.quantum.unsigned_abs()).max(1);
        wait.scaled(known.saturating_add(ahead.later), known)
    }

    /// The same of a wait for slots. If tokens are scarcer than slots, less
    /// comes in such a time.
    pub(super) fn stretched_by_slots(&self, wait: Span, ahead: &Ahead) -> Span {
        let later = part(ahead.later, self.capacity(), self.through_slots());
        self.stretched(wait, &Ahead { later, ..*ahead })
    }
}

const MINUTE: Span = Span::from_secs(60);
