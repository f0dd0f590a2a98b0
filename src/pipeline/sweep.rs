//! The sweep: jobs that were accepted, but that the scheduler does not know.
use super::ports::{Ambient, Database, PortResult};
use super::retry::patiently;
use super::store::{self, Listed, Unfinished};
use crate::domain::{JobId, ModelClass, Span, Tokens, Usage};
use crate::scheduler::Submission;

/// One stretch of unfinished jobs, and where the next begins.
pub struct Stretch {
    /// The jobs, ready to be submitted again.
    pub jobs: Vec<Submission>,
    /// Where to go on; `None` at the end, which is the beginning.
    pub cursor: Option<Listed<JobId>>,
}

/// Reads the next stretch of unfinished jobs: bounded work per run, and the
/// whole backlog in as many runs as it takes.
///
/// # Errors
///
/// The database did not answer; the cursor stays.
pub async fn stretch<P>(ports: &P, cursor: Option<Listed<JobId>>) -> PortResult<Stretch>
where
    P: Database + Ambient,
{
    let until = ports.now().before(GRACE);
    let statement = store::unfinished_after(cursor, until, STRETCH);
    let rows = patiently(ports, async || ports.batch(vec![statement.clone()]).await).await?;
    let rows = store::first::<Unfinished>(&rows)?;
    let full = rows.len() >= usize::try_from(STRETCH).unwrap_or(usize::MAX);
    let place = |row: &Unfinished| Listed { at: row.created_at, id: row.job_id };
    let cursor = rows.last().filter(|_| full).map(place);
    Ok(Stretch { jobs: rows.into_iter().map(submission).collect(), cursor })
}

fn submission(row: Unfinished) -> Submission {
    Submission {
        job: row.job_id,
        tenant: row.tenant_id,
        plan: row.plan,
        weight: row.weight,
        daily_input: row.daily_input_tokens.map(Tokens::new),
        priority: row.priority,
        class: ModelClass::of(&row.model),
        estimate: Usage {
            input: Tokens::new(row.estimated_input_tokens),
            output: Tokens::new(row.max_output_tokens),
        },
        attempts: row.attempts,
        lease: row.lease,
    }
}

/// A job this young is on its way to the scheduler.
const GRACE: Span = Span::from_secs(30);

/// Jobs a run looks at.
const STRETCH: u32 = 1_000;
