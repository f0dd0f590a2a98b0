//! What callers send: the fields of a job, in a body of JSON and in a form; and
//! what operators send.
use super::schemas::{Named, add};
use crate::domain::{Plan, TenantId};
use crate::pipeline::job_request::Wishes;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, Schema, Type};
use utoipa::openapi::{Object, ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

pub(super) fn all() -> Vec<Named> {
    let mut bodies = vec![
        ("JobRequest".to_owned(), job_request().into()),
        ("BatchForm".to_owned(), batch_form().into()),
    ];
    add::<NewTenant>(&mut bodies);
    add::<TenantChange>(&mut bodies);
    add::<NewKeyRequest>(&mut bodies);
    bodies
}

/// `POST /jobs`.
fn job_request() -> Schema {
    let request = object("Instead of `prompt`: parameters of the Messages API.");
    let mut body = wishes();
    body.properties.insert("request".to_owned(), request.into());
    closed(body, "A `prompt` or a `request`, and how it is to be served.")
}

/// `POST /batches`.
fn batch_form() -> Schema {
    let mut body = wishes();
    let text =
        |description| ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    body.properties.retain(|name, _| name != "system");
    let template = text("The name of a versioned prompt; `prompt` replaces its text.");
    body.properties.insert("template".to_owned(), template.into());
    let metadata = text("The caller's own notes, as JSON text of at most 4,096 bytes.");
    body.properties.insert("metadata".to_owned(), metadata.into());
    let pdf = text("A PDF.").content_media_type("application/pdf");
    let files = ArrayBuilder::new().items(pdf.build()).min_items(Some(1)).max_items(Some(100));
    body.properties.insert("files".to_owned(), files.into());
    body.required.push("files".to_owned());
    closed(body, "PDFs, and what every one of them is asked.")
}

fn wishes() -> Object {
    if let RefOr::T(Schema::Object(object)) = Wishes::schema() { object } else { Object::new() }
}

fn object(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::Object).description(Some(description)).build()
}

fn closed(mut body: Object, description: &str) -> Schema {
    body.description = Some(description.to_owned());
    // The service says which fields it takes, and refuses others by name.
    body.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    body.required.retain(|name| body.properties.contains_key(name));
    Schema::Object(body)
}

/// A tenant that is to be.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by name: pipeline/admin/fields.rs")]
struct NewTenant {
    tenant_id: TenantId,
    /// Its own id, if nothing is said.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    plan: Option<Plan>,
    #[schema(minimum = 1, maximum = 100)]
    weight: Option<u32>,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_u64)]
    daily_input_tokens: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    requests_per_minute: Option<u64>,
}

/// What is to change; `null` gives a number back to the plan.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by name: pipeline/admin/fields.rs")]
struct TenantChange {
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    name: Option<String>,
    #[schema(nullable = false)]
    plan: Option<Plan>,
    #[schema(minimum = 1, maximum = 100)]
    weight: Option<u32>,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_u64)]
    daily_input_tokens: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    requests_per_minute: Option<u64>,
    /// A suspended tenant's keys are refused; what was accepted still runs.
    #[schema(nullable = false)]
    suspended: Option<bool>,
}

/// A key that is to be.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by name: pipeline/admin/fields.rs")]
struct NewKeyRequest {
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
}
