//! `POST /batches`: from a form of PDFs to one job each.
use super::accept::{Acceptor, accept};
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::idempotency::{self, Fingerprint, Made, new_key};
use super::input::{Input, Source};
use super::job_request::Wishes;
use super::places::Places;
use super::problem::Problem;
use super::settings::Settings;
use super::store::{NewBatch, NewJob, NewJobs};
use super::templates::Template;
use super::upload::{self, Fields, Form, Permits, UploadedFile};
use crate::claude::{Instructions, estimate_pdf};
use crate::domain::{BatchId, JobId, Origin, Timestamp, Tokens};
use crate::scheduler::Demoted;
use bytes::Bytes;
use futures_util::Stream;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

/// The answer to `POST /batches`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BatchAccepted<'a> {
    batch_id: BatchId,
    total: u32,
    poll_url: String,
    /// The tenant has lost its priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Demoted>)]
    demotion: Option<Box<RawValue>>,
    jobs: Vec<AcceptedFile<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AcceptedFile<'a> {
    job_id: JobId,
    index: u32,
    /// Absent in the answer to a request that is sent again after the file was
    /// purged.
    #[schema(required = false)]
    filename: &'a str,
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
) -> Answered
where
    P: Acceptor,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    let print = Fingerprint::of(caller);
    if let Some(earlier) = idempotency::earlier(ports, caller).await? {
        upload::fingerprint(content_type, body, &print).await?;
        return idempotency::replay(&earlier, &print);
    }
    let chances = || [ports.chance(), ports.chance()];
    let (first, batch_id) =
        (JobId::new(ports.now(), chances()), BatchId::new(ports.now(), chances()));
    let mut places = Places::for_form(ports, settings, caller, first).await?;
    let arriving = upload::Arriving { content_type, body, batch: batch_id, first, print: &print };
    let made = match upload::receive(ports, permits, arriving, &mut places).await {
        Ok(form) => {
            let made = make(ports, settings, (caller, &print), &places, (batch_id, &form)).await;
            if !matches!(made, Ok(Made::New(_))) {
                form.discard(ports).await;
            }
            made
        }
        Err(problem) => Err(problem),
    };
    idempotency::settle(&places, &print, made).await
}

/// From a form that was received to an accepted batch.
async fn make<P: Acceptor>(
    ports: &P,
    settings: &Settings,
    (caller, print): (&Caller, &Fingerprint),
    places: &Places<'_, P>,
    (batch_id, form): (BatchId, &Form),
) -> Result<Made, Problem> {
    let (batch, jobs) = Plan::new(settings, form)?.rows(caller, (batch_id, ports.now()), form);
    let poll_url = format!("/batches/{batch_id}");
    let accepted = BatchAccepted {
        batch_id,
        total: batch.total,
        poll_url,
        demotion: places.demotion(),
        jobs: form.files.iter().map(AcceptedFile::from).collect(),
    };
    let answer = Answer::json(202, &accepted)?.with("location", &accepted.poll_url);
    let key =
        new_key(ports, caller, print, (&accepted.poll_url, &answer.body), batch_id.created_at());
    let new = NewJobs { batch: Some(&batch), jobs: &jobs, key: key.as_ref() };
    let before = accept(ports, &caller.tenant, new).await?;
    Ok(before.map_or(Made::New(answer), Made::Before))
}

impl<'a> From<&'a UploadedFile> for AcceptedFile<'a> {
    fn from(file: &'a UploadedFile) -> Self {
        Self { job_id: file.job, index: file.index, filename: &file.filename }
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
        (batch_id, created_at): (BatchId, Timestamp),
        form: &Form,
    ) -> (NewBatch, Vec<NewJob>) {
        let batch = NewBatch {
            batch_id,
            tenant_id: caller.tenant.tenant_id.clone(),
            user_id: caller.user_id.clone(),
            priority: self.wishes.priority(self.origin()),
            total: u32::try_from(form.files.len()).unwrap_or(u32::MAX),
            template: self.template.to_owned(),
            prompt: self.prompt.clone(),
            created_at,
        };
        let job = |file| self.job(caller, &batch, file);
        let jobs = form.files.iter().map(job).collect();
        (batch, jobs)
    }

    fn job(&self, caller: &Caller, batch: &NewBatch, file: &UploadedFile) -> NewJob {
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
            priority: batch.priority,
            origin: self.origin(),
            model: self.model.clone(),
            estimated_input_tokens: pdf.saturating_add(self.input_tokens).get(),
            max_output_tokens: self.max_tokens.into(),
            input: Input::new(caller, source).to_json(),
            metadata: self.wishes.metadata.clone(),
            created_at: batch.created_at,
        }
    }

    fn origin(&self) -> Origin {
        self.wishes.origin.unwrap_or(Origin::BatchJob)
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
    let numbers =
        [("maxTokens", &fields.max_tokens), ("deadlineSeconds", &fields.deadline_seconds)];
    for (name, text) in numbers {
        if let Some(text) = text {
            // What is no number is refused as the text it is.
            let number =
                text.trim().parse::<u64>().map_or_else(|_| text.as_str().into(), Value::from);
            wishes.set(name, &number.to_string())?;
        }
    }
    if let Some(json) = &fields.metadata {
        wishes.set("metadata", json)?;
    }
    Ok(wishes)
}
