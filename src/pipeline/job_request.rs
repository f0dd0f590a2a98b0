//! The fields of a job, as its submitter wrote them: checked before any cost,
//! the field at fault named.
use super::field::{number, text};
use super::problem::Problem;
use crate::domain::{Origin, Priority, Span};
use serde_json::Value;
use utoipa::ToSchema;

/// Fields that `POST /jobs` and `POST /batches` share, checked.
#[derive(Clone, Debug, Default, Eq, PartialEq, ToSchema)]
pub struct Wishes {
    /// Where the job comes from. With the deadline it decides the priority.
    pub origin: Option<Origin>,
    /// How long the job can wait.
    #[schema(rename = "deadlineSeconds", value_type = Option<u64>, minimum = 1, maximum = 31_536_000)]
    pub deadline: Option<Span>,
    /// `bulk` lowers the concluded priority; `high` is ignored.
    #[schema(rename = "priority", value_type = Option<String>, pattern = "^(bulk|high)$")]
    pub lowered: bool,
    /// The model's id.
    #[schema(min_length = 1, max_length = 100)]
    pub model: Option<String>,
    /// The longest answer wanted, in tokens.
    #[schema(rename = "maxTokens", minimum = 1, maximum = 1_000_000)]
    pub max_tokens: Option<u32>,
    /// What Claude is asked; not blank.
    #[schema(min_length = 1, max_length = 200_000)]
    pub prompt: Option<String>,
    /// The system prompt.
    #[schema(max_length = 200_000)]
    pub system: Option<String>,
    /// The caller's own notes: any JSON of at most 4,096 bytes, as it was.
    #[schema(value_type = Option<serde_json::Value>)]
    pub metadata: Option<String>,
}

impl Wishes {
    /// Names [`Wishes::set`] knows.
    pub const FIELDS: [&str; 8] = [
        "prompt",
        "model",
        "maxTokens",
        "system",
        "origin",
        "deadlineSeconds",
        "priority",
        "metadata",
    ];

    /// Takes one field, given as JSON text. `null` is the same as absent.
    ///
    /// # Errors
    ///
    /// 400 or 413 that names the field and says what is allowed.
    pub fn set(&mut self, name: &str, json: &str) -> Result<(), Problem> {
        let value: Value = serde_json::from_str(json).map_err(|error| {
            Problem::field(name, format!("`{name}` is not valid JSON: {error}"))
        })?;
        if value.is_null() {
            return Ok(());
        }
        match name {
            "prompt" => self.prompt = Some(checked_prompt(text(name, &value)?)?),
            "system" => self.system = Some(checked_system(text(name, &value)?)?),
            "model" => self.model = Some(checked_model(name, text(name, &value)?)?),
            "maxTokens" => {
                let most = number(name, &value, 1, MOST_TOKENS.into())?;
                self.max_tokens = u32::try_from(most).ok();
            }
            "origin" => self.origin = Some(origin(text(name, &value)?)?),
            "deadlineSeconds" => {
                self.deadline = Some(Span::from_secs(number(name, &value, 1, YEAR)?));
            }
            "priority" => self.lowered = lowered(text(name, &value)?)?,
            "metadata" => self.metadata = Some(metadata(json)?),
            unknown => return Err(unknown_field(unknown)),
        }
        Ok(())
    }

    /// Whether nothing is said here that belongs into the `request`.
    ///
    /// # Errors
    ///
    /// 400 that names the field.
    pub fn only_beside_request(&self) -> Result<(), Problem> {
        let inside = [
            ("prompt", "messages", self.prompt.is_some()),
            ("model", "model", self.model.is_some()),
            ("maxTokens", "max_tokens", self.max_tokens.is_some()),
            ("system", "system", self.system.is_some()),
        ];
        match inside.into_iter().find(|(_, _, said)| *said) {
            None => Ok(()),
            Some((name, twin, _)) => {
                let detail = format!("beside `request`, say `{name}` as `request.{twin}`");
                Err(Problem::field(name, detail))
            }
        }
    }

    /// The priority the service concludes.
    #[must_use]
    pub fn priority(&self, origin: Origin) -> Priority {
        origin.priority(self.deadline, self.lowered)
    }
}

/// 400 for a field nobody knows.
#[must_use]
pub fn unknown_field(name: &str) -> Problem {
    let known = Wishes::FIELDS.join(", ");
    Problem::field(name, format!("unknown field `{name}`; allowed are request, {known}"))
}

