//! A result on its way to its owner, streamed from R2.
use super::reply;
use super::shell::Shell;
use crate::claude::Join;
use crate::domain::JobId;
use crate::pipeline::input::{message_key, result_key};
use crate::pipeline::problem::Problem;
use crate::pipeline::read::Format;
use crate::pipeline::result::MESSAGE;
use futures_util::{Stream, StreamExt, stream::unfold};
use worker::{ByteStream, Error, Headers, Object, Response, ResponseBuilder, Result};

/// The result in the wanted form.
pub(super) async fn answer(shell: &Shell, job: JobId, format: Format) -> Result<Response> {
    let Some(object) = shell.bucket()?.get(result_key(job)).execute().await? else {
        worker::console_error!("the result of {job} is gone");
        return reply::problem(&Problem::internal());
    };
    match format {
        Format::Text => text(&object),
        Format::Message => message(shell, job, &object).await,
    }
}

fn text(object: &Object) -> Result<Response> {
    let body = object.body().ok_or("a result without a body")?.response_body()?;
    Ok(typed("text/plain; charset=utf-8")?.body(body))
}

async fn message(shell: &Shell, job: JobId, object: &Object) -> Result<Response> {
    let skeleton = match object.custom_metadata()?.remove(MESSAGE) {
        Some(skeleton) => skeleton,
        None => large_skeleton(shell, job).await?,
    };
    let join = Join::new(&skeleton).map_err(|fault| Error::RustError(fault.to_string()))?;
    let text = object.body().ok_or("a result without a body")?.stream()?;
    typed("application/json")?.from_stream(joined(join, text))
}

async fn large_skeleton(shell: &Shell, job: JobId) -> Result<String> {
    let object = shell.bucket()?.get(message_key(job)).execute().await?;
    let object = object.ok_or("the rest of a message is gone")?;
    object.body().ok_or("the rest of a message is empty")?.text().await
}

/// The message, put together while its text passes by.
fn joined(join: Join, text: ByteStream) -> impl Stream<Item = Result<Vec<u8>>> {
    unfold(Some((join, text)), |state| async {
        let (mut join, mut text) = state?;
        let mut out = Vec::new();
        let fault = |fault: crate::claude::JoinFault| Error::RustError(fault.to_string());
        match text.next().await {
            Some(Ok(chunk)) => match join.push(&chunk, &mut out) {
                Ok(()) => Some((Ok(out), Some((join, text)))),
                Err(wrong) => Some((Err(fault(wrong)), None)),
            },
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((join.finish(&mut out).map(|()| out).map_err(fault), None)),
        }
    })
}

fn typed(content_type: &str) -> Result<ResponseBuilder> {
    let headers = Headers::new();
    headers.set("content-type", content_type)?;
    Ok(ResponseBuilder::new().with_headers(headers))
}
