//! Cloudflare's queues: sending, and the consumer's entry.
//!
//! The entry is exported by hand: the crate's macro turns an error into a
//! panic, and fails a whole batch for one message it cannot read.
use super::shell::{Shell, asked};
use crate::domain::{Queue, from_json};
use crate::pipeline::consume::{Receipt, consume};
use crate::pipeline::dead_letter::bury;
use crate::pipeline::messages::Handover;
use crate::pipeline::ports::{PortResult, Queues};
use js_sys::{Object, Reflect};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use worker::{BatchMessageBuilder, Context, Env, QueueContentType, RawMessageBuilder};

impl Queues for Shell {
    async fn send(&self, queue: Queue, bodies: Vec<String>) -> PortResult<()> {
        let queue = asked(self.env.queue(binding(queue)))?;
        for bodies in bodies.chunks(MOST_MESSAGES) {
            let messages = bodies.iter().map(|body| {
                RawMessageBuilder::new(body.as_str().into())
                    .build_with_content_type(QueueContentType::Text)
            });
            let batch = BatchMessageBuilder::new().messages(messages).build();
            asked(queue.send_raw_batch(batch).await)?;
        }
        Ok(())
    }
}

fn binding(queue: Queue) -> &'static str {
    match queue {
        Queue::High => "QUEUE_HIGH",
        Queue::Bulk => "QUEUE_BULK",
        Queue::Dlq => "QUEUE_DLQ",
    }
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object)]
    type Message;
    #[wasm_bindgen(method, getter)]
    fn body(this: &Message) -> JsValue;
    #[wasm_bindgen(method, catch)]
    fn ack(this: &Message) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn retry(this: &Message, options: &JsValue) -> Result<(), JsValue>;
}

/// Called by Cloudflare with a batch of messages of one queue.
///
/// # Errors
///
/// The Worker is misconfigured: the batch comes again.
#[wasm_bindgen]
#[allow(unreachable_pub)] // an export
pub async fn queue(
    batch: worker::worker_sys::MessageBatch,
    env: Env,
    context: worker::worker_sys::Context,
) -> Result<JsValue, JsValue> {
    // Nothing of a batch outlives a panic in it.
    AssertUnwindSafe(take(batch, env, context)).await
}

async fn take(
    batch: worker::worker_sys::MessageBatch,
    env: Env,
    context: worker::worker_sys::Context,
) -> Result<JsValue, JsValue> {
    let shell = Shell::new(env, Some(Rc::new(Context::new(context))))?;
    let messages: Vec<Message> = batch.messages()?.iter().map(JsCast::unchecked_into).collect();
    if batch.queue()? == Queue::Dlq.name() {
        bury_all(&shell, &messages).await;
    } else {
        consume_all(&shell, &messages).await;
    }
    Ok(JsValue::UNDEFINED)
}

async fn consume_all(shell: &Shell, messages: &[Message]) {
    let mut readable = Vec::with_capacity(messages.len());
    let mut batch = Vec::with_capacity(messages.len());
    for message in messages {
        let body = text(message).unwrap_or_default();
        if let Ok(handover) = from_json::<Handover>(&body) {
            readable.push(message);
            batch.push(handover);
        } else {
            worker::console_error!("a message that is no hand-over was dropped");
            apply(message, Receipt::Ack);
        }
    }
    let receipt = |place: usize, receipt| {
        if let Some(message) = readable.get(place) {
            apply(message, receipt);
        }
    };
    consume(shell, &shell.settings, &batch, receipt).await;
}

async fn bury_all(shell: &Shell, messages: &[Message]) {
    let bodies: Vec<String> = messages.iter().filter_map(text).collect();
    let receipt = match bury(shell, &bodies).await {
        Ok(()) => Receipt::Ack,
        Err(error) => {
            worker::console_error!("dead letters wait: {error}");
            Receipt::Retry(crate::domain::Span::from_secs(10))
        }
    };
    for message in messages {
        apply(message, receipt);
    }
}

fn text(message: &Message) -> Option<String> {
    message.body().as_string()
}

#[allow(clippy::cast_precision_loss)]
fn apply(message: &Message, receipt: Receipt) {
    let applied = match receipt {
        Receipt::Ack => message.ack(),
        Receipt::Retry(after) => {
            let options = Object::new();
            let seconds = after.as_secs_rounded_up() as f64;
            let _ = Reflect::set(&options, &"delaySeconds".into(), &seconds.into());
            message.retry(&options)
        }
    };
    if applied.is_err() {
        worker::console_error!("a receipt was not taken; the message may come again");
    }
}

/// Cloudflare's limit; at some 150 bytes a message the limit in bytes is far.
const MOST_MESSAGES: usize = 100;