/// Checks a model's name.
///
/// # Errors
///
/// 400 that names the field.
pub fn checked_model(field: &str, model: &str) -> Result<String, Problem> {
    let plain = model.bytes().all(|byte| byte.is_ascii_graphic());
    if plain && (1..=MODEL_BYTES).contains(&model.len()) {
        return Ok(model.to_owned());
    }
    let detail = format!("`{field}` must be a model id of 1 to {MODEL_BYTES} ASCII characters");
    Err(Problem::field(field, detail))
}

fn checked_prompt(prompt: &str) -> Result<String, Problem> {
    if prompt.trim().is_empty() {
        return Err(Problem::field("prompt", "`prompt` must not be empty"));
    }
    bounded("prompt", prompt)
}

fn checked_system(system: &str) -> Result<String, Problem> {
    bounded("system", system)
}

fn bounded(name: &str, value: &str) -> Result<String, Problem> {
    let characters = value.chars().count();
    if characters <= PROMPT_CHARACTERS {
        return Ok(value.to_owned());
    }
    let detail =
        format!("`{name}` has {characters} characters; at most {PROMPT_CHARACTERS} are allowed");
    Err(Problem::field(name, detail))
}

fn origin(word: &str) -> Result<Origin, Problem> {
    Origin::from_word(word).ok_or_else(|| {
        let words = Origin::ALL.map(Origin::as_str).join(", ");
        Problem::field("origin", format!("`origin` must be one of {words}"))
    })
}

/// `high` is ignored: a caller cannot raise its own priority.
fn lowered(word: &str) -> Result<bool, Problem> {
    match word {
        "bulk" => Ok(true),
        "high" => Ok(false),
        _ => Err(Problem::field(
            "priority",
            "`priority` must be `bulk` (or `high`, which is ignored)",
        )),
    }
}

fn metadata(json: &str) -> Result<String, Problem> {
    if json.len() > METADATA_BYTES {
        let detail = format!("`metadata` has {} bytes; at most {METADATA_BYTES}", json.len());
        return Err(Problem::field("metadata", detail));
    }
    Ok(json.to_owned())
}

/// Mission A2.
const PROMPT_CHARACTERS: usize = 200_000;
const MODEL_BYTES: usize = 100;
const METADATA_BYTES: usize = 4_096;
/// Above what any model can produce.
const MOST_TOKENS: u32 = 1_000_000;
const YEAR: u64 = 31_536_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, json: &str) -> String {
        Wishes::default().set(name, json).unwrap_err().detail
    }

    #[test]
    fn each_refusal_names_the_field_and_what_is_allowed() {
        assert_eq!(refusal("prompt", r#""  ""#), "`prompt` must not be empty");
        assert_eq!(refusal("prompt", "7"), "`prompt` must be a string, not a number");
        assert_eq!(
            refusal("maxTokens", "0"),
            "`maxTokens` must be a whole number from 1 to 1000000, not 0"
        );
        assert_eq!(
            refusal("deadlineSeconds", r#""soon""#),
            "`deadlineSeconds` must be a whole number from 1 to 31536000, not a string"
        );
        assert_eq!(
            refusal("origin", r#""me""#),
            "`origin` must be one of user_action, scheduled, batch_job"
        );
        let long = format!("{:?}", "x".repeat(4_095));
        assert_eq!(refusal("metadata", &long), "`metadata` has 4097 bytes; at most 4096");
        assert!(refusal("colour", "1").starts_with("unknown field `colour`; allowed are request,"));
    }

    #[test]
    fn the_longest_prompt_is_counted_in_characters() {
        let prompt = |characters| format!("{:?}", "漢".repeat(characters));
        assert!(Wishes::default().set("prompt", &prompt(200_000)).is_ok());
        assert!(refusal("prompt", &prompt(200_001)).contains("200001 characters"));
    }

    #[test]
    fn a_caller_can_lower_its_priority_and_never_raise_it() {
        let mut wishes = Wishes::default();
        wishes.set("priority", r#""high""#).unwrap();
        assert_eq!(wishes.priority(Origin::BatchJob), Priority::Batch);
        wishes.set("priority", r#""bulk""#).unwrap();
        assert_eq!(wishes.priority(Origin::UserAction), Priority::Batch);
    }

    #[test]
    fn null_is_absent() {
        let mut wishes = Wishes::default();
        for name in Wishes::FIELDS {
            wishes.set(name, "null").unwrap();
        }
        assert_eq!(wishes, Wishes::default());
    }
}
