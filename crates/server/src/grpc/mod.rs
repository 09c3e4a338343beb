//! The gRPC port: health and reflection now, the services of the systems as they come, behind the same door and in the
//! same frame as HTTP.

use anyhow::Result;
use axum::Router;
use axum::middleware::from_fn_with_state;
use kit::Tasks;
use tonic::service::Routes;
use tonic_health::ServingStatus;

use crate::access::{Door, guard_grpc};
use crate::http::frame;

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
        .build_v1()?;
    let app = door.app.clone();
    Ok(Routes::new(health_service)
        .add_service(reflection)
        .into_axum_router()
        .layer(from_fn_with_state(door, guard_grpc))
        .layer(from_fn_with_state(app, frame)))
}
