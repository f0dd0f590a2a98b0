//! What the outside saw: requests and their answers, calls, notices.
use super::faults::Op;
use super::stage::Process;
use crate::domain::JobId;
use crate::pipeline::consume::Receipt;
use crate::pipeline::problem::Problem;
use serde_json::Value;
use std::collections::BTreeMap;

/// A request, to ask about it later.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Ticket(usize);

/// One request at the door.
#[derive(Debug)]
pub(super) struct Request {
    process: Process,
    /// The right answer to each of its jobs.
    pub(super) expected: Vec<String>,
    pub(super) answer: Answer,
}

/// How a request was answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Not yet.
    Open,
    /// 202.
    Accepted(Vec<JobId>),
    /// Anything else; `clean` unless the stores did not let it tidy up.
    Refused { problem: Problem, clean: bool },
    /// The door died first.
    Died,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    requests: Vec<Request>,
    /// Whether the last of its calls of a kind went well, for each door.
    last: BTreeMap<(Process, Op), bool>,
    owners: BTreeMap<String, JobId>,
    /// Calls answered with 200, by job and attempt.
    paid: BTreeMap<(JobId, u32), u32>,
    /// Statuses of the calls, in order; 0 if there was none.
    pub(super) statuses: Vec<u16>,
    /// 429s because a true limit was met.
    pub(super) over_limit: u32,
    pub(super) notices: BTreeMap<String, u32>,
    pub(super) acks: u32,
    pub(super) retries: u32,
    breaches: Vec<String>,
}

impl Ledger {
    pub(super) fn request(&mut self, process: Process, expected: Vec<String>) -> Ticket {
        self.requests.push(Request { process, expected, answer: Answer::Open });
        Ticket(self.requests.len() - 1)
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&Request> {
        self.requests.get(ticket.0)
    }

    pub(super) fn requests(&self) -> &[Request] {
        &self.requests
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: Result<Vec<JobId>, Problem>) {
        let Some(process) = self.requests.get(ticket.0).map(|request| request.process) else {
            return;
        };
        let well = |op| self.last.get(&(process, op)).copied().unwrap_or(true);
        let clean = well(Op::Sql) && well(Op::Delete) && well(Op::Upload);
        if let Some(request) = self.requests.get_mut(ticket.0) {
            request.answer = match answer {
                Ok(jobs) => Answer::Accepted(jobs),
                Err(problem) => Answer::Refused { problem, clean },
            };
        }
    }

    pub(super) fn died(&mut self, process: Process) {
        for request in &mut self.requests {
            if request.process == process && matches!(request.answer, Answer::Open) {
                request.answer = Answer::Died;
            }
        }
    }

    pub(super) fn answered(&mut self, process: Process, op: Op, well: bool) {
        if let Process::Door(_) = process {
            self.last.insert((process, op), well);
        }
    }

    pub(super) fn owner_of(&self, body: &str) -> Option<JobId> {
        self.owners.get(body).copied()
    }

    pub(super) fn owns(&mut self, job: JobId, body: String) {
        self.owners.insert(body, job);
    }

    pub(super) fn called(&mut self, job: Option<JobId>, attempt: u32, status: Option<u16>) {
        self.statuses.push(status.unwrap_or_default());
        let Some(job) = job else {
            return self.breach(&format!("a call answered with {status:?} belongs to no job"));
        };
        if status == Some(200) {
            let paid = self.paid.entry((job, attempt)).or_default();
            *paid += 1;
            if *paid > 1 {
                self.breach(&format!("attempt {attempt} of job {job} was paid for twice"));
            }
        }
    }

    /// How many calls of a job were paid for.
    pub(super) fn paid(&self, job: JobId) -> u32 {
        self.paid.range((job, 0)..=(job, u32::MAX)).map(|(_, paid)| paid).sum()
    }

    pub(super) fn over_the_limit(&mut self) {
        self.over_limit += 1;
    }

    pub(super) fn receipted(&mut self, receipt: Receipt) {
        match receipt {
            Receipt::Ack => self.acks += 1,
            Receipt::Retry(_) => self.retries += 1,
        }
    }

    pub(super) fn notified(&mut self, event: &str) {
        let read: Value = serde_json::from_str(event).unwrap_or_default();
        match read.pointer("/data/jobId").and_then(Value::as_str) {
            Some(job) => *self.notices.entry(job.to_owned()).or_default() += 1,
            None => self.breach(&format!("a notice names no job: {event}")),
        }
    }

    /// A law was seen broken.
    pub(super) fn breach(&mut self, law: &str) {
        if !self.breaches.iter().any(|known| known == law) {
            self.breaches.push(law.to_owned());
        }
    }

    pub(super) fn breaches(&self) -> &[String] {
        &self.breaches
    }
}
