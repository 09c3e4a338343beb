//! The synchronous read, for re-imports elsewhere and for outside readers.

use tonic::{Request, Response, Status};
use web::{Access, Code, Problem};
use wire::united::{GetRequest, GetResponse};

use crate::United;

/// Generated.
#[allow(clippy::all, clippy::pedantic, unreachable_pub)]
mod service {
    include!(concat!(env!("OUT_DIR"), "/dvor.united.v1.rs"));
}

pub use service::united_client::UnitedClient;
use service::united_server::United as Service;
pub use service::united_server::UnitedServer;

/// The service over these offers.
pub fn service(united: United) -> UnitedServer<Door> {
    UnitedServer::new(Door(united))
}

pub struct Door(United);

#[tonic::async_trait]
impl Service for Door {
    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let access: Option<Access> = request.extensions().get().cloned();
        let missing = || Problem::new(Code::Unauthorized, "this call needs an access token");
        access.ok_or_else(missing)?.require_service()?;
        let keys = request.into_inner().key;
        let offers = self.0.get(&keys).await.map_err(Problem::from)?;
        let mut answer = GetResponse::default();
        for (key, offer) in keys.into_iter().zip(offers) {
            match offer {
                Some(offer) => answer.offer.push(offer),
                None => answer.missing.push(key),
            }
        }
        Ok(Response::new(answer))
    }
}
