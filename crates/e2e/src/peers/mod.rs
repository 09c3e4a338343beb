//! Programs of others that a bench runs beside ours, installed from their registries into the cache folder.

pub mod graphile;
pub mod kafka_streams;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The peer's folder in the cache, which `install` fills when it is not there.
fn installed(name: &str, install: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let folder = cache.context("no home folder")?.join("dvor").join(name);
    let complete = folder.join(".complete");
    if !complete.exists() {
        std::fs::create_dir_all(&folder)?;
        install(&folder)?;
        std::fs::write(complete, "")?;
    }
    Ok(folder)
}
