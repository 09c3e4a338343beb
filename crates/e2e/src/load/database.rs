//! A database of one's own on a given PostgreSQL server.

use tokio_postgres::NoTls;

pub struct Database {
    server: String,
    name: String,
    pub url: String,
}

impl Database {
    /// Makes a fresh database beside the one that `server` names.
    pub async fn create(server: &str) -> anyhow::Result<Self> {
        let name = format!("dvor_{}", kit::random_id());
        execute(server, &format!("CREATE DATABASE {name}")).await?;
        let (base, _) =
            server.rsplit_once('/').ok_or_else(|| anyhow::anyhow!("{server} names no database"))?;
        Ok(Self { server: server.to_owned(), url: format!("{base}/{name}"), name })
    }

    pub async fn remove(self) -> anyhow::Result<()> {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

async fn execute(server: &str, statement: &str) -> anyhow::Result<()> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await?;
    tokio::spawn(connection);
    Ok(client.batch_execute(statement).await?)
}
