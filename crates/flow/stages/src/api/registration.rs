//! Registering stages of other programs and taking them out.

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Code, Problem, Result};
use wire::stages::{RegistryRow, Saved, Tls};

use super::body::StageItem;
use super::http::{one, problem};
use super::plugin::{check_reach, describe};
use crate::{Error, Registration, Stages, check_registration};

pub(super) fn routes() -> OpenApiRouter<Stages> {
    OpenApiRouter::new().routes(routes!(put)).routes(routes!(delete))
}

/// A stage of another program.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginRequest {
    /// `http://host:port`, or `https://host:port`.
    pub address: String,
    /// Paths that it is told of, such as `price` or `attributes.color`; `[]`: every path. Left out: those that the
    /// program names in `Describe`.
    #[serde(default)]
    pub masks: Option<Vec<String>>,
    /// How long a call may take, at most 3,000; 0: the usual.
    #[serde(default)]
    #[schema(maximum = 3_000)]
    pub deadline_ms: u32,
    /// Over all processes; 0: no limit.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100_000)]
    pub calls_per_second: f64,
    /// Calls under way at a time, over all processes; 0: no limit.
    #[serde(default)]
    #[schema(maximum = 10_000)]
    pub parallel: u32,
    /// What is told of saves: `none`, `topic` (`stages.saved`), or `call` (`OnSaved` as well).
    #[serde(default)]
    pub saved: SavedWish,
    /// It is asked about every offer this often; 0: only when somebody orders it.
    #[serde(default)]
    #[schema(maximum = 8_784)]
    pub traverse_every_hours: u32,
    #[serde(default)]
    pub tls: Option<TlsRequest>,
}

/// What a stage wants to hear of its saves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SavedWish {
    #[default]
    None,
    Topic,
    Call,
}

/// How it is reached by `https`; everything as PEM.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsRequest {
    /// Who vouches for the program; empty: whom the machine trusts.
    pub ca: String,
    /// What Dvor shows to it, with its key.
    pub certificate: String,
    pub key: String,
    /// The name in the program's certificate; empty: the host of the address.
    pub server_name: String,
}

impl PluginRequest {
    pub fn registration(self) -> Registration {
        let tls = self.tls.map(|tls| Tls {
            ca: tls.ca,
            certificate: tls.certificate,
            key: tls.key,
            server_name: tls.server_name,
        });
        Registration {
            address: self.address,
            masks: self.masks.unwrap_or_default(),
            deadline_ms: self.deadline_ms,
            calls_per_second: self.calls_per_second,
            parallel: self.parallel,
            saved: match self.saved {
                SavedWish::None => Saved::None,
                SavedWish::Topic => Saved::Topic,
                SavedWish::Call => Saved::Call,
            },
            traverse_every_hours: self.traverse_every_hours,
            tls,
            description: String::new(),
        }
    }
}

impl Stages {
    /// Registers a stage as the API and the configuration do: the program is asked what it is, and need not answer
    /// unless its masks are wanted.
    pub async fn put_plugin(&self, id: &str, request: PluginRequest) -> crate::Result<RegistryRow> {
        let needs_masks = request.masks.is_none();
        let mut registration = request.registration();
        check_registration(id, &registration)?;
        let (address, tls) = (registration.address.clone(), registration.tls.clone());
        let reach = RegistryRow { address, tls, ..RegistryRow::default() };
        check_reach(&reach).map_err(|error| Error::Field("tls", error))?;
        match describe(id, &reach).await {
            Ok(said) if !said.stage.is_empty() && said.stage != id => {
                let text = format!("the program at {} is the stage {:?}", registration.address, said.stage);
                return Err(Error::Field("address", text));
            }
            Ok(said) => {
                registration.description = crate::pair::cut(&said.description);
                if needs_masks {
                    registration.masks = said.masks;
                }
            }
            Err(error) if needs_masks => {
                let text = format!(
                    "the program at {} does not say which fields it cares for ({error}): start it, or name the masks",
                    registration.address
                );
                return Err(Error::Field("masks", text));
            }
            Err(_) => {}
        }
        self.put(id, &registration).await
    }
}

/// Registers a stage of another program, or changes it. A new one, or one with wider masks, is asked about all offers.
#[utoipa::path(
    put, path = "/v1/stages/{stage}", tag = "stages", request_body = PluginRequest,
    responses(
        (status = 200, body = StageItem),
        (status = 409, description = "The id is that of a built-in stage, or of one that is being removed"),
        (status = 422, description = "A value is out of its bounds"),
    )
)]
async fn put(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
    Json(request): Json<PluginRequest>,
) -> Result<Json<StageItem>> {
    access.require_admin()?;
    stages.put_plugin(&id, request).await.map_err(problem)?;
    one(&stages, &id).await
}

/// Takes a stage of another program out, with what it keeps beside offers. Its id is free again when all of that is gone.
#[utoipa::path(
    delete, path = "/v1/stages/{stage}", tag = "stages",
    responses(
        (status = 202, description = "It is told of nothing any more, and what it keeps is being removed"),
        (status = 404, description = "There is no such stage"),
        (status = 409, description = "It comes with the program"),
    )
)]
async fn delete(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
) -> Result<axum::http::StatusCode> {
    access.require_admin()?;
    stages.remove(&id).await.map_err(|error| match error {
        Error::Conflict(text) => Problem::new(Code::Conflict, text),
        other => problem(other),
    })?;
    Ok(axum::http::StatusCode::ACCEPTED)
}
