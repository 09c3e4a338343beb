use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::backend::Backend;
use super::exit::{self, Failure};
use super::{Common, print, print_json, progress};
use crate::app;
use crate::data;
use crate::http::{BackupItem, BackupState, NewBackup};

const ASK_EVERY: Duration = Duration::from_millis(200);

/// Write all rows of the store into a file, while the server goes on
#[derive(Args)]
#[command(after_help = "Example:\n  dvor backup /srv/backups/dvor-monday.backup\n\n\
                        Files (blobs) are not in it: copy the folder `files` of the data folder as well.")]
pub struct Backup {
    /// A file that is not there yet
    file: PathBuf,
}

impl Backup {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.with(&backend).await;
        backend.close().await?;
        let item = done?;
        if common.json {
            return print_json(&item);
        }
        print(&format!("{} rows are in {}", item.rows, item.path.display()))
    }

    async fn with(self, backend: &Backend) -> Result<BackupItem> {
        let bar = progress("rows");
        let new = NewBackup { path: std::path::absolute(self.file)? };
        let mut item: BackupItem = backend.post("/v1/admin/backup", &new).await?;
        while item.state == BackupState::Running {
            bar.set_position(item.rows);
            tokio::time::sleep(ASK_EVERY).await;
            item = backend.get("/v1/admin/backup", &[]).await?;
        }
        bar.finish_and_clear();
        match item.error {
            Some(error) => bail!("the backup failed: {error}"),
            None => Ok(item),
        }
    }
}

/// Read a backup into an empty store; the server must not run
#[derive(Args)]
#[command(after_help = "Example:\n  dvor restore /srv/backups/dvor-monday.backup --data ./new\n\n\
                        Afterwards, consumers of Kafka topics may have to be set back: `dvor topic rewind`.")]
pub struct Restore {
    file: PathBuf,
}

impl Restore {
    pub async fn run(self, common: &Common) -> Result<()> {
        let config = common.load()?;
        data::make(&config.data)?;
        let _lock = data::lock(&config.data)?;
        if !self.file.exists() {
            return Err(Failure::of(exit::NOT_FOUND, format!("there is no file {}", self.file.display())));
        }
        let store = app::open_store(&config).await?;
        let bar = progress("rows");
        let restored = store::restore(&self.file, &store, |rows| bar.set_position(rows)).await;
        bar.finish_and_clear();
        store.engine().close().await?;
        let rows = restored?;
        if common.json {
            return print_json(&json!({ "file": self.file, "rows": rows }));
        }
        print(&format!(
            "{rows} rows are restored from {}\nFiles (feeds, photos, the archive) are not in a backup: bring {} back as well.",
            self.file.display(),
            config.files
        ))
    }
}
