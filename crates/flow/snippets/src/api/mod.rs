//! The doors of the system.

mod constant;
pub mod http;
mod letters;
