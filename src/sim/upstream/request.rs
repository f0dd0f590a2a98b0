//! What a call asks for, read from the bytes that would be sent.
use crate::claude::CallFailure;
use crate::domain::{JobId, JobStatus, Tokens, Usage};
use crate::pipeline::ports::{Call, CallBody};
use crate::sim::chance::number_of;
use crate::sim::world::Inner;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// A call, understood.
pub(super) struct Asked {
    /// Whose call it is, and which attempt, as D1 has it.
    pub(super) job: Option<JobId>,
    pub(super) attempt: u32,
    pub(super) model: String,
    pub(super) prompt: String,
    /// The document, if there is one.
    pub(super) pdf: Option<(String, Vec<u8>)>,
    /// What it will use.
    pub(super) usage: Usage,
}

impl Asked {
    pub(super) fn read(world: &Inner, call: &Call) -> Result<Self, CallFailure> {
        let sent = sent(world, &call.body)?;
        let request: Value = serde_json::from_slice(&sent)
            .map_err(|error| CallFailure::Connection(format!("not JSON: {error}")))?;
        if request.get("stream") != Some(&Value::Bool(true)) {
            world.ledger.borrow_mut().breach("a call does not stream");
        }
        let text = |at: &str| request.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let document = "/messages/0/content/0";
        let pdf = request.pointer(&format!("{document}/source/data")).and_then(Value::as_str);
        let pdf = pdf.and_then(|data| STANDARD.decode(data).ok());
        let pdf = pdf.map(|pdf| (text(&format!("{document}/title")).to_owned(), pdf));
        let prompt = match pdf {
            Some(_) => text("/messages/0/content/1/text"),
            None => text("/messages/0/content"),
        };
        let most = request.get("max_tokens").and_then(Value::as_u64).unwrap_or(1);
        let job = owner(world, &call.body);
        Ok(Self {
            job,
            attempt: job.and_then(|job| attempt(world, job)).unwrap_or_default(),
            model: text("/model").to_owned(),
            usage: usage(prompt, pdf.is_some(), most),
            prompt: prompt.to_owned(),
            pdf,
        })
    }
}

/// Less input than was estimated, and output that no one could foresee.
fn usage(prompt: &str, is_pdf: bool, most: u64) -> Usage {
    let input = prompt.len() as u64 / 6 + 1 + if is_pdf { 1_500 } else { 0 };
    let output = (20 + number_of(prompt) % 400).min(most);
    Usage { input: Tokens::new(input), output: Tokens::new(output) }
}

fn sent(world: &Inner, body: &CallBody) -> Result<Vec<u8>, CallFailure> {
    let bucket = world.bucket.borrow();
    let object = |key: &str| {
        let gone = || CallFailure::Connection("the input is not in R2".to_owned());
        bucket.get(key).map(|object| &object.body).ok_or_else(gone)
    };
    Ok(match body {
        CallBody::Whole(body) => body.clone(),
        CallBody::Object { key } => object(key)?.clone(),
        CallBody::Pdf { key, body } => {
            let pdf = object(key)?;
            let whole = format!("{}{}{}", body.prefix, STANDARD.encode(pdf), body.suffix);
            if whole.len() as u64 != body.content_length(pdf.len() as u64) {
                world.ledger.borrow_mut().breach("a PDF's body has another length than promised");
            }
            whole.into_bytes()
        }
    })
}

/// Whose call it is: by its object's key, or by its very bytes.
fn owner(world: &Inner, body: &CallBody) -> Option<JobId> {
    match body {
        CallBody::Object { key } | CallBody::Pdf { key, .. } => {
            let name = key.rsplit('/').next()?;
            name.split('.').next()?.parse().ok()
        }
        CallBody::Whole(body) => {
            let body = String::from_utf8_lossy(body);
            let known = world.ledger.borrow().owner_of(&body);
            let look = |sql| world.database.look(sql, &[&body]).ok()?.pop()?.parse().ok();
            let job = known.or_else(|| look(OWNER_RUNNING)).or_else(|| look(OWNER))?;
            world.ledger.borrow_mut().owns(job, body.into_owned());
            Some(job)
        }
    }
}

/// The attempt that D1 believes is under way.
fn attempt(world: &Inner, job: JobId) -> Option<u32> {
    let seen = world.job(job)?;
    if seen.status != JobStatus::Running {
        let status = seen.status;
        world.ledger.borrow_mut().breach(&format!("a call for job {job}, which is {status:?}"));
    }
    Some(seen.attempts)
}

const OWNER_RUNNING: &str = "
SELECT job_id FROM jobs
WHERE status = 'running' AND EXISTS (SELECT 1 FROM json_tree(input) WHERE atom = ?1)";
const OWNER: &str = "
SELECT job_id FROM jobs WHERE EXISTS (SELECT 1 FROM json_tree(input) WHERE atom = ?1)";
