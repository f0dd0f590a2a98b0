//! The small fields of a form, as text. What they mean is not decided here.
use super::{filename::clean, parts::Part};
use crate::pipeline::problem::Problem;
use std::mem;

/// The fields as sent. A field that is empty, as browsers send one that was
/// not filled in, counts as not sent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fields {
    /// The name of a prompt template.
    pub template: Option<String>,
    /// A prompt in place of a template.
    pub prompt: Option<String>,
    /// The model's id.
    pub model: Option<String>,
    /// The longest answer wanted, in tokens.
    pub max_tokens: Option<String>,
    /// Where the jobs come from.
    pub origin: Option<String>,
    /// How long the jobs may take.
    pub deadline_seconds: Option<String>,
    /// A lower priority than the concluded one.
    pub priority: Option<String>,
    /// The caller's own notes, JSON.
    pub metadata: Option<String>,
}

/// Fields that are still arriving.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<(&'static str, String)>);

impl Texts {
    /// Reads a part that is no file, or is one in the wrong field.
    pub(super) async fn read(&mut self, mut part: Part<'_>, no_files: bool) -> Result<(), Problem> {
        let Some((name, limit)) = ALLOWED.iter().find(|(name, _)| *name == part.name()) else {
            let misplaced = part.filename().is_some() || part.name() == "file";
            return Err(unknown(part.name(), no_files && misplaced));
        };
        if self.0.iter().any(|(known, _)| known == name) {
            return Err(Problem::field(*name, format!("the field `{name}` was sent twice")));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = part.chunk().await? {
            bytes.extend_from_slice(&chunk);
            // No character takes more than four bytes.
            if bytes.len() > limit * 4 {
                return Err(too_long(name, *limit));
            }
        }
        let not_text = |_| Problem::field(*name, format!("the field `{name}` is not UTF-8"));
        let text = String::from_utf8(bytes).map_err(not_text)?;
        if text.chars().count() > *limit {
            return Err(too_long(name, *limit));
        }
        self.0.push((name, text));
        Ok(())
    }

    pub(super) fn into_fields(mut self) -> Fields {
        let mut take = |name| {
            let (_, text) = self.0.iter_mut().find(|(known, _)| *known == name)?;
            Some(mem::take(text)).filter(|text| !text.is_empty())
        };
        Fields {
            template: take("template"),
            prompt: take("prompt"),
            model: take("model"),
            max_tokens: take("maxTokens"),
            origin: take("origin"),
            deadline_seconds: take("deadlineSeconds"),
            priority: take("priority"),
            metadata: take("metadata"),
        }
    }
}

fn unknown(name: &str, misplaced_files: bool) -> Problem {
    let name = clean(name);
    let allowed: Vec<_> = ALLOWED.iter().map(|(name, _)| format!("`{name}`")).collect();
    let hint = if misplaced_files { "no files in field `files`: " } else { "" };
    let detail = format!(
        "{hint}there is no field `{name}`; allowed are `files` (the PDFs), {}",
        allowed.join(", ")
    );
    Problem::field(name, detail)
}

fn too_long(name: &'static str, limit: usize) -> Problem {
    Problem::field(name, format!("the field `{name}` is longer than {limit} characters"))
}

/// Each field's name and its most characters.
const ALLOWED: [(&str, usize); 8] = [
    ("template", 64),
    ("prompt", 200_000),
    ("model", 128),
    ("maxTokens", 32),
    ("origin", 32),
    ("deadlineSeconds", 32),
    ("priority", 32),
    ("metadata", 16_384),
];
