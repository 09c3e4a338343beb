//! What every call may be answered with, for the description of the API.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Refusals of a call that reads.
pub(super) struct Reading;
/// Refusals of a call that changes something.
pub(super) struct Writing;

const READING: &[(&str, &str)] = &[
    ("400", "The request cannot be read"),
    ("401", "An access token is needed"),
    ("404", "There is no such thing, or it is somebody else's"),
    ("422", "Some value is not valid; `errors` names each field"),
    ("429", "Too many requests, or a quota is used up; `type` names it"),
    ("503", "Not available now, or the outcome is not known"),
];
const WRITING: &[(&str, &str)] = &[("409", "It is in another state; `type` says which rule")];

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
