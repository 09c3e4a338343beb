use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, ResponseBuilder};

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
    for operation in api.paths.paths.values_mut().flat_map(operations) {
        operation.responses.responses.insert("default".to_owned(), problem.clone().into());
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}
