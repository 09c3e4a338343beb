//! The gRPC port: health, reflection and the services of the systems, behind the same door and in the same frame as
//! HTTP.

use anyhow::Result;
use axum::Router;
use axum::middleware::from_fn_with_state;
use kit::Tasks;
use tonic::service::Routes;
use tonic_health::ServingStatus;

use crate::access::Door;
use crate::http::frame;
use crate::roles::Role;

pub fn router(door: Door, tasks: &Tasks) -> Result<Router> {
    let (health, health_service) = tonic_health::server::health_reporter();
    let ending = door.app.ending.clone();
    tasks.spawn("grpc health", async move {
        health.set_service_status("", ServingStatus::Serving).await;
        ending.called().await;
        health.set_service_status("", ServingStatus::NotServing).await;
    });
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(wire::DESCRIPTORS)
        .build_v1()?;
    let app = &door.app;
    let routes = Routes::new(health_service).add_service(reflection);
    let routes = if app.config.roles.has(Role::Api) {
        routes
            .add_service(offers::api::grpc::service(app.offers.clone()))
            .add_service(stages::api::grpc::service(app.stages.clone()))
            .add_service(united::api::grpc::service(app.united.clone()))
    } else {
        routes
    };
    Ok(routes.into_axum_router().layer(from_fn_with_state(door, frame)))
}
