use utoipa::Number;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, KnownFormat, Object, Schema, SchemaFormat};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, RefOr, ResponseBuilder};

const SCHEME: &str = "access_token";

/// Adds what holds for every call: it may be answered with a problem, and needs an access token.
pub fn complete(api: &mut OpenApi) {
    let token = Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("dvor_<id>_<secret>").build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(token));
    api.security = Some(vec![SecurityRequirement::new(SCHEME, [""; 0])]);
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let problem = ResponseBuilder::new()
        .description("What went wrong; `type` has a stable name")
        .content("application/problem+json", problem)
        .build();
    for schema in components.schemas.values_mut() {
        bound(schema);
    }
    for operation in api.paths.paths.values_mut().flat_map(operations) {
        operation.responses.responses.insert("default".to_owned(), problem.clone().into());
        let parameters = operation.parameters.iter_mut().flatten();
        let schemas = parameters.filter_map(|parameter| match parameter {
            RefOr::T(parameter) => parameter.schema.as_mut(),
            RefOr::Ref(_) => None,
        });
        schemas.for_each(bound);
    }
}

/// A number beyond it is none of ours, in either direction.
const MAX_NUMBER: f64 = model::limits::MAX_NUMBER;

/// Says of numbers what their types hold to, where nothing narrower is said.
fn bound(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            bound_number(object);
            object.properties.values_mut().for_each(bound);
            if let Some(AdditionalProperties::RefOr(values)) = object.additional_properties.as_deref_mut() {
                bound(values);
            }
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                bound(items);
            }
        }
        Schema::OneOf(one) => one.items.iter_mut().for_each(bound),
        Schema::AllOf(all) => all.items.iter_mut().for_each(bound),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(bound),
        _ => {}
    }
}

fn bound_number(object: &mut Object) {
    let is = |known: KnownFormat| object.format == Some(SchemaFormat::KnownFormat(known));
    let (min, max) = if is(KnownFormat::Int32) && object.minimum.is_some() {
        (Number::UInt(0), Number::UInt(u32::MAX as usize))
    } else if is(KnownFormat::Double) {
        (Number::Float(-MAX_NUMBER), Number::Float(MAX_NUMBER))
    } else {
        return;
    };
    object.minimum.get_or_insert(min);
    object.maximum.get_or_insert(max);
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}
