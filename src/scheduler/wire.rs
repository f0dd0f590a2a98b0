//! What goes into the scheduler, and what comes out.
use super::{DemotionReason, PerPriority};
use crate::domain::{
    AccountFault, JobId, ModelClass, Outcome, Plan, Priority, Queue, RateLimits, Span, TenantId,
    Timestamp, Tokens, Usage, as_rfc3339,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// The tenant's part of what is shared, if it is not its plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The tenant's daily budget of input, if it is not the setting's; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_input: Option<Tokens>,
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

/// A request at the door, whose jobs are not there yet.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wish {
    /// Who asks.
    pub tenant: TenantId,
    /// Names the request, by the first of its jobs.
    pub hold: JobId,
    /// How many jobs it has, as far as is known.
    pub jobs: u32,
    /// How many it may have in the end; what is to spare is given ahead.
    pub ahead: u32,
    /// How many requests the tenant may make in a minute; `None`: any number.
    pub per_minute: Option<u64>,
}

/// The answer to a [`Wish`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    /// Why nothing was let in, if so. Then nothing has changed.
    pub refused: Option<Refusal>,
    /// How many places the request has.
    pub places: u32,
    /// What is left of the tenant's rate, if it has one.
    pub quota: Option<Quota>,
    /// The tenant has lost its priorities.
    pub demotion: Option<Demoted>,
}

/// Which limit was met, and when to come back.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Which.
    pub limit: Limit,
    /// How much it allows, as things are.
    pub most: u64,
    /// How much of that is used.
    pub used: u64,
    /// What the request brought, as far as it was known.
    pub asked: u64,
    /// The most jobs one request can ever have, where jobs are counted.
    pub largest: Option<u64>,
    /// When to come back; `None`: it would never help.
    pub retry_after: Option<Span>,
}

/// A limit at the door.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The tenant's requests a minute.
    Rate,
    /// The jobs of all tenants.
    Capacity,
    /// The tenant's part of them.
    Share,
    /// The jobs of one request.
    Request,
}

/// What is left of a rate.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// Requests a minute.
    pub limit: u64,
    /// How many may come at once now.
    pub remaining: u64,
    /// When as many may come as ever.
    pub reset: Span,
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
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    /// What it waits for.
    pub reason: Reason,
    /// Its place among the waiting jobs of its model class, from 1; for a
    /// delayed job the place it would have now, for one that is set aside its
    /// place among those.
    pub position: usize,
    /// When it starts if calls use and last what the latest ones did, and as
    /// much comes as lately; docs/scheduling.md says how far that is true.
    #[serde(serialize_with = "as_rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub estimated_start: Timestamp,
    /// Its tenant has lost its priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demotion: Option<Demoted>,
}

/// A tenant's jobs are served as batch for a while.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Demoted {
    /// What for.
    pub reason: DemotionReason,
    /// It ends by itself.
    #[serde(serialize_with = "as_rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
}

/// What a job waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WaitingReason)]
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
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SchedulerState)]
pub struct State {
    /// Jobs that wait for their turn.
    pub waiting: PerPriority<usize>,
    /// Jobs that wait for their next attempt.
    pub delayed: usize,
    /// Attempts under way.
    pub running: usize,
    /// How many may be.
    pub slots: u32,
    /// Jobs that have not ended, and places held for requests under way.
    pub depth: u64,
    /// The most there may be.
    pub capacity: u32,
    /// How many tenants have lost their priorities.
    pub demoted: usize,
    /// Why nothing is released, if so.
    #[schema(required)]
    pub paused: Option<Paused>,
}

/// Nothing is released because of the account.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// What is wrong with it.
    pub fault: AccountFault,
    /// When it is tried again.
    #[serde(serialize_with = "as_rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
}
