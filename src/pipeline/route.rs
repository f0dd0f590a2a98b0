//! Which use case a request asks for.
use super::caller::plain_body;
use super::problem::Problem;
use super::query::Query;
use crate::domain::{BatchId, JobId, TenantId};

/// Every method and path there is; what is not here answers 404 or 405.
pub const ROUTES: [(&str, &str); 18] = [
    ("GET", "/healthz"),
    ("POST", "/jobs"),
    ("GET", "/jobs"),
    ("GET", "/jobs/:job"),
    ("DELETE", "/jobs/:job"),
    ("GET", "/jobs/:job/result"),
    ("POST", "/batches"),
    ("GET", "/batches"),
    ("GET", "/batches/:batch"),
    ("DELETE", "/batches/:batch"),
    ("POST", "/admin/tenants"),
    ("GET", "/admin/tenants"),
    ("GET", "/admin/tenants/:tenant"),
    ("PATCH", "/admin/tenants/:tenant"),
    ("POST", "/admin/tenants/:tenant/keys"),
    ("GET", "/admin/tenants/:tenant/keys"),
    ("DELETE", "/admin/tenants/:tenant/keys/:prefix"),
    ("GET", "/admin/audit"),
];

/// A request, by method and path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Route {
    /// Needs no key.
    Health,
    /// Needs the key of a tenant.
    Tenant(TenantRoute),
    /// A job's answer, which is streamed; needs the key of a tenant.
    Result(JobId),
    /// Needs the operator's token.
    Admin(AdminRoute),
}

/// What a tenant may ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TenantRoute {
    /// Submit a job.
    SubmitJob,
    /// List jobs.
    ListJobs,
    /// How a job stands.
    Job(JobId),
    /// Cancel a job, or purge it.
    DeleteJob(JobId),
    /// Submit PDFs.
    SubmitBatch,
    /// List batches.
    ListBatches,
    /// How a batch stands.
    Batch(BatchId),
    /// Cancel a batch's jobs, or purge them.
    DeleteBatch(BatchId),
}

/// What an operator may ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AdminRoute {
    /// Create a tenant.
    CreateTenant,
    /// List tenants.
    ListTenants,
    /// One tenant.
    Tenant(TenantId),
    /// Change a tenant.
    ChangeTenant(TenantId),
    /// Create a key.
    CreateKey(TenantId),
    /// List a tenant's keys.
    ListKeys(TenantId),
    /// Revoke the key of this prefix.
    RevokeKey(TenantId, String),
    /// What operators changed.
    Audit,
}

impl Route {
    /// Reads method and path. An id that is malformed answers like one that is
    /// unknown.
    ///
    /// # Errors
    ///
    /// 404 for a path nobody knows, 405 for a method it does not answer to.
    pub fn of(method: &str, path: &str) -> Result<Self, Problem> {
        let method = if method == "HEAD" { "GET" } else { method };
        let fits = |(_, template): &&(&str, &str)| matches(template, path);
        let here: Vec<_> = ROUTES.iter().filter(fits).collect();
        if here.is_empty() {
            return Err(Problem::not_found());
        }
        let Some((_, template)) = here.iter().find(|(known, _)| *known == method) else {
            let mut allowed: Vec<_> = here.iter().map(|(method, _)| *method).collect();
            if allowed.contains(&"GET") {
                allowed.push("HEAD");
            }
            return Err(Problem::method_not_allowed(allowed.join(", ")));
        };
        Self::at(method, template, path).ok_or_else(Problem::not_found)
    }

    fn at(method: &str, template: &str, path: &str) -> Option<Self> {
        let tenant = || TenantId::try_from(segment(path, 3)?.to_owned()).ok();
        Some(match (method, template) {
            ("GET", "/healthz") => Self::Health,
            ("GET", "/jobs/:job/result") => Self::Result(segment(path, 2)?.parse().ok()?),
            ("POST", "/admin/tenants") => Self::Admin(AdminRoute::CreateTenant),
            ("GET", "/admin/tenants") => Self::Admin(AdminRoute::ListTenants),
            ("GET", "/admin/tenants/:tenant") => Self::Admin(AdminRoute::Tenant(tenant()?)),
            ("PATCH", "/admin/tenants/:tenant") => Self::Admin(AdminRoute::ChangeTenant(tenant()?)),
            ("POST", "/admin/tenants/:tenant/keys") => {
                Self::Admin(AdminRoute::CreateKey(tenant()?))
            }
            ("GET", "/admin/tenants/:tenant/keys") => Self::Admin(AdminRoute::ListKeys(tenant()?)),
            ("DELETE", "/admin/tenants/:tenant/keys/:prefix") => {
                let prefix = segment(path, 5)?.to_owned();
                Self::Admin(AdminRoute::RevokeKey(tenant()?, prefix))
            }
            ("GET", "/admin/audit") => Self::Admin(AdminRoute::Audit),
            _ => Self::Tenant(TenantRoute::at(method, template, path)?),
        })
    }
}

