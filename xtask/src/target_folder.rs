//! CI keeps one build folder between runs; cargo never removes anything from it, so it is thrown away when it
//! has grown too large.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process;

const LIMIT_BYTES: u64 = 20 << 30;

pub(crate) fn bound_in_ci() -> Result<()> {
    if !in_ci() {
        return Ok(());
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or(process::root().join("target"), PathBuf::from);
    if remove_if_larger(&folder, LIMIT_BYTES)? {
        println!("the build folder was over {} GiB; removed it, everything is built anew", LIMIT_BYTES >> 30);
    }
    Ok(())
}

pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

fn remove_if_larger(folder: &Path, limit: u64) -> Result<bool> {
    if bytes_on_disk(folder, &mut HashSet::new()) <= limit {
        return Ok(false);
    }
    std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(true)
}

/// Cargo links one file under several names; `seen` holds the inodes already counted.
fn bytes_on_disk(folder: &Path, seen: &mut HashSet<u64>) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_on_disk(&entry.path(), seen),
            Ok(meta) if meta.nlink() == 1 || seen.insert(meta.ino()) => meta.blocks() * 512,
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_over_the_limit_is_removed() {
        let folder = std::env::temp_dir().join(format!("xtask-target-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("debug")).unwrap();
        std::fs::write(folder.join("debug/a"), vec![1; 100_000]).unwrap();
        std::fs::hard_link(folder.join("debug/a"), folder.join("b")).unwrap();
        assert!(!remove_if_larger(&folder, 150_000).unwrap());
        assert!(remove_if_larger(&folder, 50_000).unwrap());
        assert!(!folder.exists());
    }
}
