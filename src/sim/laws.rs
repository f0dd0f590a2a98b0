//! The laws (`docs`: design, section 3), looked for from outside.
use super::faults::Op;
use super::ledger::{Answer, Request};
use super::stage::Role;
use super::world::{JobSeen, World};
use crate::domain::{JobId, JobStatus, Span};
use crate::pipeline::input::result_key;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// Every law that holds at any moment.
    ///
    /// # Panics
    ///
    /// If one is broken.
    pub fn assert_laws_so_far(&self) {
        let broken = self.broken_laws();
        assert!(broken.is_empty(), "broken laws:\n  {}", broken.join("\n  "));
    }

    /// Every law, now that all is over.
    ///
    /// # Panics
    ///
    /// If one is broken.
    pub fn assert_laws(&self) {
        let mut broken = self.broken_laws();
        self.look_at_the_end(&mut broken);
        if self.scheduler().depth > 0 {
            // Places of requests whose door died end by themselves.
            self.run_for(HOLDS_LAST);
        }
        let depth = self.scheduler().depth;
        broken.extend((depth > 0).then(|| format!("{depth} places were left behind")));
        assert!(broken.is_empty(), "broken laws:\n  {}", broken.join("\n  "));
    }

    /// How many calls of a job were paid for.
    #[must_use]
    pub fn paid(&self, job: JobId) -> u32 {
        self.inner().ledger.borrow().paid(job)
    }

    /// How Claude answered so far: statuses in order, 0 for none.
    #[must_use]
    pub fn statuses(&self) -> Vec<u16> {
        self.inner().ledger.borrow().statuses.clone()
    }

    /// How many calls met one of Claude's true limits.
    #[must_use]
    pub fn over_limit(&self) -> u32 {
        self.inner().ledger.borrow().over_limit
    }

    /// The most calls there ever were at once.
    #[must_use]
    pub fn most_calls_at_once(&self) -> u32 {
        self.inner().upstream.most_open.get()
    }

    /// How often the webhook was told of a job.
    #[must_use]
    pub fn notices(&self, job: JobId) -> u32 {
        let ledger = self.inner().ledger.borrow();
        ledger.notices.get(&job.to_string()).copied().unwrap_or_default()
    }

    /// Messages acknowledged, and messages sent back, so far.
    #[must_use]
    pub fn receipts(&self) -> (u32, u32) {
        let ledger = self.inner().ledger.borrow();
        (ledger.acks, ledger.retries)
    }

    /// How often a role has asked for something so far.
    #[must_use]
    pub fn asked(&self, role: Role, op: Op) -> u32 {
        self.inner().faults.borrow().calls(role, op)
    }

    fn broken_laws(&self) -> Vec<String> {
        let world = self.inner();
        let mut broken = world.ledger.borrow().breaches().to_vec();
        broken.extend(world.database.broken_laws().unwrap_or_else(|error| vec![error.to_string()]));
        let jobs = self.jobs_by_id();
        for job in jobs.values() {
            self.look_at(job, &mut broken);
        }
        for request in world.ledger.borrow().requests() {
            self.look_at_promise(request, &jobs, &mut broken);
        }
        for (job, notices) in &world.ledger.borrow().notices {
            let status = job.parse().ok().and_then(|id| jobs.get(&id)).map(|job| job.status);
            let bad = matches!(status, Some(JobStatus::Failed | JobStatus::DeadLettered));
            if !bad || *notices > 1 {
                broken.push(format!("{notices} notices of job {job}, which is {status:?}"));
            }
        }
        broken
    }

    fn look_at(&self, job: &JobSeen, broken: &mut Vec<String>) {
        let JobSeen { job_id, status, attempts, .. } = job;
        let most = self.inner().settings.scheduler.attempts(job.priority);
        if *attempts > most || self.paid(*job_id) > most {
            let paid = self.paid(*job_id);
            broken.push(format!("job {job_id} had {attempts} attempts, {paid} paid, of {most}"));
        }
        if *status == JobStatus::DeadLettered && *attempts < most {
            broken.push(format!("job {job_id} was dead-lettered after {attempts} of {most}"));
        }
        if *status == JobStatus::Completed && self.object(&result_key(*job_id)).is_none() {
            broken.push(format!("job {job_id} is completed, and has no result"));
        }
    }

    /// Law 1: what was promised is there, and right.
    fn look_at_promise(
        &self,
        request: &Request,
        jobs: &BTreeMap<JobId, JobSeen>,
        broken: &mut Vec<String>,
    ) {
        let Answer::Accepted(accepted) = &request.answer else { return };
        if accepted.len() != request.expected.len() {
            broken.push(format!("a request has {} jobs", accepted.len()));
        }
        for (job, expected) in accepted.iter().zip(&request.expected) {
            if !jobs.contains_key(job) {
                broken.push(format!("job {job} was accepted, and is nowhere"));
            }
            let result = self.object(&result_key(*job)).map(|object| object.body);
            if let Some(result) = result.filter(|result| result != expected.as_bytes()) {
                let result = String::from_utf8_lossy(&result).into_owned();
                broken.push(format!("job {job} has a wrong result: {result}"));
            }
        }
    }

    fn look_at_the_end(&self, broken: &mut Vec<String>) {
        let jobs = self.jobs_by_id();
        for job in jobs.values().filter(|job| !job.status.ended()) {
            broken.push(format!("job {} is still {:?}", job.job_id, job.status));
        }
        let world = self.inner();
        let (waiting, tasks) = (world.object.storage.jobs(), world.stage.tasks());
        if waiting > 0 || tasks > 0 || !world.lines.borrow().is_empty() {
            broken.push(format!("the scheduler holds {waiting} jobs; {tasks} tasks run"));
        }
        if !self.all_is_tidy_at_the_door() {
            return;
        }
        let accepted: BTreeSet<JobId> = self.accepted().into_iter().collect();
        let left = jobs.keys().filter(|job| !accepted.contains(job));
        broken.extend(left.map(|job| format!("job {job} was not accepted, and is there")));
        let owned = |key: &str| accepted.iter().any(|job| key.contains(&job.to_string()));
        let left = self.keys().into_iter().filter(|key| !owned(key));
        broken.extend(left.map(|key| format!("the object {key} belongs to no job")));
        if world.bucket.borrow().open_uploads() > 0 {
            broken.push("an upload was left open".to_owned());
        }
    }

    /// The jobs that were promised.
    #[must_use]
    pub fn accepted(&self) -> Vec<JobId> {
        let ledger = self.inner().ledger.borrow();
        let accepted = ledger.requests().iter().filter_map(|request| match &request.answer {
            Answer::Accepted(jobs) => Some(jobs.clone()),
            Answer::Open | Answer::Refused { .. } | Answer::Died => None,
        });
        accepted.flatten().collect()
    }

    /// Nobody died at the door, and the stores let every refusal tidy up.
    fn all_is_tidy_at_the_door(&self) -> bool {
        self.inner().ledger.borrow().requests().iter().all(|request| match request.answer {
            Answer::Refused { clean, .. } => clean,
            Answer::Accepted(_) | Answer::Open => true,
            Answer::Died => false,
        })
    }

    fn jobs_by_id(&self) -> BTreeMap<JobId, JobSeen> {
        self.all_jobs().into_iter().map(|job| (job.job_id, job)).collect()
    }
}

/// More than ten minutes.
const HOLDS_LAST: Span = Span::from_secs(601);
