//! The doors of the system.

mod constant;
mod headers;
pub mod http;
mod languages;
pub(crate) mod letters;
mod lookup;
mod pieces;

pub use http::routes;
