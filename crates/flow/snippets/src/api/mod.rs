//! The doors of the system.

pub mod http;
mod letters;
