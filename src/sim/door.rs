//! The verbs at the door.
#![allow(clippy::must_use_candidate, reason = "verbs: what they tell is not always needed")]
use super::ledger::{Answer, Ticket};
use super::ports::Ports;
use super::stage::Process;
use super::upstream::{answer_to, answer_to_pdf};
use super::world::World;
use crate::domain::{JobId, Origin, Plan, TenantId};
use crate::pipeline::caller::Caller;
use crate::pipeline::problem::Problem;
use crate::pipeline::store::Tenant;
use crate::pipeline::submit::submit;
use crate::pipeline::submit_batch::submit_batch;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::rc::Rc;

impl World {
    /// Posts a prompt.
    pub fn submit(&self, tenant: &str, prompt: &str, origin: Origin) -> Ticket {
        let body = json!({"prompt": prompt, "origin": origin.as_str()});
        self.submit_json(tenant, prompt, body.to_string())
    }

    /// Posts a body that asks for `prompt` in one way or another. A prompt is
    /// used once: it tells the jobs apart.
    pub fn submit_json(&self, tenant: &str, prompt: &str, body: String) -> Ticket {
        let caller = self.caller(tenant);
        let world = Rc::clone(self.inner());
        let process = Process::Door(world.stage.number());
        let ticket = world.ledger.borrow_mut().request(process, vec![answer_to(prompt)]);
        self.inner().stage.spawn(process, async move {
            let ports = Ports::new(&world, process);
            let chunks = chunks(body.into_bytes());
            let body = stream::iter(chunks);
            let (settings, permits) = (&world.settings, &world.permits);
            let answer = submit(&ports, settings, permits, &caller, body).await;
            world.ledger.borrow_mut().answer(ticket, answer.map(|accepted| jobs_in(&accepted)));
        });
        ticket
    }

    /// Posts a form of PDFs.
    pub fn submit_batch(&self, tenant: &str, prompt: &str, files: &[(&str, Vec<u8>)]) -> Ticket {
        let caller = self.caller(tenant);
        let world = Rc::clone(self.inner());
        let process = Process::Door(world.stage.number());
        let expected = files.iter().map(|(name, pdf)| answer_to_pdf(prompt, name, pdf)).collect();
        let ticket = world.ledger.borrow_mut().request(process, expected);
        let form = form(prompt, files);
        self.inner().stage.spawn(process, async move {
            let ports = Ports::new(&world, process);
            let body = stream::iter(chunks(form));
            let (settings, permits) = (&world.settings, &world.permits);
            let kind = "multipart/form-data; boundary=sim";
            let answer = submit_batch(&ports, settings, permits, &caller, kind, body).await;
            world.ledger.borrow_mut().answer(ticket, answer.map(|accepted| jobs_in(&accepted)));
        });
        ticket
    }

    /// The jobs of a request that was accepted.
    #[must_use]
    pub fn jobs(&self, ticket: Ticket) -> Vec<JobId> {
        match self.answer(ticket) {
            Some(Answer::Accepted(jobs)) => jobs,
            Some(Answer::Open | Answer::Refused { .. } | Answer::Died) | None => Vec::new(),
        }
    }

    /// Why a request was refused, if it was.
    #[must_use]
    pub fn refusal(&self, ticket: Ticket) -> Option<Problem> {
        match self.answer(ticket)? {
            Answer::Refused { problem, .. } => Some(problem),
            Answer::Open | Answer::Accepted(_) | Answer::Died => None,
        }
    }

    fn answer(&self, ticket: Ticket) -> Option<Answer> {
        self.inner().ledger.borrow().get(ticket).map(|request| request.answer.clone())
    }

    /// A caller of a tenant, who is entered in D1 when first seen. Tenants
    /// whose name begins with `pro` pay more.
    #[allow(clippy::expect_used, reason = "a test's own tenant")]
    fn caller(&self, name: &str) -> Caller {
        let plan = if name.starts_with("pro") { Plan::Pro } else { Plan::Free };
        self.inner().database.execute(TENANT, &[name, plan.as_str()]).expect("a tenant");
        let tenant_id = TenantId::try_from(name.to_owned()).expect("a tenant's id");
        let tenant = Tenant { tenant_id, plan, key_hash: String::new() };
        Caller { tenant, user_id: None, version: None, beta: None }
    }
}

/// The job ids in the answer's own JSON.
fn jobs_in(accepted: &impl Serialize) -> Vec<JobId> {
    let answer = serde_json::to_value(accepted).unwrap_or_default();
    let id = |job: &Value| job.get("jobId").and_then(Value::as_str)?.parse().ok();
    match answer.get("jobs").and_then(Value::as_array) {
        Some(jobs) => jobs.iter().filter_map(id).collect(),
        None => id(&answer).into_iter().collect(),
    }
}

fn form(prompt: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut body = format!("--sim\r\n{DISPOSITION}\"prompt\"\r\n\r\n{prompt}\r\n").into_bytes();
    for (name, pdf) in files {
        let head = format!("--sim\r\n{DISPOSITION}\"files\"; filename=\"{name}\"\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"Content-Type: application/pdf\r\n\r\n");
        body.extend_from_slice(pdf);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--sim--\r\n");
    body
}

fn chunks(body: Vec<u8>) -> Vec<Result<Bytes, Infallible>> {
    let body = Bytes::from(body);
    let ends = (0..body.len()).step_by(CHUNK);
    ends.map(|at| Ok(body.slice(at..body.len().min(at + CHUNK)))).collect()
}

const CHUNK: usize = 16 * 1_024;
const DISPOSITION: &str = "Content-Disposition: form-data; name=";
const TENANT: &str = "
INSERT INTO tenants (tenant_id, name, plan, created_at) VALUES (?1, ?1, ?2, 0)
ON CONFLICT (tenant_id) DO NOTHING";
