//! Where Cloudflare calls: requests, the clock, and (in `queues`) messages.
use super::fault;
use super::http::answer;
use super::reply;
use super::shell::{Shell, Work};
use crate::pipeline::ports::Ambient;
use crate::pipeline::problem::Problem;
use futures_util::FutureExt;
use std::rc::Rc;
use worker::{Context, Env, Request, Response, Result, ScheduleContext, ScheduledEvent, event};

/// The work of a request goes on when its caller hangs up: it has permits to
/// give back and objects to take away again.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let context = Rc::new(context);
    let (work, response) = serve(request, env, Rc::clone(&context)).remote_handle();
    context.wait_until::<Work>(Box::pin(work));
    response.await
}

async fn serve(request: Request, env: Env, context: Rc<Context>) -> Result<Response> {
    let shell = match Shell::new(env, Some(context)) {
        Ok(shell) => shell,
        Err(error) => {
            worker::console_error!("the Worker is misconfigured: {error}");
            return reply::problem(&Problem::misconfigured());
        }
    };
    if fault::wanted(&shell, request.headers()).is_some() {
        fault::now("fetch");
    }
    let request_id = format!("{:016x}", shell.chance().0);
    let response = match answer(&shell, request).await {
        Ok(response) => response,
        Err(error) => {
            worker::console_error!("request {request_id} failed: {error}");
            reply::problem(&Problem::internal())?
        }
    };
    Ok(reply::sign(response, &request_id))
}

/// Every minute: the sweep runs inside the scheduler object, which knows what
/// it knows.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let swept = async {
        let shell = Shell::new(env, None)?;
        shell.ask_object("/sweep", Some(String::new())).await?.text().await
    };
    if let Err(error) = swept.await {
        worker::console_error!("the sweep failed: {error}");
    }
}
