//! The moment a job becomes ours: its row is durable, then the scheduler is
//! told. A scheduler that cannot be told learns of the job from the sweep.
use super::ports::{Ambient, Database, Objects, Rows, SchedulerPort};
use super::problem::Problem;
use super::retry::patiently;
use super::store::{self, Earlier, NewJob, NewJobs, Tenant};
use crate::domain::{ModelClass, Tokens, Usage};
use crate::scheduler::Submission;

/// What accepting needs.
pub trait Acceptor: Database + Objects + SchedulerPort + Ambient {}
impl<P: Database + Objects + SchedulerPort + Ambient> Acceptor for P {}

/// Accepts jobs that belong together, all or none. `Some` if their key was
/// taken meanwhile: then none is.
///
/// # Errors
///
/// 503 if the rows could not be written; then none is left behind.
pub async fn accept<P: Acceptor>(
    ports: &P,
    tenant: &Tenant,
    new: NewJobs<'_>,
) -> Result<Option<Earlier>, Problem> {
    let inserted = patiently(ports, async || ports.batch(store::insert(new)).await).await;
    let rows = match inserted {
        Ok(rows) => rows,
        Err(error) => {
            // The insert may have happened and only its answer been lost.
            let _ = patiently(ports, async || ports.batch(store::remove(new)).await).await;
            return Err(error.into());
        }
    };
    if let Some(earlier) = other_request(new, &rows)? {
        return Ok(Some(earlier));
    }
    let jobs: Vec<Submission> = new.jobs.iter().map(|job| submission(job, tenant)).collect();
    let _ = patiently(ports, async || ports.submit(jobs.clone()).await).await;
    Ok(None)
}

/// The request that had the key before, if it was another one.
fn other_request(new: NewJobs<'_>, rows: &[Rows]) -> Result<Option<Earlier>, Problem> {
    let Some(key) = new.key else { return Ok(None) };
    let owner = store::first::<Earlier>(rows.get(1..).unwrap_or_default())?.pop();
    Ok(owner.filter(|owner| owner.location != key.location))
}

/// Removes objects of a request that came to nothing. A store that does not
/// answer is tolerated: no job will ever name what is left.
pub async fn discard<P: Objects + Ambient>(ports: &P, keys: Vec<String>) {
    if !keys.is_empty() {
        let _ = patiently(ports, async || ports.delete(keys.clone()).await).await;
    }
}

fn submission(job: &NewJob, tenant: &Tenant) -> Submission {
    Submission {
        job: job.job_id,
        tenant: job.tenant_id.clone(),
        plan: tenant.plan,
        weight: tenant.weight,
        daily_input: tenant.daily_input_tokens.map(Tokens::new),
        priority: job.priority,
        class: ModelClass::of(&job.model),
        estimate: Usage {
            input: Tokens::new(job.estimated_input_tokens),
            output: Tokens::new(job.max_output_tokens),
        },
        attempts: 0,
        lease: 0,
    }
}
