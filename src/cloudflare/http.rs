//! The routes, over the Worker's own request type, so that streams keep their
//! length.
use super::body::Body;
use super::shell::Shell;
use super::{health, reply, result_reply};
use crate::domain::JobId;
use crate::pipeline::answer::Answered;
use crate::pipeline::caller::{Caller, KeyCache, recognise};
use crate::pipeline::ports::Ambient;
use crate::pipeline::problem::Problem;
use crate::pipeline::query::Query;
use crate::pipeline::read::{self, Format};
use crate::pipeline::route::{AdminRoute, Route, TenantRoute};
use crate::pipeline::submit::submit;
use crate::pipeline::submit_batch::submit_batch;
use crate::pipeline::upload::Permits;
use crate::pipeline::{admin, cancel, list, purge};
use std::rc::Rc;
use worker::{Request, Response, Result};

thread_local! {
    static KEYS: Rc<KeyCache> = Rc::default();
}

/// Three part buffers at once: 15 MiB of an isolate's 128.
static PERMITS: Permits = Permits::new(3);

/// Answers a request. One that is refused is read to its end first.
pub(super) async fn answer(shell: &Shell, mut request: Request) -> Result<Response> {
    let body = Body::of(&mut request);
    let response = respond(shell, &request, &body).await?;
    if response.status_code() >= 400 {
        body.drain().await;
    }
    Ok(response)
}

async fn respond(shell: &Shell, request: &Request, body: &Body) -> Result<Response> {
    let asked = Asked { shell, request, body };
    let answered = match Route::of(request.method().as_ref(), &request.path()) {
        Ok(Route::Health) => return health::answer(shell).await,
        Ok(Route::Result(job)) => match asked.result(job).await {
            Ok(format) => return result_reply::answer(shell, job, format).await,
            Err(problem) => Err(problem),
        },
        Ok(Route::Tenant(route)) => asked.tenant(route).await,
        Ok(Route::Admin(route)) => asked.operator(route).await,
        Err(problem) => Err(problem),
    };
    reply::answered(answered, shell.chance())
}

/// A request that has a route.
struct Asked<'a> {
    shell: &'a Shell,
    request: &'a Request,
    body: &'a Body,
}

impl Asked<'_> {
    async fn tenant(&self, route: TenantRoute) -> Answered {
        let (shell, query, caller) = (self.shell, self.query(), &self.caller().await?);
        route.check(&query, self.header("content-encoding").as_deref())?;
        match route {
            TenantRoute::SubmitJob => {
                let body = self.body.chunks();
                let accepted = submit(shell, &shell.settings, &PERMITS, caller, body).await?;
                Ok(read::after(shell, caller, accepted).await)
            }
            TenantRoute::SubmitBatch => {
                let kind = self.header("content-type").unwrap_or_default();
                let body = self.body.chunks();
                submit_batch(shell, &shell.settings, &PERMITS, caller, &kind, body).await
            }
            TenantRoute::ListJobs => list::jobs(shell, caller, &query).await,
            TenantRoute::ListBatches => list::batches(shell, caller, &query).await,
            TenantRoute::Job(job) => read::show(shell, caller, job).await,
            TenantRoute::Batch(batch) => read::batch(shell, caller, batch).await,
            TenantRoute::DeleteJob(job) if query.purges()? => purge::job(shell, caller, job).await,
            TenantRoute::DeleteJob(job) => cancel::job(shell, caller, job).await,
            TenantRoute::DeleteBatch(batch) if query.purges()? => {
                purge::batch(shell, caller, batch).await
            }
            TenantRoute::DeleteBatch(batch) => cancel::batch(shell, caller, batch).await,
        }
    }

    async fn operator(&self, route: AdminRoute) -> Answered {
        let token = self.shell.variable("ADMIN_TOKEN");
        admin::authorize(|name| self.header(name), token.as_deref())?;
        let body =
            admin::body(self.body.chunks(), self.header("content-encoding").as_deref()).await?;
        admin::answer(self.shell, route, &self.query(), &body).await
    }

    async fn result(&self, job: JobId) -> std::result::Result<Format, Problem> {
        read::result(self.shell, &self.caller().await?, job, &self.query()).await
    }

    async fn caller(&self) -> std::result::Result<Caller, Problem> {
        recognise(self.shell, &KEYS.with(Rc::clone), |name| self.header(name)).await
    }

    fn header(&self, name: &str) -> Option<String> {
        self.request.headers().get(name).ok().flatten()
    }

    fn query(&self) -> Query {
        let url = web_sys::Url::new(&self.request.inner().url());
        let Ok(entries) = url.map(|url| js_sys::Array::from(&url.search_params())) else {
            return Query::default();
        };
        let text = |pair: &js_sys::Array, at| pair.get(at).as_string().unwrap_or_default();
        let pair = |entry| {
            let pair = js_sys::Array::from(&entry);
            (text(&pair, 0), text(&pair, 1))
        };
        Query(entries.iter().map(pair).collect())
    }
}
