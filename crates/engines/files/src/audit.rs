//! A look at everything: are all objects named by rows, and all files there?

use futures::StreamExt as _;
use store::{Range, Read as _, Shard};

use crate::tables::{BLOBS, BlobState, DELETIONS, FILE_REFS, RefState};
use crate::{Files, Hash, ObjectName, Result};

const PAGE: usize = 256;
/// Most names of each sort that an audit repeats; the rest are counted.
const NAMES: usize = 100;

/// What an audit found; in order when `strays` and `missing` are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub objects: usize,
    pub files: usize,
    /// Objects that no row names, as after the restore of an older store.
    pub strays: usize,
    pub stray_names: Vec<ObjectName>,
    /// Files that should be present and whose object is not there or has another size, and held references to nothing.
    pub missing: usize,
    pub missing_hashes: Vec<Hash>,
}

impl Files {
    /// Walks all objects and all rows. Nothing is changed; files that come and go meanwhile are not misjudged, since
    /// rows are looked at again before something counts as wrong.
    pub async fn audit(&self) -> Result<Audit> {
        self.audit_shards(&Shard::all().collect::<Vec<_>>()).await
    }

    /// The same for some of the shards.
    pub async fn audit_shards(&self, shards: &[Shard]) -> Result<Audit> {
        let mut audit = Audit::default();
        let mut objects = self.objects.list();
        while let Some(name) = objects.next().await.transpose()? {
            if !shards.contains(&name.hash.shard()) {
                continue;
            }
            audit.objects += 1;
            if !self.is_named(&name).await? && self.objects.size(&name).await?.is_some() {
                audit.strays += 1;
                if audit.stray_names.len() < NAMES {
                    audit.stray_names.push(name);
                }
            }
        }
        for shard in shards {
            self.audit_shard(*shard, &mut audit).await?;
        }
        Ok(audit)
    }

    /// Whether a row knows the object: its file's, or that of its deletion.
    async fn is_named(&self, name: &ObjectName) -> Result<bool> {
        if self.blob(&name.hash).await?.is_some_and(|blob| blob.generation == name.generation) {
            return Ok(true);
        }
        let snapshot = self.store.snapshot(name.hash.shard()).await?;
        let mut range = Range::all(PAGE);
        loop {
            let rows = snapshot.scan(&DELETIONS, range).await?;
            let full = rows.len() == PAGE;
            let mut last = None;
            for (key, ()) in rows {
                if key.1 == name.hash.as_bytes() && key.2 as u64 == name.generation {
                    return Ok(true);
                }
                last = Some(key);
            }
            match last {
                Some(key) if full => range = Range::all(PAGE).after(&key)?,
                _ => return Ok(false),
            }
        }
    }

    async fn audit_shard(&self, shard: Shard, audit: &mut Audit) -> Result<()> {
        let snapshot = self.store.snapshot(shard).await?;
        let mut range = Range::all(PAGE);
        loop {
            let rows = snapshot.scan(&FILE_REFS, range).await?;
            let full = rows.len() == PAGE;
            let mut last = None;
            for (key, reference) in rows {
                let hash = Hash::from_column(&key.0)?;
                if reference.state() == RefState::Held && self.is_missing(&hash, &key.1).await? {
                    audit.missed(hash);
                }
                last = Some(key);
            }
            match last {
                Some(key) if full => range = Range::all(PAGE).after(&key)?,
                _ => break,
            }
        }
        let mut range = Range::all(PAGE);
        loop {
            let rows = snapshot.scan(&BLOBS, range).await?;
            audit.files += rows.iter().filter(|(_, blob)| blob.state() == BlobState::Present).count();
            match rows.last() {
                Some((key, _)) if rows.len() == PAGE => range = Range::all(PAGE).after(key)?,
                _ => return Ok(()),
            }
        }
    }

    /// Whether a held reference stands, now, for a file that is not there.
    async fn is_missing(&self, hash: &Hash, referrer: &str) -> Result<bool> {
        if self.is_whole(hash).await? {
            return Ok(false);
        }
        let snapshot = self.store.snapshot(hash.shard()).await?;
        let reference = snapshot.get(&FILE_REFS, (hash.as_bytes().as_slice(), referrer)).await?;
        let held = reference.is_some_and(|reference| reference.state() == RefState::Held);
        Ok(held && !self.is_whole(hash).await?)
    }

    async fn is_whole(&self, hash: &Hash) -> Result<bool> {
        match self.blob(hash).await? {
            Some(blob) if blob.state() == BlobState::Present => {
                let name = ObjectName { hash: *hash, generation: blob.generation };
                Ok(self.objects.size(&name).await? == Some(blob.size))
            }
            _ => Ok(false),
        }
    }
}

impl Audit {
    fn missed(&mut self, hash: Hash) {
        self.missing += 1;
        if self.missing_hashes.len() < NAMES {
            self.missing_hashes.push(hash);
        }
    }
}
