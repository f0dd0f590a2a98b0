//! The one place that reads the time, draws numbers and waits.
use super::shell::{Shell, Work, outbound};
use crate::domain::{Entropy, Span, Timestamp};
use crate::pipeline::ports::{Ambient, Notifier};
use std::time::Duration;
use worker::{Date, Delay, Fetch};

impl Ambient for Shell {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(Date::now().as_millis())
    }

    fn chance(&self) -> Entropy {
        let mut drawn = [0; 8];
        // The platform's source cannot fail. If it ever did, every draw would be
        // the same: no key is made of such, and else it would only cost jitter.
        let _ = getrandom::fill(&mut drawn);
        Entropy(u64::from_le_bytes(drawn))
    }

    async fn pause(&self, span: Span) {
        Delay::from(Duration::from_millis(span.as_millis())).await;
    }
}

impl Notifier for Shell {
    /// Hands the event to the scheduler object, which outlives the consumer's
    /// batch: a queue's batch ends only when all that was begun in it has, and
    /// no later job may wait for a slow receiver.
    fn notify(&self, event: String) {
        if self.variable("NOTIFY_WEBHOOK_URL").is_none() {
            return;
        }
        let Some(context) = self.context.clone() else { return };
        let shell = self.clone();
        context.wait_until::<Work>(Box::pin(async move {
            if let Err(error) = shell.ask_object("/notify", Some(event)).await {
                worker::console_warn!("an event for the webhook was lost: {error}");
            }
        }));
    }
}

impl Shell {
    /// Delivers an event to the operator's webhook; failures are only logged.
    pub(super) async fn deliver(&self, event: String) {
        let Some(url) = self.variable("NOTIFY_WEBHOOK_URL") else { return };
        if let Err(error) = deliver(&url, &event).await {
            worker::console_warn!("the webhook was not delivered: {error}");
        }
    }
}

async fn deliver(url: &str, event: &str) -> worker::Result<()> {
    let headers = [("content-type", "application/json")];
    let request = outbound(url, &headers, Some(&event.into()))?;
    let signal = super::claude_api::ends_after(WEBHOOK_TIMEOUT);
    let mut response = Fetch::Request(request).send_with_signal(&signal).await?;
    response.bytes().await.map(drop)
}

const WEBHOOK_TIMEOUT: Span = Span::from_secs(10);
