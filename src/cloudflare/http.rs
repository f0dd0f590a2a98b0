//! The routes, over the Worker's own request type, so that streams keep their
//! length.
use super::body::Body;
use super::shell::Shell;
use super::{health, reply, result_reply};
use crate::domain::{BatchId, JobId};
use crate::pipeline::caller::{Caller, KeyCache, recognise};
use crate::pipeline::ports::Ambient;
use crate::pipeline::problem::Problem;
use crate::pipeline::read::{self, Format};
use crate::pipeline::route::Route;
use crate::pipeline::submit::submit;
use crate::pipeline::submit_batch::submit_batch;
use crate::pipeline::upload::Permits;
use crate::pipeline::view::{JobView, ask_again};
use serde_json::value::RawValue;
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
    let route = match Route::of(request.method().as_ref(), &request.path()) {
        Ok(Route::Health) => return health::answer(shell).await,
        Ok(route) => route,
        Err(problem) => return reply::problem(&problem),
    };
    let header = |name: &str| request.headers().get(name).ok().flatten();
    let caller = match recognise(shell, &KEYS.with(Rc::clone), header).await {
        Ok(caller) => caller,
        Err(problem) => return reply::problem(&problem),
    };
    let answered = match route {
        Route::Health => return health::answer(shell).await,
        Route::SubmitJob => submit_job(shell, &caller, body).await,
        Route::SubmitBatch => submit_files(shell, &caller, request, body).await,
        Route::Job(job) => read_job(shell, &caller, job).await,
        Route::JobResult(job) => read_result(shell, &caller, job, request).await,
        Route::Batch(batch) => read_batch(shell, &caller, batch).await,
    };
    match answered {
        Ok(response) => response,
        Err(problem) => reply::problem(&problem),
    }
}

/// A response, or why there is none.
type Answered = std::result::Result<Result<Response>, Problem>;

async fn submit_job(shell: &Shell, caller: &Caller, body: &Body) -> Answered {
    let body = body.chunks();
    let accepted = submit(shell, &shell.settings, &PERMITS, caller, body).await?;
    Ok(reply::accepted(&accepted, accepted.poll_url()))
}

async fn submit_files(shell: &Shell, caller: &Caller, request: &Request, body: &Body) -> Answered {
    let content_type = request.headers().get("content-type").ok().flatten().unwrap_or_default();
    let body = body.chunks();
    let accepted =
        submit_batch(shell, &shell.settings, &PERMITS, caller, &content_type, body).await?;
    Ok(reply::accepted(&accepted, accepted.poll_url()))
}

async fn read_job(shell: &Shell, caller: &Caller, job: JobId) -> Answered {
    let row = read::job(shell, caller, job).await?;
    let again = (!row.status.ended()).then(|| ask_again(row.created_at, shell.now()));
    let explained = if row.waits_after_a_fault() { explain(shell, job).await } else { None };
    Ok(reply::unfinished(&JobView::from(row).waiting_for(explained), again))
}

/// What the scheduler says a job waits for. Not knowing is no reason to refuse
/// the rest.
async fn explain(shell: &Shell, job: JobId) -> Option<Box<RawValue>> {
    let mut response = shell.ask_object(&format!("/explain/{job}"), None).await.ok()?;
    let text = response.text().await.ok()?;
    RawValue::from_string(text).ok().filter(|said| said.get() != "null")
}

async fn read_result(shell: &Shell, caller: &Caller, job: JobId, request: &Request) -> Answered {
    let format = Format::of(parameter(request, "format").as_deref())?;
    let row = read::job(shell, caller, job).await?;
    read::has_result(&row)?;
    Ok(result_reply::answer(shell, job, format).await)
}

async fn read_batch(shell: &Shell, caller: &Caller, batch: BatchId) -> Answered {
    let view = read::batch(shell, caller, batch).await?;
    let again = (!view.ended()).then(|| ask_again(view.created_at(), shell.now()));
    Ok(reply::unfinished(&view, again))
}

fn parameter(request: &Request, name: &str) -> Option<String> {
    web_sys::Url::new(&request.inner().url()).ok()?.search_params().get(name)
}
