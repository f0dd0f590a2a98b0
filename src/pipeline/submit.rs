//! `POST /jobs`: from a body to a job that will end, whatever crashes.
use super::accept::{Acceptor, accept, discard};
use super::answer::{Answer, Answered};
use super::caller::Caller;
use super::idempotency::{self, Fingerprint, Made, new_key};
use super::input::{Input, Source, input_key};
use super::intake::{self, Received, RequestFacts, RequestPlace};
use super::job_request::{Wishes, checked_model};
use super::places::Places;
use super::ports::ObjectMeta;
use super::problem::Problem;
use super::retry::patiently;
use super::settings::Settings;
use super::store::{NewJob, NewJobs};
use super::upload::Permits;
use crate::claude::Instructions;
use crate::domain::{JobId, JobStatus, Origin, Priority, Tokens};
use crate::scheduler::Demoted;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The answer to `POST /jobs`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accepted {
    job_id: JobId,
    status: JobStatus,
    priority: Priority,
    poll_url: String,
    /// The tenant has lost its priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Demoted>)]
    demotion: Option<Box<RawValue>>,
}

/// Accepts one job.
///
/// # Errors
///
/// A [`Problem`]; then nothing is left behind.
pub async fn submit<P, S, E>(
    ports: &P,
    settings: &Settings,
    permits: &Permits,
    caller: &Caller,
    body: S,
) -> Answered
where
    P: Acceptor,
    S: Stream<Item = Result<Bytes, E>>,
{
    let print = Fingerprint::of(caller);
    if let Some(earlier) = idempotency::earlier(ports, caller).await? {
        print.read(body).await?;
        return idempotency::replay(&earlier, &print);
    }
    let job_id = JobId::new(ports.now(), [ports.chance(), ports.chance()]);
    let places = Places::for_job(ports, settings, caller, job_id).await?;
    let body = body.inspect_ok(|chunk| print.push(chunk));
    let received = intake::receive(ports, body, job_id, permits, settings.inline_input_bytes).await;
    let made = match received {
        Ok(received) => {
            let made = make(ports, settings, (caller, &print), &places, (job_id, received)).await;
            if !matches!(made, Ok(Made::New(_))) {
                discard(ports, vec![input_key(job_id)]).await;
            }
            made
        }
        Err(problem) => Err(problem),
    };
    idempotency::settle(&places, &print, made).await
}

/// From a body that was received to an accepted job.
async fn make<P: Acceptor>(
    ports: &P,
    settings: &Settings,
    (caller, print): (&Caller, &Fingerprint),
    places: &Places<'_, P>,
    (job_id, received): (JobId, Received),
) -> Result<Made, Problem> {
    let draft = Draft::new(settings, received)?;
    let priority = draft.wishes.priority(draft.origin);
    let poll_url = format!("/jobs/{job_id}");
    let demotion = places.demotion();
    let accepted = Accepted { job_id, status: JobStatus::Pending, priority, poll_url, demotion };
    let answer = Answer::json(202, &accepted)?.with("location", &accepted.poll_url);
    let job = NewJob {
        job_id,
        batch_id: None,
        batch_index: None,
        filename: None,
        tenant_id: caller.tenant.tenant_id.clone(),
        user_id: caller.user_id.clone(),
        priority,
        origin: draft.origin,
        model: draft.model,
        estimated_input_tokens: draft.input_tokens.get(),
        max_output_tokens: draft.max_tokens,
        input: Input::new(caller, keep(ports, settings, job_id, draft.place).await?).to_json(),
        metadata: draft.wishes.metadata,
        created_at: ports.now(),
    };
    let key =
        new_key(ports, caller, print, (&accepted.poll_url, &answer.body), job_id.created_at());
    let new = NewJobs { batch: None, jobs: &[job], key: key.as_ref() };
    let before = accept(ports, &caller.tenant, new).await?;
    Ok(before.map_or(Made::New(answer), Made::Before))
}

/// A job as its caller wants it, checked.
struct Draft {
    wishes: Wishes,
    origin: Origin,
    model: String,
    max_tokens: u64,
    input_tokens: Tokens,
    place: RequestPlace,
}

impl Draft {
    fn new(settings: &Settings, received: Received) -> Result<Self, Problem> {
        let mut wishes = Wishes::default();
        for (name, json) in &received.body.fields {
            wishes.set(name, json)?;
        }
        match (received.body.request, received.place) {
            (Some(facts), Some(place)) => Self::of_request(wishes, &facts, place),
            _ => Self::of_prompt(wishes, settings),
        }
    }

    fn of_prompt(mut wishes: Wishes, settings: &Settings) -> Result<Self, Problem> {
        let prompt = wishes.prompt.take().ok_or_else(|| {
            Problem::field(
                "prompt",
                "the body needs a `prompt` (a string) or a `request` (an object)",
            )
        })?;
        let model = wishes.model.take().unwrap_or_else(|| settings.default_model.clone());
        let max_tokens = wishes.max_tokens.unwrap_or(settings.default_max_tokens);
        let system = wishes.system.take();
        let instructions =
            Instructions { model: &model, max_tokens, system: system.as_deref(), prompt: &prompt };
        let input_tokens = instructions.input_tokens();
        let place = RequestPlace::Inline(instructions.body());
        Ok(Self {
            origin: wishes.origin.unwrap_or(Origin::UserAction),
            wishes,
            model,
            max_tokens: max_tokens.into(),
            input_tokens,
            place,
        })
    }

    fn of_request(
        wishes: Wishes,
        facts: &RequestFacts,
        place: RequestPlace,
    ) -> Result<Self, Problem> {
        wishes.only_beside_request()?;
        let missing =
            |field: &str| Problem::field(field, format!("`{field}` is missing; Claude needs it"));
        let model = facts.model.as_deref().ok_or_else(|| missing("request.model"))?;
        let model = checked_model("request.model", model)?;
        let max_tokens = facts.max_tokens.ok_or_else(|| missing("request.max_tokens"))?;
        if !facts.has_messages {
            return Err(missing("request.messages"));
        }
        let input_tokens = facts.counts.tokens(&model);
        Ok(Self {
            origin: wishes.origin.unwrap_or(Origin::UserAction),
            wishes,
            model,
            max_tokens,
            input_tokens,
            place,
        })
    }
}

/// A small body goes into the row, a large one into R2.
async fn keep<P: Acceptor>(
    ports: &P,
    settings: &Settings,
    job: JobId,
    place: RequestPlace,
) -> Result<Source, Problem> {
    match place {
        RequestPlace::Object { key, .. } => Ok(Source::Object { key }),
        RequestPlace::Inline(body) if body.len() <= settings.inline_input_bytes => {
            Ok(Source::Inline { body })
        }
        RequestPlace::Inline(body) => {
            let key = input_key(job);
            let put = async || {
                let meta = ObjectMeta { content_type: "application/json", custom: Vec::new() };
                ports.put_new(&key, body.as_bytes(), meta).await
            };
            patiently(ports, put).await?;
            Ok(Source::Object { key })
        }
    }
}
