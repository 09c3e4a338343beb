//! The offers as a whole, on real stores.
#![allow(clippy::unwrap_used)]

mod api;
mod api_access;
mod archive;
mod drafts;
mod due;
mod erase;
mod fsck;
mod kept;
mod model_based;
mod support;
mod validate;
