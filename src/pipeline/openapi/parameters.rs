//! What a request may say beside its body.
use crate::domain::{BatchId, JobId, JobStatus, Priority, TenantId};
use crate::pipeline::view::BatchStatus;
use utoipa::PartialSchema;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Required};

/// Those that a path's template names.
pub(super) fn of_path(template: &str) -> Vec<Parameter> {
    let names = template.split('/').filter_map(|part| part.strip_prefix(':'));
    let required = |name| {
        let schema = match name {
            "job" => JobId::schema(),
            "batch" => BatchId::schema(),
            "tenant" => TenantId::schema(),
            _ => text().into(),
        };
        let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
        parameter.required(Required::True).schema(Some(schema)).build()
    };
    names.map(required).collect()
}

pub(super) fn of_jobs() -> Vec<Parameter> {
    let mut parameters = vec![
        query("status", "Only jobs of this status.", JobStatus::schema()),
        query("batch", "Only jobs of this batch.", BatchId::schema()),
        query("userId", "Only jobs submitted with this `x-user-id`.", text()),
        query("cursor", CURSOR, text()),
    ];
    parameters.extend(of_lists());
    parameters
}

pub(super) fn of_batches() -> Vec<Parameter> {
    let mut parameters = vec![
        query("status", "Only batches of this status.", BatchStatus::schema()),
        query("cursor", CURSOR, text()),
    ];
    parameters.extend(of_lists());
    parameters
}

pub(super) fn of_tenants() -> Vec<Parameter> {
    vec![limit(), query("cursor", CURSOR, TenantId::schema())]
}

pub(super) fn of_keys() -> Vec<Parameter> {
    vec![query("prefix", "Only keys that begin so.", text())]
}

pub(super) fn of_audit() -> Vec<Parameter> {
    let tenant = query("tenant", "Only changes of this tenant.", TenantId::schema());
    vec![limit(), query("cursor", CURSOR, text()), tenant]
}

pub(super) fn of_deletion() -> Vec<Parameter> {
    let truth = ObjectBuilder::new().schema_type(Type::Boolean);
    vec![query("purge", "Remove the content of what has ended, instead of canceling.", truth)]
}

pub(super) fn of_result() -> Vec<Parameter> {
    let format = text().enum_values(Some(["text", "message"]));
    vec![query("format", "The text (default), or Claude's whole message.", format)]
}

/// Headers of both submissions.
pub(super) fn of_submission() -> Vec<Parameter> {
    let key = "The same request under the same key is answered as the first time, for 24 h.";
    let version = text().pattern(Some(r"^\d{4}-\d\d-\d\d$"));
    vec![
        header("x-user-id", "A label inside the tenant.", text().max_length(Some(128))),
        header("idempotency-key", key, text().max_length(Some(255))),
        header("anthropic-version", "Sent with the call to Claude.", version),
        header("anthropic-beta", "Likewise.", text().max_length(Some(2_000))),
    ]
}

pub(super) fn prefer() -> Parameter {
    header("prefer", "`wait=N`: answer when the job ends, or after N s (60 at most).", text())
}

fn of_lists() -> Vec<Parameter> {
    let moment = || text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    vec![
        query("priority", "Only of this priority.", Priority::schema()),
        query("createdAfter", "Only what was created then or later.", moment()),
        query("createdBefore", "Only what was created before then.", moment()),
        limit(),
    ]
}

fn limit() -> Parameter {
    let whole = ObjectBuilder::new().schema_type(Type::Integer);
    let schema = whole.minimum(Some(1)).maximum(Some(100)).default(Some(20.into()));
    query("limit", "How many a page may have.", schema)
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn query(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Query, name, description, schema.into())
}

fn header(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Header, name, description, schema.into())
}

fn parameter(at: ParameterIn, name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let named = ParameterBuilder::new().name(name).parameter_in(at);
    named.required(Required::False).description(Some(description)).schema(Some(schema)).build()
}

const CURSOR: &str = "`nextCursor` of the page before.";
