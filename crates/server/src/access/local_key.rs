use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::Access;
use super::tokens::hex;

/// A secret of this run of the server in a file that only its user can read, so that commands on the same machine need no
/// access token: whoever reads the data folder has the data anyway.
pub struct LocalKey {
    text: String,
    hash: blake3::Hash,
}

impl LocalKey {
    pub fn random() -> Self {
        let text = format!("local_{}", hex(&kit::random_bytes::<32>()));
        Self { hash: blake3::hash(text.as_bytes()), text }
    }

    pub fn path(data: &Path) -> PathBuf {
        data.join("dvor.key")
    }

    pub fn write(&self, data: &Path) -> Result<()> {
        let path = Self::path(data);
        crate::data::write_private(&path, self.text.as_bytes())
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// The access of one who shows this key.
    pub fn verify(&self, shown: &str) -> Option<Access> {
        // `blake3::Hash` compares in constant time.
        (blake3::hash(shown.as_bytes()) == self.hash).then(|| Access::without_token("local command"))
    }
}
