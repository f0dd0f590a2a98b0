//! What each route does, takes and answers.
use super::parameters::{self, prefer};
use utoipa::openapi::path::{self, OperationBuilder, Parameter};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
};

/// A route, described.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) template: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: Vec<Parameter>,
    body: Option<(&'static str, &'static str)>,
    answers: Vec<(u16, &'static str)>,
    refusals: &'static [u16],
}

/// In the order of `ROUTES`.
pub(super) fn all() -> Vec<Operation> {
    [health(), jobs(), batches(), tenants(), keys()].into_iter().flatten().collect()
}

fn health() -> Vec<Operation> {
    vec![
        get("/healthz", "health", "Whether the service answers and releases jobs")
            .answers(&[(200, "Health"), (503, "Health")]),
    ]
}

fn jobs() -> Vec<Operation> {
    let mut submitting = parameters::of_submission();
    submitting.push(prefer());
    vec![
        on("POST", "/jobs", "submitJob", "Submit a job")
            .takes(submitting)
            .body("application/json", "JobRequest")
            .answers(&[(202, "Accepted"), (200, "Job")])
            .refuses(&[400, 401, 403, 413, 415, 422, 429]),
        get("/jobs", "listJobs", "List jobs, the newest first")
            .takes(parameters::of_jobs())
            .answers(&[(200, "Jobs")])
            .refuses(&[400, 401, 403]),
        get("/jobs/:job", "readJob", "How a job stands")
            .takes(vec![prefer()])
            .answers(&[(200, "Job")])
            .refuses(&[400, 401, 403, 404]),
        on("DELETE", "/jobs/:job", "deleteJob", "Cancel a job, or purge it")
            .takes(parameters::of_deletion())
            .answers(&[(200, "Job")])
            .refuses(&[400, 401, 403, 404, 409]),
        get("/jobs/:job/result", "readResult", "A job's answer")
            .takes(parameters::of_result())
            .answers(&[(200, RESULT)])
            .refuses(&[400, 401, 403, 404, 409, 410]),
    ]
}

fn batches() -> Vec<Operation> {
    vec![
        on("POST", "/batches", "submitBatch", "Submit PDFs, one job each")
            .takes(parameters::of_submission())
            .body("multipart/form-data", "BatchForm")
            .answers(&[(202, "BatchAccepted")])
            .refuses(&[400, 401, 403, 413, 415, 422, 429]),
        get("/batches", "listBatches", "List batches, the newest first")
            .takes(parameters::of_batches())
            .answers(&[(200, "Batches")])
            .refuses(&[400, 401, 403]),
        get("/batches/:batch", "readBatch", "How a batch stands")
            .answers(&[(200, "Batch")])
            .refuses(&[400, 401, 403, 404]),
        on("DELETE", "/batches/:batch", "deleteBatch", "Cancel a batch's jobs, or purge them")
            .takes(parameters::of_deletion())
            .answers(&[(200, "Batch")])
            .refuses(&[400, 401, 403, 404, 409]),
    ]
}

fn tenants() -> Vec<Operation> {
    vec![
        on("POST", "/admin/tenants", "createTenant", "Create a tenant")
            .body("application/json", "NewTenant")
            .answers(&[(201, "Tenant")])
            .refuses(&[400, 401, 409, 413, 415]),
        get("/admin/tenants", "listTenants", "List tenants")
            .takes(parameters::of_tenants())
            .answers(&[(200, "Tenants")])
            .refuses(&[400, 401]),
        get("/admin/tenants/:tenant", "readTenant", "A tenant")
            .answers(&[(200, "Tenant")])
            .refuses(&[400, 401, 404]),
        on("PATCH", "/admin/tenants/:tenant", "changeTenant", "Change a tenant, or suspend it")
            .body("application/json", "TenantChange")
            .answers(&[(200, "Tenant")])
            .refuses(&[400, 401, 404, 413, 415]),
    ]
}

