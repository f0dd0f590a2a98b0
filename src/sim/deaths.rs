//! What dies in the world, and what it leaves.
#![allow(clippy::must_use_candidate, reason = "verbs: what they tell is not always needed")]
use super::lines::QUEUES;
use super::stage::Process;
use super::world::World;
use crate::domain::Queue;

impl World {
    /// The object's instance dies, with every task it had.
    pub fn crash_object(&self) {
        self.inner().stage.kill(Process::Object);
    }

    /// The platform takes an idle object out of memory; says whether it was
    /// idle.
    pub fn evict_object(&self) -> bool {
        let idle = !self.inner().stage.works(Process::Object);
        if idle {
            self.inner().object.forget();
        }
        idle
    }

    /// The machine that everything runs on goes down and comes up again: a
    /// development machine, which loses its queues and knows of its restart.
    pub fn restart_machine(&self) {
        self.crash_object();
        self.crash_consumers();
        let boots = &self.inner().object.boots;
        boots.set(boots.get() + 1);
        let mut lines = self.inner().lines.borrow_mut();
        for queue in QUEUES {
            lines.lose(queue);
        }
    }

    /// The object loses all it ever stored.
    pub fn wipe_object(&self) {
        self.crash_object();
        self.inner().object.storage.wipe();
    }

    /// Every consumer dies where it is; says how many.
    pub fn crash_consumers(&self) -> usize {
        let batches = self.inner().lines.borrow().under_way();
        for batch in &batches {
            self.inner().stage.kill(Process::Consumer(*batch));
        }
        batches.len()
    }

    /// Every message that waits in a queue vanishes; says how many.
    pub fn lose_queue(&self, queue: Queue) -> usize {
        self.inner().lines.borrow_mut().lose(queue)
    }
}
