//! The servers that tests talk to: what the environment gives (`cargo xtask test` starts them), and what is absent.
//!
//! Whether to do without something is decided here and nowhere else: by hand a test that misses its server says so and
//! runs nothing, in CI it fails.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "only tests use it")]

use std::net::TcpListener;

use tokio_postgres::NoTls;

/// The address of a Kafka, or nothing: then the test ends and has run nothing.
pub fn kafka(test: &str) -> Option<String> {
    given("DVOR_TEST_KAFKA", test)
}

/// What an environment variable gives, or nothing: then the test ends and has run nothing.
pub fn given(variable: &str, test: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        absent(test, variable);
    }
    value
}

/// # Panics
/// In CI, which leaves nothing out.
pub fn absent(test: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs {what}; `cargo xtask test` sets it");
    eprintln!("{test}: nothing was run, there is no {what} (`cargo xtask test` sets it)");
}

/// A database of the test's own on the server of `DVOR_TEST_POSTGRES`; dropped with the value.
pub struct Database {
    server: String,
    name: String,
    pub url: String,
}

impl Database {
    pub async fn create(test: &str) -> Option<Self> {
        Some(Self::create_on(given("DVOR_TEST_POSTGRES", test)?).await)
    }

    /// # Panics
    /// Without an answer of the server.
    pub async fn create_on(server: String) -> Self {
        let name = format!("dvor_test_{}", kit::random_id());
        // Ordered by the rules of a language where the server can, so that the tests see whether we depend on it.
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
        if execute(&server, &format!("{create} LOCALE_PROVIDER icu ICU_LOCALE 'ru'")).await.is_err() {
            execute(&server, &create).await.unwrap();
        }
        let (before, _) = server.rsplit_once('/').unwrap();
        Self { url: format!("{before}/{name}"), server, name }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // Dropping is no place to wait in, so another thread does; the server may be gone by now.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = runtime.block_on(execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)")));
        });
        let _ = dropping.join();
    }
}

async fn execute(server: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(statement).await
}

/// A free port that no outgoing connection is given: those have the ports from 32768 on, and one of them (even one to
/// the server that is down, which then talks to itself) would keep the server from coming back.
///
/// # Panics
/// When none of a thousand ports is free.
pub fn free_port() -> u16 {
    let ports = std::iter::repeat_with(|| 14_000 + u16::from_be_bytes(kit::random_bytes()) % 18_000);
    ports.take(1_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port is free")
}