fn keys() -> Vec<Operation> {
    vec![
        on("POST", "/admin/tenants/:tenant/keys", "createKey", "Create a key; it is shown once")
            .body("application/json", "NewKeyRequest")
            .answers(&[(201, "NewKey")])
            .refuses(&[400, 401, 404, 413, 415]),
        get("/admin/tenants/:tenant/keys", "listKeys", "List a tenant's keys")
            .takes(parameters::of_keys())
            .answers(&[(200, "Keys")])
            .refuses(&[400, 401, 404]),
        on("DELETE", "/admin/tenants/:tenant/keys/:prefix", "revokeKey", "Revoke a key")
            .answers(&[(200, "Key")])
            .refuses(&[400, 401, 404]),
        get("/admin/audit", "readAudit", "What operators changed, the newest first")
            .takes(parameters::of_audit())
            .answers(&[(200, "Audit")])
            .refuses(&[400, 401]),
    ]
}

fn get(template: &'static str, id: &'static str, summary: &'static str) -> Operation {
    on("GET", template, id, summary)
}

fn on(
    method: &'static str,
    template: &'static str,
    id: &'static str,
    summary: &'static str,
) -> Operation {
    Operation {
        method,
        template,
        id,
        summary,
        parameters: parameters::of_path(template),
        body: None,
        answers: Vec::new(),
        refusals: &[],
    }
}

impl Operation {
    fn takes(mut self, parameters: Vec<Parameter>) -> Self {
        self.parameters.extend(parameters);
        self
    }

    fn body(self, content_type: &'static str, schema: &'static str) -> Self {
        Self { body: Some((content_type, schema)), ..self }
    }

    fn answers(self, answers: &[(u16, &'static str)]) -> Self {
        Self { answers: answers.to_vec(), ..self }
    }

    fn refuses(self, refusals: &'static [u16]) -> Self {
        Self { refusals, ..self }
    }

    pub(super) fn build(&self, security: Vec<SecurityRequirement>) -> path::Operation {
        let mut operation = OperationBuilder::new()
            .operation_id(Some(self.id))
            .summary(Some(self.summary))
            .parameters(Some(self.parameters.clone()))
            .request_body(self.body.map(request_body))
            .securities(Some(security));
        for (status, schema) in &self.answers {
            operation = operation.response(status.to_string(), answer(schema));
        }
        let answered = |status: &u16| self.answers.iter().any(|(known, _)| known == status);
        for status in self.refusals.iter().chain(&ALWAYS).filter(|status| !answered(status)) {
            operation = operation.response(status.to_string(), refusal(*status));
        }
        operation.build()
    }
}

fn request_body((content_type, schema): (&str, &str)) -> RequestBody {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema)));
    let optional = schema == "NewKeyRequest";
    let required = if optional { Required::False } else { Required::True };
    RequestBodyBuilder::new()
        .content(content_type, content.build())
        .required(Some(required))
        .build()
}

fn answer(schema: &str) -> Response {
    let content = |schema: RefOr<Schema>| ContentBuilder::new().schema(Some(schema)).build();
    if schema == RESULT {
        let of = |kind| ObjectBuilder::new().schema_type(kind);
        let answer = ResponseBuilder::new().description("The answer, in the form asked for");
        let text = answer.content("text/plain", content(of(Type::String).into()));
        return text.content("application/json", content(of(Type::Object).into())).build();
    }
    let body = content(Ref::from_schema_name(schema).into());
    ResponseBuilder::new().description(schema).content("application/json", body).build()
}

fn refusal(status: u16) -> Response {
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let refusal = ResponseBuilder::new().content("application/problem+json", problem);
    let whole = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    let after = HeaderBuilder::new().schema(Some(whole)).description(Some("In seconds."));
    match status {
        429 | 503 => refusal.header("Retry-After", after.build()),
        _ => refusal,
    }
    .description(meaning(status))
    .build()
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request is not valid; `field` names what is wrong",
        401 => "A valid key is needed",
        403 => "The tenant is suspended",
        404 => "There is nothing here for this key",
        409 => "Not in this state",
        410 => "The content was removed",
        413 => "Too much",
        415 => "A body of another type is needed",
        422 => "The idempotency key stands for another request",
        429 => "A limit at the door",
        503 => "A store is away; nothing was accepted",
        _ => "The fault is the service's",
    }
}

/// What any route may answer.
const ALWAYS: [u16; 2] = [500, 503];
/// A job's answer is no JSON of ours.
const RESULT: &str = "result";
