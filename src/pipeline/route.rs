//! Which use case a request asks for.
use super::problem::Problem;
use crate::domain::{BatchId, JobId};

/// A request, by method and path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Route {
    /// `GET /healthz`; needs no key.
    Health,
    /// `POST /jobs`
    SubmitJob,
    /// `GET /jobs/:id`
    Job(JobId),
    /// `GET /jobs/:id/result`
    JobResult(JobId),
    /// `POST /batches`
    SubmitBatch,
    /// `GET /batches/:id`
    Batch(BatchId),
}

impl Route {
    /// Reads method and path. An id that is malformed answers like one that is
    /// unknown.
    ///
    /// # Errors
    ///
    /// 404 for a path nobody knows, 405 for a method it does not answer to.
    pub fn of(method: &str, path: &str) -> Result<Self, Problem> {
        let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        let job = |id: &str| id.parse::<JobId>().map_err(|_| Problem::not_found());
        let batch = |id: &str| id.parse::<BatchId>().map_err(|_| Problem::not_found());
        match segments.as_slice() {
            ["healthz"] => only("GET", method).map(|()| Self::Health),
            ["jobs"] => only("POST", method).map(|()| Self::SubmitJob),
            ["jobs", id] => only("GET", method).and_then(|()| job(id)).map(Self::Job),
            ["jobs", id, "result"] => {
                only("GET", method).and_then(|()| job(id)).map(Self::JobResult)
            }
            ["batches"] => only("POST", method).map(|()| Self::SubmitBatch),
            ["batches", id] => only("GET", method).and_then(|()| batch(id)).map(Self::Batch),
            _ => Err(Problem::not_found()),
        }
    }
}

fn only(allowed: &'static str, method: &str) -> Result<(), Problem> {
    let fits = method == allowed || (allowed == "GET" && method == "HEAD");
    if fits { Ok(()) } else { Err(Problem::method_not_allowed(allowed)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0001-7000-8000-000000000200";

    #[test]
    fn each_path_leads_to_its_use_case() {
        assert_eq!(Route::of("GET", "/healthz"), Ok(Route::Health));
        assert_eq!(Route::of("POST", "/jobs"), Ok(Route::SubmitJob));
        assert_eq!(Route::of("GET", &format!("/jobs/{ID}")), Ok(Route::Job(ID.parse().unwrap())));
        assert_eq!(
            Route::of("GET", &format!("/jobs/{ID}/result")),
            Ok(Route::JobResult(ID.parse().unwrap()))
        );
        assert_eq!(
            Route::of("HEAD", &format!("/batches/{ID}")),
            Ok(Route::Batch(ID.parse().unwrap()))
        );
    }

    #[test]
    fn a_malformed_id_answers_like_an_unknown_path() {
        for path in
            ["/jobs/x", "/jobs/", "/jobs//result", "/batches/1", "/", "/nowhere", "/jobs/x/y/z"]
        {
            assert_eq!(Route::of("GET", path), Err(Problem::not_found()), "{path}");
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_one() {
        assert_eq!(Route::of("GET", "/jobs").unwrap_err().allowed, Some("POST"));
        assert_eq!(Route::of("DELETE", &format!("/jobs/{ID}")).unwrap_err().status, 405);
    }
}
