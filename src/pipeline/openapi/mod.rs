//! The API as an `OpenAPI` document: what the types say of themselves, under the
//! routes they answer. Native only; `cargo run --example openapi` writes it to
//! `docs/openapi.json`.
mod bodies;
mod operations;
mod parameters;
mod schemas;

pub(in crate::pipeline) use schemas::{Named, add};

use super::route::ROUTES;
use operations::Operation;
use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};

/// The whole document.
#[must_use]
pub fn document() -> OpenApi {
    let described = operations::all();
    let mut paths = PathsBuilder::new();
    for (method, template) in ROUTES {
        let is_it = |known: &&Operation| known.method == method && known.template == template;
        if let Some(operation) = described.iter().find(is_it) {
            let item = PathItem::new(http(method), operation.build(security(template)));
            paths = paths.path(path(template), item);
        }
    }
    let info = InfoBuilder::new()
        .title("claude-pipeline")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("A job pipeline for the Claude Messages API."));
    OpenApiBuilder::new().info(info).paths(paths).components(Some(components().build())).build()
}

/// The document as it stands in `docs/openapi.json`.
///
/// # Errors
///
/// It cannot be written as JSON.
pub fn text() -> serde_json::Result<String> {
    Ok(document().to_pretty_json()? + "\n")
}

/// `/jobs/:job` as `OpenAPI` has it: `/jobs/{job}`.
fn path(template: &str) -> String {
    let segment = |part: &str| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    };
    template.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn http(method: &str) -> HttpMethod {
    match method {
        "POST" => HttpMethod::Post,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn security(template: &str) -> Vec<SecurityRequirement> {
    let need = |name| SecurityRequirement::new(name, [] as [&str; 0]);
    match template {
        "/healthz" => Vec::new(),
        path if path.starts_with("/admin") => vec![need(OPERATOR)],
        _ => vec![need(BEARER), need(X_API_KEY)],
    }
}

fn components() -> ComponentsBuilder {
    let bearer = |description| {
        let http = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
        SecurityScheme::Http(http.description(Some(description)).build())
    };
    let header = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
    ComponentsBuilder::new()
        .schemas_from_iter(schemas::all())
        .security_scheme(BEARER, bearer("A tenant's key."))
        .security_scheme(X_API_KEY, header)
        .security_scheme(OPERATOR, bearer("`ADMIN_TOKEN`, the operator's."))
}

const BEARER: &str = "tenantKey";
const X_API_KEY: &str = "tenantKeyHeader";
const OPERATOR: &str = "operatorToken";
