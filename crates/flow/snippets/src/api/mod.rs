//! The doors of the system.

mod constant;
pub mod http;
pub(crate) mod letters;
mod lookup;
mod pieces;
