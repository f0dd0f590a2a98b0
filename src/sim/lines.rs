//! Cloudflare's queues: at least once, in no order, with a delay.
use crate::domain::{Queue, Span, Timestamp};
use crate::pipeline::consume::Receipt;
use std::collections::BTreeMap;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) body: String,
    /// How often it was handed over and came back.
    returns: u32,
}

/// The three queues.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<Queue, Line>);

#[derive(Debug, Default)]
struct Line {
    /// By when they may be handed over.
    waiting: BTreeMap<(Timestamp, u64), Message>,
    /// By the batch they were handed over in.
    taken: BTreeMap<u64, Vec<Message>>,
}

/// How a queue hands over: `wrangler.toml`.
struct Rules {
    batch: usize,
    retries: u32,
    concurrency: usize,
}

impl Lines {
    /// A new message.
    pub(super) fn put(&mut self, queue: Queue, at: (Timestamp, u64), body: String) {
        self.line(queue).waiting.insert(at, Message { body, returns: 0 });
    }

    /// Takes a batch of what is due, if a consumer may start: their bodies.
    pub(super) fn take(&mut self, queue: Queue, batch: u64, now: Timestamp) -> Option<Vec<String>> {
        let rules = rules(queue);
        let line = self.line(queue);
        if line.taken.len() >= rules.concurrency {
            return None;
        }
        let due = line.waiting.keys().take_while(|(at, _)| *at <= now);
        let due: Vec<_> = due.take(rules.batch).copied().collect();
        let messages: Vec<_> = due.iter().filter_map(|at| line.waiting.remove(at)).collect();
        if messages.is_empty() {
            return None;
        }
        let bodies = messages.iter().map(|message| message.body.clone()).collect();
        line.taken.insert(batch, messages);
        Some(bodies)
    }

    /// A batch has ended. What has no receipt is done with, as the platform
    /// has it.
    pub(super) fn end(
        &mut self,
        queue: Queue,
        batch: u64,
        receipts: &[Option<Receipt>],
        mut at: impl FnMut(Span) -> (Timestamp, u64),
    ) {
        let messages = self.line(queue).taken.remove(&batch).unwrap_or_default();
        for (place, message) in messages.into_iter().enumerate() {
            if let Some(Some(Receipt::Retry(after))) = receipts.get(place) {
                let seconds = Span::from_secs(after.as_secs_rounded_up());
                self.bring_back(queue, message, at(seconds));
            }
        }
    }

    /// The consumer of a batch has died: all of it comes again.
    pub(super) fn lose_consumer(
        &mut self,
        batch: u64,
        mut at: impl FnMut(Span) -> (Timestamp, u64),
    ) {
        for queue in QUEUES {
            for message in self.line(queue).taken.remove(&batch).unwrap_or_default() {
                self.bring_back(queue, message, at(REDELIVERY));
            }
        }
    }

    /// Every waiting message vanishes; says how many.
    pub(super) fn lose(&mut self, queue: Queue) -> usize {
        std::mem::take(&mut self.line(queue).waiting).len()
    }

    /// The next moment at which a message may be handed over.
    pub(super) fn next_due(&self, queue: Queue) -> Option<Timestamp> {
        let first = self.0.get(&queue)?.waiting.keys().next()?;
        Some(first.0)
    }

    /// The batches under way.
    pub(super) fn under_way(&self) -> Vec<u64> {
        self.0.values().flat_map(|line| line.taken.keys().copied()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|line| line.waiting.is_empty() && line.taken.is_empty())
    }

    /// The bodies that wait.
    pub(super) fn waiting(&self, queue: Queue) -> Vec<String> {
        let line = self.0.get(&queue);
        let messages = line.map(|line| line.waiting.values()).into_iter().flatten();
        messages.map(|message| message.body.clone()).collect()
    }

    fn bring_back(&mut self, queue: Queue, message: Message, at: (Timestamp, u64)) {
        let returns = message.returns + 1;
        let (queue, returns) = match queue {
            queue if returns <= rules(queue).retries => (queue, returns),
            Queue::High | Queue::Bulk => (Queue::Dlq, 0),
            Queue::Dlq => return,
        };
        self.line(queue).waiting.insert(at, Message { returns, ..message });
    }

    fn line(&mut self, queue: Queue) -> &mut Line {
        self.0.entry(queue).or_default()
    }
}

const fn rules(queue: Queue) -> Rules {
    match queue {
        Queue::High => Rules { batch: 5, retries: 5, concurrency: 20 },
        Queue::Bulk => Rules { batch: 5, retries: 3, concurrency: 20 },
        Queue::Dlq => Rules { batch: 10, retries: 10, concurrency: 20 },
    }
}

pub(super) const QUEUES: [Queue; 3] = [Queue::High, Queue::Bulk, Queue::Dlq];

/// How soon the platform notices that a consumer has died.
const REDELIVERY: Span = Span::from_secs(3);
