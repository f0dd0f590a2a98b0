//! `POST /batches`: from a form of PDFs to one job each.
use super::accept::{Acceptor, accept};
use super::caller::Caller;
use super::input::{Input, Source};
use super::job_request::Wishes;
use super::problem::Problem;
use super::settings::Settings;
use super::store::{NewBatch, NewJob};
use super::templates::Template;
use super::upload::{self, Fields, Form, Permits, UploadedFile};
use crate::claude::{Instructions, estimate_pdf};
use crate::domain::{BatchId, JobId, Origin, Timestamp, Tokens};
use bytes::Bytes;
use futures_util::Stream;
use serde::Serialize;

/// The answer to `POST /batches`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchAccepted {
    batch_id: BatchId,
    total: u32,
    poll_url: String,
    jobs: Vec<AcceptedFile>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AcceptedFile {
    job_id: JobId,
    index: u32,
    filename: String,
}

impl BatchAccepted {
    /// Where the batch can be watched; sent as `Location` too.
    #[must_use]
    pub fn poll_url(&self) -> &str {
        &self.poll_url
    }
}

/// Accepts a batch, all files or none.
///
/// # Errors
///
/// A [`Problem`]; then nothing is left behind.
pub async fn submit_batch<P, S, E>(
    ports: &P,
    settings: &Settings,
    permits: &Permits,
    caller: &Caller,
    content_type: &str,
    body: S,
) -> Result<BatchAccepted, Problem>
where
    P: Acceptor,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    let now = ports.now();
    let batch_id = BatchId::new(now, [ports.chance(), ports.chance()]);
    let form = upload::receive(ports, permits, content_type, body, batch_id).await?;
    let accepted = match Plan::new(settings, &form) {
        Ok(plan) => {
            let (batch, jobs) = plan.rows(caller, batch_id, &form, now);
            accept(ports, caller.tenant.plan, Some(&batch), &jobs).await
        }
        Err(problem) => Err(problem),
    };
    match accepted {
        Ok(()) => Ok(answer(batch_id, form)),
        Err(problem) => {
            form.discard(ports).await;
            Err(problem)
        }
    }
}

/// What the form's fields ask for, checked.
struct Plan {
    wishes: Wishes,
    template: &'static str,
    prompt: String,
    model: String,
    max_tokens: u32,
    /// Beside those of the PDF.
    input_tokens: Tokens,
}

impl Plan {
    fn new(settings: &Settings, form: &Form) -> Result<Self, Problem> {
        let mut wishes = wishes(&form.fields)?;
        let template = Template::named(form.fields.template.as_deref())?;
        let prompt = wishes.prompt.take().unwrap_or_else(|| template.text.to_owned());
        let model = wishes.model.take().unwrap_or_else(|| settings.default_model.clone());
        let max_tokens = wishes.max_tokens.unwrap_or(settings.default_max_tokens);
        let instructions =
            Instructions { model: &model, max_tokens, system: None, prompt: &prompt };
        form.check_for(&instructions)?;
        let input_tokens = instructions.input_tokens();
        Ok(Self { wishes, template: template.name, prompt, model, max_tokens, input_tokens })
    }

    fn rows(
        &self,
        caller: &Caller,
        batch_id: BatchId,
        form: &Form,
        now: Timestamp,
    ) -> (NewBatch, Vec<NewJob>) {
        let batch = NewBatch {
            batch_id,
            tenant_id: caller.tenant.tenant_id.clone(),
            user_id: caller.user_id.clone(),
            total: u32::try_from(form.files.len()).unwrap_or(u32::MAX),
            template: self.template.to_owned(),
            prompt: self.prompt.clone(),
            created_at: now,
        };
        let job = |file| self.job(caller, &batch, file);
        let jobs = form.files.iter().map(job).collect();
        (batch, jobs)
    }

    fn job(&self, caller: &Caller, batch: &NewBatch, file: &UploadedFile) -> NewJob {
        let origin = self.wishes.origin.unwrap_or(Origin::BatchJob);
        let pdf = estimate_pdf(file.bytes, file.pages, &self.model);
        let source = Source::Pdf {
            key: file.key.clone(),
            title: file.filename.clone(),
            max_tokens: self.max_tokens,
        };
        NewJob {
            job_id: file.job,
            batch_id: Some(batch.batch_id),
            batch_index: Some(file.index),
            filename: Some(file.filename.clone()),
            tenant_id: batch.tenant_id.clone(),
            user_id: batch.user_id.clone(),
            priority: self.wishes.priority(origin),
            origin,
            model: self.model.clone(),
            estimated_input_tokens: pdf.saturating_add(self.input_tokens).get(),
            max_output_tokens: self.max_tokens.into(),
            input: Input::new(caller, source).to_json(),
            metadata: self.wishes.metadata.clone(),
            created_at: batch.created_at,
        }
    }
}

/// The form's fields mean what the same fields of `POST /jobs` mean.
fn wishes(fields: &Fields) -> Result<Wishes, Problem> {
    let mut wishes = Wishes::default();
    let texts = [
        ("prompt", &fields.prompt),
        ("model", &fields.model),
        ("origin", &fields.origin),
        ("priority", &fields.priority),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            let json = serde_json::to_string(text).map_err(|_| Problem::internal())?;
            wishes.set(name, &json)?;
        }
    }
    let json = [
        ("maxTokens", &fields.max_tokens),
        ("deadlineSeconds", &fields.deadline_seconds),
        ("metadata", &fields.metadata),
    ];
    for (name, text) in json {
        if let Some(text) = text {
            wishes.set(name, text)?;
        }
    }
    Ok(wishes)
}

fn answer(batch_id: BatchId, form: Form) -> BatchAccepted {
    let file = |file: UploadedFile| AcceptedFile {
        job_id: file.job,
        index: file.index,
        filename: file.filename,
    };
    let jobs: Vec<_> = form.files.into_iter().map(file).collect();
    BatchAccepted {
        batch_id,
        total: u32::try_from(jobs.len()).unwrap_or(u32::MAX),
        poll_url: format!("/batches/{batch_id}"),
        jobs,
    }
}
