//! The offers as a whole, on real stores.
#![allow(clippy::unwrap_used)]

mod archive;
mod fsck;
mod kept;
mod model_based;
mod support;
