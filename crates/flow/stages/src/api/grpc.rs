//! The states of stages, for the stages of other programs themselves.

use model::OfferId;
use tonic::{Request, Response, Status};
use web::{Access, Code, Problem};
use wire::stages::{ReadStateRequest, ReadStateResponse, UpdateStateRequest, UpdateStateResponse};

use super::http::problem;
use crate::{Error, Stages};

/// Generated.
#[allow(clippy::all, clippy::pedantic, unreachable_pub)]
mod service {
    include!(concat!(env!("OUT_DIR"), "/dvor.stages.v1.rs"));
}

pub use service::stage_client::StageClient;
/// What a stage in another program implements, for those who write one in Rust.
pub use service::stage_server::{Stage as StageService, StageServer};
pub use service::stage_state_client::StageStateClient;
use service::stage_state_server::StageState as Service;
pub use service::stage_state_server::StageStateServer;

/// The service over these stages.
pub fn service(stages: Stages) -> StageStateServer<Door> {
    StageStateServer::new(Door(stages))
}

pub struct Door(Stages);

#[tonic::async_trait]
impl Service for Door {
    async fn read(&self, request: Request<ReadStateRequest>) -> Result<Response<ReadStateResponse>, Status> {
        let access = access(&request)?;
        let request = request.into_inner();
        let offer = self.admit(&access, &request.stage, request.offer_id).await?;
        let (state, version) = self.0.read_state(&request.stage, offer).await.map_err(problem)?;
        Ok(Response::new(ReadStateResponse { state, version }))
    }

    async fn update(
        &self,
        request: Request<UpdateStateRequest>,
    ) -> Result<Response<UpdateStateResponse>, Status> {
        let access = access(&request)?;
        let UpdateStateRequest { stage, offer_id, state, version } = request.into_inner();
        let offer = self.admit(&access, &stage, offer_id).await?;
        let state = state.ok_or_else(|| Status::invalid_argument("the new state is missing"))?;
        let updated = self.0.update_state(&stage, offer, state, version).await.map_err(problem)?;
        Ok(Response::new(UpdateStateResponse { updated }))
    }
}

impl Door {
    /// A plug-in's token learns of no stage but its own.
    async fn admit(&self, access: &Access, stage: &str, offer: i64) -> Result<OfferId, Status> {
        access.require_stage(stage)?;
        if !self.0.knows(stage) {
            // It may have been registered through another process a moment ago.
            self.0.refresh().await.map_err(problem)?;
        }
        if !self.0.knows(stage) {
            return Err(problem(Error::NoStage(stage.to_owned())).into());
        }
        OfferId::from_raw(offer).ok_or_else(|| Status::invalid_argument(format!("{offer} is no offer's id")))
    }
}

/// Who calls; the server's guard has put it there.
fn access<T>(request: &Request<T>) -> Result<Access, Status> {
    let missing = || Problem::new(Code::Unauthorized, "this call needs an access token");
    request.extensions().get().cloned().ok_or_else(|| missing().into())
}
