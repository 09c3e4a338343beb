//! The offers as a whole, on real stores.
#![allow(clippy::unwrap_used)]

mod api;
mod api_access;
mod api_seller;
mod archive;
mod autoload;
mod autoload_back;
mod autoload_dry;
mod autoload_ends;
mod autoload_kill;
mod drafts;
mod due;
mod erase;
mod feed;
mod fsck;
mod kept;
mod model_based;
mod plain;
mod recount;
mod support;
mod trips;
mod validate;
