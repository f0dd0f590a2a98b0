//! Prompt templates, by name. A name includes a version and its text never
//! changes afterwards: the name alone tells what was asked. A caller's own `prompt`
//! takes the place of the text entirely.
use super::problem::Problem;

/// A prompt with a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Template {
    /// Its name and version.
    pub(super) name: &'static str,
    /// The whole prompt.
    pub(super) text: &'static str,
}

impl Template {
    /// What a form means that names none.
    pub(super) const DEFAULT: Self = Self {
        name: "pdf-summarize-v1",
        text: include_str!("../../templates/pdf-summarize-v1.md"),
    };

    /// Every template.
    pub(super) const ALL: [Self; 1] = [Self::DEFAULT];

    /// The template of that name; without a name, the default.
    ///
    /// # Errors
    ///
    /// 400 that lists the names there are.
    pub(super) fn named(name: Option<&str>) -> Result<Self, Problem> {
        let Some(name) = name else {
            return Ok(Self::DEFAULT);
        };
        let found = Self::ALL.into_iter().find(|template| template.name == name);
        found.ok_or_else(|| unknown(name))
    }

    /// The names of all templates.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|template| template.name)
    }
}

fn unknown(name: &str) -> Problem {
    let names: Vec<_> = Template::names().collect();
    let detail = format!("there is no template {name:?}; there are: {}", names.join(", "));
    Problem::field("template", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_template_is_found_by_its_own_name() {
        for template in Template::ALL {
            assert_eq!(Template::named(Some(template.name)), Ok(template));
            assert!(!template.text.trim().is_empty());
        }
        assert_eq!(Template::names().collect::<BTreeSet<_>>().len(), Template::ALL.len());
    }

    #[test]
    fn an_unknown_template_is_refused_with_the_names_there_are() {
        assert_eq!(Template::named(None), Ok(Template::DEFAULT));
        let problem = Template::named(Some("pdf-summarise")).unwrap_err();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("template")));
        assert!(problem.detail.ends_with("there are: pdf-summarize-v1"));
    }
}
