use store::Tx;

use crate::{Error, Files, Hash, Kind, Referrer, Result, protocol};

/// The topic that carries releases, keyed by the hash.
pub const RELEASES: &str = "files.releases";

/// An owner's word that it holds a file no more.
#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct Release {
    #[prost(bytes = "vec", tag = "1")]
    pub hash: Vec<u8>,
    #[prost(string, tag = "2")]
    pub referrer: String,
}

impl Release {
    pub fn new(hash: &Hash, referrer: &Referrer) -> Self {
        Self { hash: hash.as_bytes().to_vec(), referrer: referrer.as_str().to_owned() }
    }

    pub fn parts(&self) -> Result<(Hash, Referrer)> {
        Ok((Hash::from_column(&self.hash)?, Referrer::new(self.referrer.as_str())?))
    }
}

/// What a consumer of [`RELEASES`] does with a record, in a transaction of the hash's shard; a repeat does nothing.
pub async fn apply_release(tx: &mut Tx, release: &Release, now: kit::Timestamp) -> Result<()> {
    let (hash, referrer) = release.parts()?;
    if tx.shard() != hash.shard() {
        return Err(Error::new(Kind::Invalid, format!("file {hash} does not live in shard {}", tx.shard())));
    }
    protocol::let_go(tx, &hash, &referrer, now).await?;
    Ok(())
}

impl Files {
    /// In the owner's transaction, with the row that forgets the file: the reference goes once it has committed.
    pub async fn release(tx: &mut Tx, hash: &Hash, referrer: &Referrer) -> Result<()> {
        tx.put(&crate::tables::RELEASES_OUT, (hash.as_bytes().as_slice(), referrer.as_str()), &())?;
        Ok(())
    }

    /// Handles one record of [`RELEASES`] in a transaction of its own.
    pub async fn handle_release(&self, release: &Release) -> Result<()> {
        let (hash, _) = release.parts()?;
        let now = self.now();
        self.store.transact(hash.shard(), async |tx| apply_release(tx, release, now).await).await
    }
}
