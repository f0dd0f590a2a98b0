//! Why bytes are not the JSON we take.
use crate::pipeline::problem::Problem;

/// What is wrong, and which byte shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// Counted from the start of the slice at hand.
    at: usize,
    why: Why,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    NotAnObject,
    Syntax(&'static str),
    Ended(&'static str),
    TooDeep(u8),
}

impl Fault {
    /// The body begins with something else than `{`.
    pub(super) fn not_an_object() -> Self {
        Self { at: 0, why: Why::NotAnObject }
    }

    /// A byte that the grammar does not allow.
    pub(super) fn syntax(at: usize, why: &'static str) -> Self {
        Self { at, why: Why::Syntax(why) }
    }

    /// The body ends here, and should not.
    pub(super) fn ended(why: &'static str) -> Self {
        Self { at: 0, why: Why::Ended(why) }
    }

    /// One level too many.
    pub(super) fn too_deep(limit: u8) -> Self {
        Self { at: 0, why: Why::TooDeep(limit) }
    }

    /// The same, if the slice is the rest of one from byte `read` on.
    pub(super) fn later(self, read: usize) -> Self {
        Self { at: self.at + read, ..self }
    }

    /// What the caller is told, if the slice began at `offset` of the body.
    pub(super) fn problem(self, offset: u64) -> Problem {
        let at = offset.saturating_add(self.at as u64);
        Problem::invalid(match self.why {
            Why::NotAnObject => {
                format!("the body must be a JSON object: expected '{{' at byte {at}")
            }
            Why::Syntax(why) => format!("the body is not valid JSON at byte {at}: {why}"),
            Why::Ended(_) if at == 0 => "the body is empty: expected a JSON object".to_owned(),
            Why::Ended(why) => {
                format!("the body is not valid JSON at byte {at}: {why}, but it ends there")
            }
            Why::TooDeep(limit) => {
                format!("the body is nested more than {limit} levels deep at byte {at}")
            }
        })
    }
}