impl TenantRoute {
    /// Whether a request says nothing in its URL that its route has no use for,
    /// and its body comes as it is.
    ///
    /// # Errors
    ///
    /// 400 that names the parameter, 415 that names the encoding.
    pub fn check(self, query: &Query, encoding: Option<&str>) -> Result<(), Problem> {
        match self {
            Self::SubmitJob | Self::SubmitBatch => {
                query.only(&[])?;
                plain_body(encoding)
            }
            Self::Job(_) | Self::Batch(_) => query.only(&[]),
            // Read by those who answer, and checked there.
            Self::ListJobs | Self::DeleteJob(_) | Self::ListBatches | Self::DeleteBatch(_) => {
                Ok(())
            }
        }
    }

    fn at(method: &str, template: &str, path: &str) -> Option<Self> {
        let job = || segment(path, 2)?.parse::<JobId>().ok();
        let batch = || segment(path, 2)?.parse::<BatchId>().ok();
        Some(match (method, template) {
            ("POST", "/jobs") => Self::SubmitJob,
            ("GET", "/jobs") => Self::ListJobs,
            ("GET", "/jobs/:job") => Self::Job(job()?),
            ("DELETE", "/jobs/:job") => Self::DeleteJob(job()?),
            ("POST", "/batches") => Self::SubmitBatch,
            ("GET", "/batches") => Self::ListBatches,
            ("GET", "/batches/:batch") => Self::Batch(batch()?),
            ("DELETE", "/batches/:batch") => Self::DeleteBatch(batch()?),
            _ => return None,
        })
    }
}

/// Whether a path has a template's form: a `:name` stands for any segment that
/// is not empty.
fn matches(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with(':') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

/// A path's segment; the one before the first slash, which is empty, is 0.
fn segment(path: &str, place: usize) -> Option<&str> {
    path.split('/').nth(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0001-7000-8000-000000000200";

    #[test]
    fn each_row_leads_to_a_use_case_of_its_own() {
        let mut seen = Vec::new();
        for (method, template) in ROUTES {
            let path = template.replace(":job", ID).replace(":batch", ID);
            let path = path.replace(":tenant", "acme").replace(":prefix", "cpk_1234");
            let route = Route::of(method, &path).unwrap();
            assert!(!seen.contains(&route), "{method} {path}");
            seen.push(route);
        }
    }

    #[test]
    fn ids_are_read_from_the_path() {
        let job = Route::Tenant(TenantRoute::Job(ID.parse().unwrap()));
        assert_eq!(Route::of("GET", &format!("/jobs/{ID}")), Ok(job.clone()));
        assert_eq!(Route::of("HEAD", &format!("/jobs/{ID}")), Ok(job));
        let acme = TenantId::try_from("acme".to_owned()).unwrap();
        assert_eq!(
            Route::of("DELETE", "/admin/tenants/acme/keys/cpk_1"),
            Ok(Route::Admin(AdminRoute::RevokeKey(acme, "cpk_1".to_owned())))
        );
    }

    #[test]
    fn a_malformed_id_answers_like_an_unknown_path() {
        for path in [
            "/jobs/x",
            "/jobs/",
            "/jobs//result",
            "/batches/1",
            "/",
            "",
            "/nowhere",
            "/jobs/x/y/z",
            "/admin",
            "/admin/tenants/NO",
        ] {
            assert_eq!(Route::of("GET", path), Err(Problem::not_found()), "{path}");
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
        let allowed = |method, path: &str| Route::of(method, path).unwrap_err().allowed;
        assert_eq!(allowed("PUT", "/jobs").as_deref(), Some("POST, GET, HEAD"));
        assert_eq!(allowed("POST", &format!("/jobs/{ID}/result")).as_deref(), Some("GET, HEAD"));
        assert_eq!(Route::of("PATCH", &format!("/jobs/{ID}")).unwrap_err().status, 405);
        assert_eq!(Route::of("POST", "/jobs/").unwrap_err().status, 404, "there is no such path");
    }
}
