//! Models that share one upstream limit.
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// A set of models whose calls draw on the same three buckets: Sonnet 4.5 and
/// 4.6 share one, Opus 4.5 to 4.8 share one; every other model has its own.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(from = "String", into = "String")]
pub struct ModelClass(Arc<str>);

impl ModelClass {
    /// The class of a model id, dated or not.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = undated(model);
        let shared =
            SHARED.iter().find(|(_, members)| members.contains(&name)).map(|(class, _)| *class);
        Self(shared.unwrap_or(name).into())
    }

    /// The class's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ModelClass {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<ModelClass> for String {
    fn from(class: ModelClass) -> Self {
        (*class.0).to_owned()
    }
}

impl fmt::Display for ModelClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `claude-haiku-4-5-20251001` and `claude-haiku-4-5` are one model.
fn undated(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => model,
    }
}

const SHARED: &[(&str, &[&str])] = &[
    ("claude-sonnet-4", &["claude-sonnet-4-5", "claude-sonnet-4-6"]),
    (
        "claude-opus-4",
        &["claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_share_a_limit_share_a_class() {
        let class = |model: &str| ModelClass::of(model).as_str().to_owned();
        assert_eq!(class("claude-sonnet-4-6"), class("claude-sonnet-4-5-20250929"));
        assert_eq!(class("claude-haiku-4-5-20251001"), "claude-haiku-4-5");
        assert_ne!(class("claude-opus-5"), class("claude-opus-4-8"));
    }
}
