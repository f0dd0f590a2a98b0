//! Consumers: batches of messages, handed over and receipted as
//! `cloudflare/queues.rs` does.
use super::ports::Ports;
use super::stage::{Happening, Process};
use super::world::Inner;
use crate::domain::{Queue, Span};
use crate::pipeline::consume::{Receipt, consume};
use crate::pipeline::dead_letter::bury;
use crate::pipeline::messages::Handover;
use std::cell::RefCell;
use std::rc::Rc;

impl Inner {
    /// Starts a consumer for each batch that is due.
    pub(super) fn deliver(self: &Rc<Self>, queue: Queue) {
        loop {
            let batch = self.stage.number();
            let bodies = self.lines.borrow_mut().take(queue, batch, self.stage.now());
            let Some(bodies) = bodies else { return };
            let world = Rc::clone(self);
            self.stage.spawn(Process::Consumer(batch), async move {
                let ports = Ports::new(&world, Process::Consumer(batch));
                let receipts = work(&ports, queue, bodies).await;
                world.end_batch(queue, batch, &receipts);
            });
        }
    }

    /// A consumer died: its messages come again.
    pub(super) fn redeliver(self: &Rc<Self>, batch: u64) {
        let due = |after| self.due(after);
        self.lines.borrow_mut().lose_consumer(batch, due);
        self.look_again();
    }

    fn end_batch(&self, queue: Queue, batch: u64, receipts: &[Option<Receipt>]) {
        if receipts.iter().any(Option::is_none) {
            self.ledger.borrow_mut().breach("a message has no receipt");
        }
        let due = |after| self.due(after);
        self.lines.borrow_mut().end(queue, batch, receipts, due);
        self.look_again();
    }

    fn look_again(&self) {
        for queue in super::lines::QUEUES {
            let due = self.lines.borrow().next_due(queue);
            if let Some(due) = due {
                self.stage.schedule(due.max(self.stage.now()), Happening::Deliver(queue));
            }
        }
    }
}

async fn work(ports: &Ports, queue: Queue, bodies: Vec<String>) -> Vec<Option<Receipt>> {
    if queue == Queue::Dlq {
        let receipt = match bury(ports, &bodies).await {
            Ok(()) => Receipt::Ack,
            Err(_) => Receipt::Retry(Span::from_secs(10)),
        };
        return vec![Some(receipt); bodies.len()];
    }
    let receipts = RefCell::new(vec![None; bodies.len()]);
    let (mut places, mut batch) = (Vec::new(), Vec::new());
    for (place, body) in bodies.iter().enumerate() {
        match serde_json::from_str::<Handover>(body) {
            Ok(handover) => {
                places.push(place);
                batch.push(handover);
            }
            Err(_) => set(ports, &receipts, Some(&place), Receipt::Ack),
        }
    }
    let receipt = |place: usize, receipt| set(ports, &receipts, places.get(place), receipt);
    consume(ports, &ports.world().settings, &batch, receipt).await;
    receipts.into_inner()
}

fn set(
    ports: &Ports,
    receipts: &RefCell<Vec<Option<Receipt>>>,
    place: Option<&usize>,
    receipt: Receipt,
) {
    let mut receipts = receipts.borrow_mut();
    let slot = place.and_then(|place| receipts.get_mut(*place));
    let mut ledger = ports.world().ledger.borrow_mut();
    match slot {
        Some(slot @ None) => {
            *slot = Some(receipt);
            ledger.receipted(receipt);
        }
        Some(Some(_)) => ledger.breach("a message has two receipts"),
        None => ledger.breach("a receipt has no message"),
    }
}
