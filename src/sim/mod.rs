//! A world in a box: the whole pipeline over stores that fail on command, in
//! virtual time, in one thread, from one seed.
//!
//! ```text
//! verbs ─▶ World ─▶ Stage (calendar, tasks) ─▶ Ports ─┬─▶ Sqlite      D1
//!                                                     ├─▶ Bucket      R2
//!            laws ◀─ ledger, witness ◀────────────────┼─▶ Lines       queues
//!                                                     ├─▶ Desk        scheduler object
//!                                                     └─▶ Upstream    Claude
//! ```
//! Every call of a port takes a little time each way, and may fail: before it
//! is done, after it is done, or by the death of the process that made it.
//! Processes are the door's requests, the consumers' batches and the object;
//! one that dies is dropped where it waits, and what it had not written is
//! lost. The SQL is the real one, on a real `SQLite`. Apart from that world,
//! [`trial`] runs the scheduler alone against other policies.
mod adversary;
mod bucket;
mod chance;
mod consumers;
mod database;
mod deaths;
mod desk;
mod door;
mod faults;
mod laws;
mod ledger;
mod lines;
mod object;
mod ports;
mod stage;
pub mod trial;
mod upstream;
mod world;

pub use bucket::StoredObject;
pub use database::Sqlite;
pub use door::Told;
pub use faults::{Fault, Op, Plan};
pub use ledger::Ticket;
pub use stage::{Process, Role};
pub use upstream::{Behaviour, answer_to, answer_to_pdf};
pub use world::{JobSeen, World};
