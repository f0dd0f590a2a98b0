//! The verbs at the door.
#![allow(clippy::must_use_candidate, reason = "verbs: what they tell is not always needed")]
use super::ledger::{self, Ticket};
use super::ports::Ports;
use super::stage::Process;
use super::upstream::{answer_to, answer_to_pdf};
use super::world::World;
use crate::domain::{BatchId, JobId, Origin, Plan, Span, TenantId, Timestamp};
use crate::pipeline::answer::{Answer, Answered};
use crate::pipeline::caller::Caller;
use crate::pipeline::problem::Problem;
use crate::pipeline::store::Tenant;
use crate::pipeline::submit::submit;
use crate::pipeline::submit_batch::submit_batch;
use crate::pipeline::{cancel, read};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use std::cell::RefCell;
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
        self.submit_as(self.caller(tenant), prompt, body)
    }

    /// Posts a prompt under an `Idempotency-Key`.
    pub fn submit_keyed(&self, tenant: &str, prompt: &str, key: &str) -> Ticket {
        let caller = Caller { idempotency_key: Some(key.to_owned()), ..self.caller(tenant) };
        self.submit_as(caller, prompt, json!({"prompt": prompt}).to_string())
    }

    fn submit_as(&self, caller: Caller, prompt: &str, body: String) -> Ticket {
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

    /// Asks how a job stands; with `wait`, once it has ended or so much time
    /// has passed.
    pub fn show(&self, tenant: &str, job: JobId, wait: Option<Span>) -> Told {
        let caller = Caller { wait, ..self.caller(tenant) };
        self.ask(async move |ports| read::show(&ports, &caller, job).await)
    }

    /// Cancels a job.
    pub fn cancel(&self, tenant: &str, job: JobId) -> Told {
        let caller = self.caller(tenant);
        self.ask(async move |ports| cancel::job(&ports, &caller, job).await)
    }

    /// Cancels a batch.
    pub fn cancel_batch(&self, tenant: &str, batch: BatchId) -> Told {
        let caller = self.caller(tenant);
        self.ask(async move |ports| cancel::batch(&ports, &caller, batch).await)
    }

    fn ask(&self, work: impl AsyncFnOnce(Ports) -> Answered + 'static) -> Told {
        let (world, told) = (Rc::clone(self.inner()), Told::default());
        let process = Process::Door(world.stage.number());
        let (ports, slot) = (Ports::new(&world, process), told.clone());
        self.inner().stage.spawn(process, async move {
            let answered = work(ports).await;
            slot.0.replace(Some((world.stage.now(), answered)));
        });
        told
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
            Some(ledger::Answer::Accepted(jobs)) => jobs,
            Some(_) | None => Vec::new(),
        }
    }

    /// Why a request was refused, if it was.
    #[must_use]
    pub fn refusal(&self, ticket: Ticket) -> Option<Problem> {
        match self.answer(ticket)? {
            ledger::Answer::Refused { problem, .. } => Some(problem),
            ledger::Answer::Open | ledger::Answer::Accepted(_) | ledger::Answer::Died => None,
        }
    }

    fn answer(&self, ticket: Ticket) -> Option<ledger::Answer> {
        self.inner().ledger.borrow().get(ticket).map(|request| request.answer.clone())
    }

    /// A caller of a tenant, who is entered in D1 when first seen. Tenants
    /// whose name begins with `pro` pay more.
    #[allow(clippy::expect_used, reason = "a test's own tenant")]
    fn caller(&self, name: &str) -> Caller {
        let plan = if name.starts_with("pro") { Plan::Pro } else { Plan::Free };
        self.inner().database.execute(TENANT, &[name, plan.as_str()]).expect("a tenant");
        let tenant_id = TenantId::try_from(name.to_owned()).expect("a tenant's id");
        let tenant = Tenant {
            tenant_id,
            plan,
            weight: None,
            daily_input_tokens: None,
            requests_per_minute: None,
            suspended_at: None,
            key_hash: String::new(),
        };
        Caller {
            tenant,
            user_id: None,
            version: None,
            beta: None,
            idempotency_key: None,
            wait: None,
        }
    }
}

/// What a request was told, once it was, and when.
#[derive(Clone, Default)]
pub struct Told(Rc<RefCell<Option<(Timestamp, Answered)>>>);

impl Told {
    /// When the answer came.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        self.0.borrow().as_ref().map(|(at, _)| *at)
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let told = self.0.borrow();
        let (_, answered) = told.as_ref()?;
        Some(answered.as_ref().map_or_else(|problem| problem.status, |answer| answer.status))
    }

    /// The answer's JSON.
    #[must_use]
    pub fn body(&self) -> Option<Value> {
        let told = self.0.borrow();
        let (_, answered) = told.as_ref()?;
        let body = answered.as_ref().map_or_else(Problem::to_json, |answer| answer.body.clone());
        serde_json::from_str(&body).ok()
    }
}

/// The job ids in an answer.
fn jobs_in(accepted: &Answer) -> Vec<JobId> {
    let answer: Value = serde_json::from_str(&accepted.body).unwrap_or_default();
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
