//! Every schema, by the name of its type.
use super::bodies;
use crate::pipeline::{
    admin,
    health::Health,
    list,
    notice::Notice,
    problem::Problem,
    submit, submit_batch,
    view::{BatchView, JobView},
};
use utoipa::ToSchema;
use utoipa::openapi::schema::{OneOf, Schema, SchemaType, Type};
use utoipa::openapi::{Object, RefOr};

/// A schema and its name.
pub(in crate::pipeline) type Named = (String, RefOr<Schema>);

pub(super) fn all() -> Vec<Named> {
    let mut answers = Vec::new();
    add::<Health>(&mut answers);
    add::<submit::Accepted>(&mut answers);
    add::<submit_batch::BatchAccepted<'_>>(&mut answers);
    add::<JobView>(&mut answers);
    add::<BatchView>(&mut answers);
    add::<list::Jobs>(&mut answers);
    add::<list::Batches>(&mut answers);
    add::<Problem>(&mut answers);
    add::<Notice<'_>>(&mut answers);
    admin::schemas(&mut answers);
    for (_, schema) in &mut answers {
        never_null(schema);
    }
    answers.extend(bodies::all());
    answers
}

/// Adds a type's schema, and those it is made of.
pub(in crate::pipeline) fn add<T: ToSchema>(to: &mut Vec<Named>) {
    to.push((T::name().into_owned(), T::schema()));
    T::schemas(to);
}

/// A property of an answer that need not be there is absent, never `null`.
fn never_null(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::Object(Object { properties, required, .. })) = schema else { return };
    let optional = properties.iter_mut().filter(|(name, _)| !required.contains(name));
    optional.for_each(|(_, property)| without_null(property));
}

fn without_null(property: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(Object { schema_type, .. })) = property {
        if let SchemaType::Array(types) = schema_type
            && let Some(only) = types.iter().find(|known| **known != Type::Null)
        {
            *schema_type = SchemaType::Type(only.clone());
        }
    } else if let RefOr::T(Schema::OneOf(OneOf { items, .. })) = property {
        items.retain(|item| !is_null(item));
        if let [only] = items.as_slice() {
            *property = only.clone();
        }
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    let null = SchemaType::Type(Type::Null);
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == null)
}
