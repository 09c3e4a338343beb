//! The doors of the offers: HTTP and gRPC. Each route asks [`web::Access`] first; what another seller owns is not there.

mod body;
mod call;
mod docs;
pub mod fsck;
pub mod grpc;
pub mod json;
mod routes;

pub use routes::routes;
