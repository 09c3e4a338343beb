//! The doors of the stages: HTTP, gRPC for the states of stages, and the way out to stages of other programs. Reading needs the scope `service` (of an offer: its seller's), changing `admin`.

mod answers;
mod body;
mod fsck;
pub mod grpc;
mod http;
pub mod plugin;
mod registration;

pub use body::{
    FailureItem, OfferStageItem, StageErrorItem, StageItem, StageList, TlsItem, TraverseRequest, WalkItem,
};
pub use fsck::{StagesFsckAnswer, StagesFsckRequest};
pub use http::{problem, routes};
pub use registration::{PluginRequest, SavedWish, TlsRequest};
