//! The moment a job becomes ours: its row is durable, then the scheduler is
//! told. A scheduler that cannot be told learns of the job from the sweep.
use super::ports::{Ambient, Database, Objects, SchedulerPort};
use super::problem::Problem;
use super::retry::patiently;
use super::store::{self, NewBatch, NewJob};
use crate::domain::{ModelClass, Plan, Tokens, Usage};
use crate::scheduler::Submission;

/// What accepting needs.
pub trait Acceptor: Database + Objects + SchedulerPort + Ambient {}
impl<P: Database + Objects + SchedulerPort + Ambient> Acceptor for P {}

/// Accepts jobs that belong together, all or none.
///
/// # Errors
///
/// 503 if the rows could not be written; then none is left behind.
pub async fn accept<P: Acceptor>(
    ports: &P,
    plan: Plan,
    batch: Option<&NewBatch>,
    jobs: &[NewJob],
) -> Result<(), Problem> {
    let inserted = patiently(ports, async || ports.batch(store::insert(batch, jobs)).await).await;
    if let Err(error) = inserted {
        // The insert may have happened and only its answer been lost.
        let _ = patiently(ports, async || ports.batch(store::remove(batch, jobs)).await).await;
        return Err(error.into());
    }
    let submissions: Vec<Submission> = jobs.iter().map(|job| submission(job, plan)).collect();
    let _ = patiently(ports, async || ports.submit(submissions.clone()).await).await;
    Ok(())
}

/// Removes objects of a request that came to nothing. A store that does not
/// answer is tolerated: no job will ever name what is left.
pub async fn discard<P: Objects + Ambient>(ports: &P, keys: Vec<String>) {
    if !keys.is_empty() {
        let _ = patiently(ports, async || ports.delete(keys.clone()).await).await;
    }
}

fn submission(job: &NewJob, plan: Plan) -> Submission {
    Submission {
        job: job.job_id,
        tenant: job.tenant_id.clone(),
        plan,
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
