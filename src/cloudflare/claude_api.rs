//! The Messages API behind the `Claude` port.
use super::fault;
use super::pdf_stream::encoded;
use super::shell::{Shell, outbound};
use crate::claude::{CallFailure, key_header};
use crate::domain::Span;
use crate::pipeline::ports::{Call, CallBody, Claude, Reply};
use bytes::Bytes;
use futures_util::Stream;
use js_sys::Uint8Array;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use worker::worker_sys::FixedLengthStream as JsFixedLengthStream;
use worker::{AbortSignal, ByteStream, Error, Fetch, FixedLengthStream, Object, Request};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = AbortSignal, js_name = timeout)]
    fn timeout(millis: f64) -> web_sys::AbortSignal;
    #[wasm_bindgen(js_namespace = AbortSignal, js_name = any)]
    fn any(signals: &js_sys::Array) -> web_sys::AbortSignal;

    type AbortController;
    #[wasm_bindgen(constructor)]
    fn new() -> AbortController;
    #[wasm_bindgen(method, getter)]
    fn signal(this: &AbortController) -> JsValue;
    #[wasm_bindgen(method)]
    fn abort(this: &AbortController);
}

/// A call that is given up when this is dropped: what was not read of its
/// answer is not sent to its end.
struct Given(AbortController);

impl Given {
    fn up_after(&self, span: Span) -> AbortSignal {
        let late = timeout(millis(span));
        any(&js_sys::Array::of2(&self.0.signal(), &late)).into()
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A signal that aborts after `span`; it covers the body too.
pub(super) fn ends_after(span: Span) -> AbortSignal {
    timeout(millis(span)).into()
}

#[allow(clippy::cast_precision_loss)]
fn millis(span: Span) -> f64 {
    span.as_millis() as f64
}

impl Claude for Shell {
    type Body = Body;

    async fn call(&self, call: Call) -> Result<Reply<Body>, CallFailure> {
        fault::in_call(self, &call.body);
        let given = Given(AbortController::new());
        let signal = given.up_after(call.timeout);
        let request = self.request(call).await?;
        let sent = Fetch::Request(request).send_with_signal(&signal).await;
        let mut response = sent.map_err(|error| failure(&error))?;
        let status = response.status_code();
        let headers = response.headers().entries().collect();
        let body = Body { stream: response.stream().ok(), _given: given };
        Ok(Reply { status, headers, body })
    }
}

impl Shell {
    async fn request(&self, call: Call) -> Result<Request, CallFailure> {
        let base = self.variable("ANTHROPIC_BASE_URL");
        let base = base.unwrap_or_else(|| "https://api.anthropic.com".to_owned());
        let url = format!("{}/v1/messages", base.trim_end_matches('/'));
        let key = self.variable("ANTHROPIC_API_KEY").map(|key| key_header(&call.version, &key));
        let mut headers = vec![
            ("content-type", "application/json"),
            ("anthropic-version", call.version.as_str()),
        ];
        headers.extend(call.beta.as_deref().map(|beta| ("anthropic-beta", beta)));
        headers.extend(key.as_ref().map(|(name, value)| (*name, value.as_str())));
        let body = self.body(call.body).await?;
        outbound(&url, &headers, Some(&body)).map_err(|error| failure(&error))
    }

    async fn body(&self, body: CallBody) -> Result<JsValue, CallFailure> {
        match body {
            CallBody::Whole(body) => Ok(Uint8Array::new_from_slice(&body).into()),
            CallBody::Object { key } => {
                let object = self.object(&key).await?;
                let body = object.body().ok_or_else(no_body)?;
                let body = body.response_body().map_err(|error| failure(&error))?;
                match body {
                    worker::ResponseBody::Stream(stream) => Ok(stream.into()),
                    worker::ResponseBody::Body(bytes) => {
                        Ok(Uint8Array::new_from_slice(&bytes).into())
                    }
                    worker::ResponseBody::Empty => Err(no_body()),
                }
            }
            CallBody::Pdf { key, body } => {
                let object = self.object(&key).await?;
                let length = body.content_length(object.size());
                let pdf = object.body().ok_or_else(no_body)?.stream();
                let pdf = pdf.map_err(|error| failure(&error))?;
                let stream = FixedLengthStream::wrap(encoded(pdf, body), length);
                Ok(JsFixedLengthStream::from(stream).readable().into())
            }
        }
    }

    async fn object(&self, key: &str) -> Result<Object, CallFailure> {
        let bucket = self.bucket().map_err(|error| failure(&error))?;
        let object = bucket.get(key).execute().await.map_err(|error| failure(&error))?;
        object.ok_or_else(no_body)
    }
}

/// The body of an answer.
pub(super) struct Body {
    stream: Option<ByteStream>,
    _given: Given,
}

impl Stream for Body {
    type Item = Result<Bytes, CallFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.stream {
            Some(stream) => Pin::new(stream).poll_next(cx).map(|chunk| {
                chunk.map(|chunk| chunk.map(Bytes::from).map_err(|error| failure(&error)))
            }),
            None => Poll::Ready(None),
        }
    }
}

fn failure(error: &Error) -> CallFailure {
    if let Error::UnknownJsError { name: Some(name), .. } = error
        && name == "TimeoutError"
    {
        return CallFailure::Timeout;
    }
    CallFailure::Connection(error.to_string())
}

fn no_body() -> CallFailure {
    CallFailure::Connection("the input is not in R2".to_owned())
}
