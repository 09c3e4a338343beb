use std::net::SocketAddr;

use anyhow::Result;
use kit::Tasks;
use snippets::Snippets;
use tokio::net::TcpListener;

use crate::access::Door;
use crate::app::App;
use crate::grpc;
use crate::http::{self, Abandoned};
use crate::roles::Role;

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
        app.topics.ensure_all(&offers::TOPICS).await?;
    }
    let door = |address| Door { app: app.clone(), address };
    let serve = |port: TcpListener, calls| {
        let (limits, shutdown) = (app.config.limits.clone(), tasks.shutdown().clone());
        http::serve(port, http::routed(calls), Abandoned::Dropped, limits, shutdown)
    };
    let calls = http::router(door(http.1), snippets);
    tasks.spawn("http", serve(http.0, calls));
    let calls = grpc::router(door(grpc.1), tasks)?;
    tasks.spawn("grpc", serve(grpc.0, calls));
    Ok(())
}
