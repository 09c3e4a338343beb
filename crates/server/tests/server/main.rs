//! The real program, started as people start it and asked over its ports.

#![allow(unreachable_pub, reason = "nothing of a test is reached from outside")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod access;
mod bounds;
mod cli;
mod configuration;
mod connections;
mod demo;
mod docs;
mod doors;
mod feeds;
mod grpc;
mod http;
mod knowledge;
mod life;
mod look;
mod master_data;
mod offers;
mod plugin;
mod program;
mod snippets;
mod stages;
mod telemetry;
mod topics;
