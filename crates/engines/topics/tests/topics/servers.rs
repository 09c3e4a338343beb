//! What the environment gives to the tests. What is absent is said, and in CI it is a failure.

use tokio_postgres::NoTls;

/// The address of a Kafka, or nothing: then the test ends and has run nothing.
pub(crate) fn kafka(test: &str) -> Option<String> {
    given("DVOR_TEST_KAFKA", test)
}

pub(crate) fn given(variable: &str, test: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        absent(test, variable);
    }
    value
}

pub(crate) fn absent(test: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs {what}; `cargo xtask test` sets it");
    eprintln!("{test}: nothing was run, there is no {what} (`cargo xtask test` sets it)");
}

/// A database of the test's own on the server of `DVOR_TEST_POSTGRES`; dropped with the value.
pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    pub(crate) async fn create(test: &str) -> Option<Self> {
        let server = given("DVOR_TEST_POSTGRES", test)?;
        let name = format!("dvor_test_{}", kit::random_id());
        execute(&server, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")).await;
        let (before, _) = server.rsplit_once('/').unwrap();
        Some(Self { url: format!("{before}/{name}"), server, name })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // Dropping is no place to wait in, so another thread does.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(execute(&server, &format!("DROP DATABASE {name} WITH (FORCE)")));
        });
        let _ = dropping.join();
    }
}

async fn execute(server: &str, statement: &str) {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
}
