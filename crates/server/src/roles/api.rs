use std::net::SocketAddr;

use anyhow::Result;
use kit::Tasks;
use snippets::Snippets;
use tokio::net::TcpListener;

use crate::access::Door;
use crate::app::App;
use crate::roles::Role;
use crate::{grpc, http};

/// A taken address.
pub type Taken = (TcpListener, SocketAddr);

/// Serves the ports in the background. Every process listens, whatever its roles, so that it can be asked how it is; the
/// routes of the API itself are there only with the role `api`.
pub async fn start(
    app: &App,
    http: Taken,
    grpc: Taken,
    snippets: Option<Snippets>,
    tasks: &Tasks,
) -> Result<()> {
    if app.config.roles.has(Role::Api) {
        for topic in offers::TOPICS {
            app.topics.ensure(topic, app.config.topic.partitions).await?;
        }
    }
    let door = |address| Door { app: app.clone(), address };
    let limits = || app.config.limits.clone();
    let calls = http::router(door(http.1), snippets);
    tasks.spawn("http", http::serve(http.0, http::routed(calls), limits(), tasks.shutdown().clone()));
    let calls = grpc::router(door(grpc.1), tasks)?;
    tasks.spawn("grpc", http::serve(grpc.0, http::routed(calls), limits(), tasks.shutdown().clone()));
    Ok(())
}
