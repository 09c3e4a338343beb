//! What every call may be answered with, for the description of the API.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// The header of a call that must not happen twice.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes the header")]
pub(crate) struct IdempotencyKey {
    /// A repeat with the same key within 24 hours gives the same offer.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    idempotency_key: Option<String>,
}

/// Refusals of a call that reads.
pub(crate) struct Reading;
/// Refusals of a call that changes something.
pub(crate) struct Writing;

const READING: &[(&str, &str)] = &[
    ("400", "An id or the request cannot be read"),
    ("401", "An access token is needed"),
    ("403", "The token does not allow this"),
    ("404", "There is no such thing, or it is somebody else's"),
    ("422", "Some value is not valid; `errors` names each field"),
    ("429", "Too many requests"),
    ("503", "Not available now, or the outcome is not known"),
];
const WRITING: &[(&str, &str)] = &[
    ("409", "It is in another state; `type` says which rule"),
    ("412", "It has changed since the version in If-Match"),
    ("413", "More than 102,400 bytes of content, or the body is too large"),
    ("415", "The body is not JSON"),
];

impl utoipa::IntoResponses for Reading {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        READING.iter().map(answer).collect()
    }
}

impl utoipa::IntoResponses for Writing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        READING.iter().chain(WRITING).map(answer).collect()
    }
}

fn answer((status, description): &(&str, &str)) -> (String, RefOr<Response>) {
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let response =
        ResponseBuilder::new().description(*description).content("application/problem+json", problem).build();
    ((*status).to_owned(), response.into())
}
