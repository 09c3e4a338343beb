//! Rows in PostgreSQL and topics in Kafka, on the servers that `cargo xtask` has started.

use anyhow::Context as _;

use super::database::Database;

/// A database of one's own and the broker's topics, as flags of `dvor serve`.
pub struct Services {
    database: Database,
    pub flags: Vec<String>,
}

impl Services {
    pub async fn open() -> anyhow::Result<Self> {
        let database = Database::create(&variable("DVOR_TEST_POSTGRES")?).await?;
        // Others use the broker as well.
        let topics = format!("kafka://{}/run-{}.", variable("DVOR_TEST_KAFKA")?, kit::random_id());
        let flags = vec!["--store".to_owned(), database.url.clone(), "--topics".to_owned(), topics];
        Ok(Self { database, flags })
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.database.remove().await
    }
}

pub fn variable(name: &str) -> anyhow::Result<String> {
    std::env::var(name)
        .with_context(|| format!("{name} is not set; `cargo xtask bench` and `torture` set it"))
}
