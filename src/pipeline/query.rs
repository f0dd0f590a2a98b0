//! The query of a request's URL.
use super::problem::Problem;

/// Names and values, decoded, in the order sent.
#[derive(Clone, Debug, Default)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// The value of a parameter, if it was sent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(known, _)| known == name);
        value.map(|(_, value)| value.as_str())
    }

    /// Whether nothing but these parameters was sent, each once, and none
    /// empty: a script whose variable is not set means something else than to
    /// say nothing.
    ///
    /// # Errors
    ///
    /// 400 that names the parameter.
    pub fn only(&self, allowed: &[&str]) -> Result<(), Problem> {
        for (at, (name, value)) in self.0.iter().enumerate() {
            if !allowed.contains(&name.as_str()) {
                let known = match allowed {
                    [] => "there are none here".to_owned(),
                    _ => format!("allowed are {}", allowed.join(", ")),
                };
                return Err(Problem::field(name, format!("unknown parameter `{name}`; {known}")));
            }
            if self.0.iter().take(at).any(|(before, _)| before == name) {
                return Err(Problem::field(name, format!("`{name}` was sent twice")));
            }
            if value.is_empty() {
                let detail = format!("`{name}` is empty: say something, or leave it out");
                return Err(Problem::field(name, detail));
            }
        }
        Ok(())
    }

    /// How many rows a page may have: `limit`, 1 to 100; 20 if nothing is said.
    ///
    /// # Errors
    ///
    /// 400 for anything else.
    pub fn limit(&self) -> Result<u32, Problem> {
        let Some(value) = self.get("limit") else { return Ok(DEFAULT_LIMIT) };
        let limit = value.parse().ok().filter(|limit| (1..=MOST_LIMIT).contains(limit));
        let detail = || format!("`limit` must be a whole number from 1 to {MOST_LIMIT}");
        limit.ok_or_else(|| Problem::field("limit", detail()))
    }

    /// Whether a `DELETE` is to remove content: `purge=true`.
    ///
    /// # Errors
    ///
    /// 400 for another word or parameter.
    pub fn purges(&self) -> Result<bool, Problem> {
        self.only(&["purge"])?;
        Ok(self.word("purge", &[("true", true), ("false", false)])?.unwrap_or(false))
    }

    /// A parameter that must be one of some words.
    ///
    /// # Errors
    ///
    /// 400 that says which words are allowed.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let known = words.iter().find(|(word, _)| *word == value).map(|(_, meant)| *meant);
        let allowed = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let detail = || format!("`{name}` must be one of {}", allowed());
        known.map(Some).ok_or_else(|| Problem::field(name, detail()))
    }
}

/// Cuts off what is not on the page; the page's last row if there was more.
pub(super) fn cut<T>(rows: &mut Vec<T>, limit: u32) -> Option<&T> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    rows.last().filter(|_| more)
}

const DEFAULT_LIMIT: u32 = 20;
const MOST_LIMIT: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        Query(pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let detail = |query: Query| query.only(&["limit", "status"]).unwrap_err().detail;
        let unknown = detail(query(&[("limit", "1"), ("colour", "red")]));
        assert_eq!(unknown, "unknown parameter `colour`; allowed are limit, status");
        assert_eq!(detail(query(&[("limit", "1"), ("limit", "2")])), "`limit` was sent twice");
        let nothing = query(&[("purge", "true")]).only(&[]).unwrap_err().detail;
        assert_eq!(nothing, "unknown parameter `purge`; there are none here");
    }

    #[test]
    fn what_is_empty_is_refused() {
        for name in ["limit", "status"] {
            let problem = query(&[(name, "")]).only(&["limit", "status"]).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some(name));
        }
        assert_eq!(query(&[("purge", "")]).purges().unwrap_err().status, 400);
    }

    #[test]
    fn a_page_has_a_bound() {
        assert_eq!(query(&[]).limit().unwrap(), 20);
        assert_eq!(query(&[("limit", "100")]).limit().unwrap(), 100);
        for wrong in ["0", "101", "-1", "many", "1.5"] {
            assert_eq!(query(&[("limit", wrong)]).limit().unwrap_err().status, 400, "{wrong}");
        }
    }

    #[test]
    fn a_page_tells_where_the_next_begins() {
        let mut rows = vec![1, 2, 3];
        assert_eq!(cut(&mut rows, 3), None);
        assert_eq!(cut(&mut rows, 2), Some(&2));
        assert_eq!(rows, [1, 2]);
        assert_eq!(cut(&mut Vec::<u8>::new(), 2), None);
    }

    #[test]
    fn a_word_is_one_of_those_known() {
        let words = [("yes", true), ("no", false)];
        assert_eq!(query(&[("a", "no")]).word("a", &words).unwrap(), Some(false));
        assert_eq!(query(&[]).word("a", &words).unwrap(), None);
        let detail = query(&[("a", "x")]).word("a", &words).unwrap_err().detail;
        assert_eq!(detail, "`a` must be one of yes, no");
    }
}
