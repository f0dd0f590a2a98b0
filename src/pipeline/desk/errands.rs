//! What turns leave to be done: it is done beside them, and comes back as
//! settlements.
use super::{Desk, DeskPorts};
use crate::pipeline::ports::{PortResult, Queues};
use crate::pipeline::reconcile::{reconcile, withdraw};
use crate::pipeline::retention::retire;
use crate::pipeline::retry::patiently;
use crate::pipeline::store::Lease;
use crate::pipeline::turn::Turn;
use crate::scheduler::{Demoted, Settlement};
use std::cell::Cell;
use std::rc::Rc;

impl<P: DeskPorts> Desk<P> {
    /// Starts what a turn decided. One sender at a time: what turns decide
    /// while it waits goes out with its next batch.
    pub(super) fn carry_out(self: &Rc<Self>, turn: Turn) {
        for (tenant, Demoted { reason, until }) in turn.demoted {
            let reason = reason.as_str();
            self.ports.warn(&format!("{tenant} is served as batch until {until}: {reason}"));
        }
        self.look_after(turn.reconcile);
        self.outbox.borrow_mut().append(turn.outbox);
        if self.outbox.borrow().is_empty() || self.sending.replace(true) {
            return;
        }
        let desk = Rc::clone(self);
        self.ports.spawn(async move {
            let _idle = Idle(&desk.sending);
            desk.send().await;
        });
    }

    /// Finds out how leases ended, and settles them. If a store is away the
    /// scheduler asks again later.
    pub(super) fn look_after(self: &Rc<Self>, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = Rc::clone(self);
        self.ports.spawn(async move {
            let found = reconcile(desk.shared(), &leases).await;
            desk.settle_found(leases.len(), found).await;
        });
    }

    /// Sends until the outbox is empty.
    async fn send(self: &Rc<Self>) {
        loop {
            let outbox = self.outbox.take();
            if outbox.is_empty() {
                return;
            }
            for (queue, bodies) in outbox.bodies() {
                if bodies.is_empty() {
                    continue;
                }
                // Sent twice, the second is fenced off by its lease's number.
                let send = async || self.shared().send(queue, bodies.clone()).await;
                if let Err(error) = patiently(self.shared(), send).await {
                    let queue_name = queue.name();
                    self.ports.warn(&format!("{queue_name} did not take its messages: {error}"));
                    // Whether they were taken is not known: D1 decides.
                    self.take_back(outbox.leases(queue));
                }
            }
        }
    }

    /// Takes back the leases of messages that were not sent. What runs all the
    /// same keeps its lease.
    fn take_back(self: &Rc<Self>, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        let desk = Rc::clone(self);
        self.ports.spawn(async move {
            let found = withdraw(desk.shared(), &leases).await;
            desk.settle_found(leases.len(), found).await;
        });
    }

    /// Removes what is older than it may get. The next sweep tries again.
    pub(super) async fn retire(self: &Rc<Self>) {
        if let Err(error) = retire(self.shared(), self.ports.retention()).await {
            self.ports.warn(&format!("old jobs stay for now: {error}"));
        }
    }

    async fn settle_found(self: &Rc<Self>, leases: usize, found: PortResult<Vec<Settlement>>) {
        let settled = match found {
            Ok(settlements) => self.settle(settlements).await,
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            self.ports.warn(&format!("{leases} leases stay open: {error}"));
        }
    }
}

/// Clears the flag even if sending panics.
struct Idle<'a>(&'a Cell<bool>);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
