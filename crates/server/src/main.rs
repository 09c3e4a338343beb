//! The one program of Dvor: the server and the commands for those who run it.

#![allow(
    unreachable_pub,
    reason = "nothing of a binary is reached from outside; pub means: for the other modules"
)]

mod access;
mod app;
mod cli;
mod config;
mod data;
mod demo;
mod export;
mod grpc;
mod http;
mod metrics;
mod process_metrics;
mod roles;
mod server;
mod telemetry;

/// Offers are many small strings, made and dropped on every thread: the system's allocator took a quarter of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // What the HTTP client encrypts with; nobody else has set one before the first line of the program.
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::main()
}
