//! What goes into the scheduler, and what comes out.
use super::{DemotionReason, PerPriority};
use crate::domain::{
    AccountFault, JobId, ModelClass, Outcome, Plan, Priority, Queue, RateLimits, TenantId,
    Timestamp, Usage, as_rfc3339,
};
use serde::{Deserialize, Serialize};

/// A job that may wait here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// Which job.
    pub job: JobId,
    /// Whose job.
    pub tenant: TenantId,
    /// What the tenant pays for.
    pub plan: Plan,
    /// How urgent.
    pub priority: Priority,
    /// Whose budget it draws on.
    pub class: ModelClass,
    /// Its input as estimated; as its output, the most it may produce.
    pub estimate: Usage,
    /// The attempts it has used up.
    pub attempts: u32,
    /// The highest number a lease of this job ever had; 0 before the first.
    pub lease: u32,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Submitted {
    /// It waits here from now on.
    New,
    /// It was here already. Nothing has changed.
    AlreadyKnown,
    /// Its attempts were used up: it is dead-lettered.
    DeadLettered,
}

/// How an attempt ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settlement {
    /// Which job.
    pub job: JobId,
    /// The lease under which the attempt ran.
    pub lease: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What the upstream's answer said of its limits, if there was one.
    #[serde(default)]
    pub limits: Option<RateLimits>,
}

/// The right to run one attempt of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Release {
    /// Which job.
    pub job: JobId,
    /// Which lease: counts up with every release of the job, so that a store
    /// can refuse what came too late.
    pub lease: u32,
    /// Which attempt, from 1: one more than are used up.
    pub attempt: u32,
    /// When the right ends.
    pub until: Timestamp,
    /// Which queue hands it over.
    pub queue: Queue,
}

/// What the caller has to carry out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Send the job to its queue.
    Release(Release),
    /// The job's attempts are used up. It is forgotten here.
    DeadLetter {
        /// Which job.
        job: JobId,
        /// How many attempts it had.
        attempts: u32,
    },
    /// The lease ended without an answer: look what became of the attempt,
    /// and settle it. Until then it keeps its slot and its tokens.
    Reconcile {
        /// Which job.
        job: JobId,
        /// Which lease.
        lease: u32,
    },
}

/// Why the scheduler wants to be woken.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Wake {
    /// A job may go now: call `dispatch`.
    Turn,
    /// A lease ends, or is to be asked for again.
    LeaseEnd,
    /// A job's delay ends.
    DelayEnd,
    /// There will be tokens for the next job.
    Tokens,
    /// A model class may be tried again.
    GateOpens,
    /// The account may be tried again.
    PauseEnds,
    /// A tenant gets its priorities back.
    DemotionEnds,
}

/// Why a job waits, and for how long.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    /// What it waits for.
    pub reason: Reason,
    /// Its place among the waiting jobs of its model class, from 1; for a
    /// delayed job the place it would have now.
    pub position: usize,
    /// When it starts if no more urgent job comes, all estimates hold and
    /// slots are free.
    #[serde(serialize_with = "as_rfc3339")]
    pub estimated_start: Timestamp,
    /// Its tenant has lost its priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demotion: Option<Demoted>,
}

/// A tenant's jobs are served as batch for a while.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Demoted {
    /// What for.
    pub reason: DemotionReason,
    /// It ends by itself.
    #[serde(serialize_with = "as_rfc3339")]
    pub until: Timestamp,
}

/// What a job waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Others are before it.
    Turn,
    /// The budget of its model class.
    Tokens,
    /// All slots are taken.
    Slot,
    /// The delay after a failed attempt, or after a 429.
    Retry,
    /// Nothing is released: see [`State::paused`].
    Paused,
}

/// The scheduler at a glance.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Jobs that wait for their turn.
    pub waiting: PerPriority<usize>,
    /// Jobs that wait for their next attempt.
    pub delayed: usize,
    /// Attempts under way.
    pub running: usize,
    /// How many may be.
    pub slots: u32,
    /// How many tenants have lost their priorities.
    pub demoted: usize,
    /// Why nothing is released, if so.
    pub paused: Option<Paused>,
}

/// Nothing is released because of the account.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// What is wrong with it.
    pub fault: AccountFault,
    /// When it is tried again.
    #[serde(serialize_with = "as_rfc3339")]
    pub until: Timestamp,
}
