//! The HTTP and gRPC doors of the united offers. All of it is for services: a business is not a seller.

pub mod grpc;
pub mod json;
mod migrations;
mod offers;
mod shops;
mod stats;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::United;

pub fn routes() -> OpenApiRouter<United> {
    OpenApiRouter::new()
        .routes(routes!(stats::stats))
        .routes(routes!(offers::show, offers::put))
        .routes(routes!(shops::list))
        .routes(routes!(shops::put, shops::remove))
        .routes(routes!(migrations::list, migrations::ask))
}
