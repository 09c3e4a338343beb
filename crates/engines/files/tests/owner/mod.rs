//! An owner of files as a system would be one: rows of its own in its own shard, and an outbox of releases.

use std::sync::Arc;

use files::objects::{Memory, SharedObjects};
use files::tables::{BLOBS, DELETIONS, FILE_REFS, PENDINGS};
use files::{Answer, Files, Hash, Limits, Options, Referrer, Release};
use kit::{Clock, Timestamp};
use store::{Range, Read as _, Schema, Shard, Space, Store, Table};

/// Which file an owner keeps.
const OWNERS: Table<(String,), Vec<u8>> = Table::new("test", "owners", &["referrer"], Space::Small);
/// Releases on their way.
const OUTBOX: Table<(String,), Release> = Table::new("test", "outbox", &["referrer"], Space::Queue);

/// All owners live together, in another shard than their files.
fn owners_shard() -> Shard {
    Shard::of("owners")
}

/// What outlives a process: rows, objects, and time.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) objects: Arc<Memory>,
    pub(crate) clock: Clock,
}

impl World {
    pub(crate) fn new() -> Self {
        let tables = files::tables().into_iter().chain([OWNERS.spec(), OUTBOX.spec()]);
        Self {
            store: Store::memory(Schema::new(tables)),
            objects: Arc::new(Memory::default()),
            clock: Clock::manual(Timestamp(1_700_000_000_000_000)),
        }
    }

    pub(crate) fn options(&self) -> Options {
        let options = Options::new(std::env::temp_dir());
        Options { clock: self.clock.clone(), reserve_bytes: 0, ..options }
    }

    /// A process in which nothing goes wrong.
    pub(crate) fn sound(&self) -> Process {
        let files = Files::over(self.objects.clone() as SharedObjects, self.store.clone(), self.options());
        Process { files: files.unwrap(), store: self.store.clone() }
    }

    /// What the owner would say of the reference.
    pub(crate) async fn truth(&self, referrer: Referrer, hash: Hash) -> Answer {
        if self.sound().owned(&referrer).await.unwrap() == Some(hash) { Answer::Held } else { Answer::Gone }
    }

    pub(crate) async fn owners(&self) -> Vec<(Referrer, Hash)> {
        let rows = self.store.scan_shards(&OWNERS, &[owners_shard()], Range::all(1_000)).await.unwrap();
        let row = |(_, (referrer,), hash): (_, (String,), Vec<u8>)| {
            (Referrer::new(referrer).unwrap(), Hash::from_bytes(hash.try_into().unwrap()))
        };
        rows.into_iter().map(row).collect()
    }

    /// Holds at every moment: each object has its row, each held reference its object.
    pub(crate) async fn check_always(&self, content: &[u8], when: &str) {
        let audit = self.sound().files.audit_shards(&[Hash::of(content).shard()]).await.unwrap();
        assert!(audit.strays == 0 && audit.missing == 0, "{when}: {audit:?}");
    }

    /// Holds when all work is done: what is owned can be read and is held, and nothing else is there.
    pub(crate) async fn check_settled(&self, content: &[u8], when: &str) {
        self.check_always(content, when).await;
        let owners = self.owners().await;
        for (referrer, hash) in &owners {
            let read = self.sound().files.open(hash).await.unwrap().bytes().await.unwrap();
            assert_eq!(read, content, "{when}: {referrer}");
        }
        let shards = [Hash::of(content).shard()];
        let all = || Range::all(1_000);
        let refs = self.store.scan_shards(&FILE_REFS, &shards, all()).await.unwrap();
        let held: Vec<_> = refs.iter().map(|(_, (_, referrer), _)| referrer.clone()).collect();
        let mut owned: Vec<_> = owners.iter().map(|(referrer, _)| referrer.to_string()).collect();
        owned.sort();
        assert_eq!(held, owned, "{when}: references and owners");
        assert!(
            refs.iter().all(|(_, _, row)| row.state() == files::tables::RefState::Held),
            "{when}: {refs:?}"
        );
        let blobs = self.store.scan_shards(&BLOBS, &shards, all()).await.unwrap();
        assert_eq!(blobs.len(), usize::from(!owners.is_empty()), "{when}: {blobs:?}");
        assert_eq!(self.objects.names().len(), blobs.len(), "{when}: {:?}", self.objects.names());
        let pendings = self.store.scan_shards(&PENDINGS, &shards, all()).await.unwrap();
        let deletions = self.store.scan_shards(&DELETIONS, &shards, all()).await.unwrap();
        assert!(pendings.is_empty() && deletions.is_empty(), "{when}: {pendings:?} {deletions:?}");
    }
}

/// A process that owns files: it works through its own view of store and objects, which may fail.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) files: Files,
    pub(crate) store: Store,
}

impl Process {
    pub(crate) async fn put(&self, content: &[u8], referrer: &Referrer) -> files::Result<Hash> {
        let bytes = bytes::Bytes::copy_from_slice(content);
        let stream = futures::stream::iter([Ok::<_, std::io::Error>(bytes)]);
        let incoming = self.files.receive(stream, Limits::up_to(1 << 20)).await?;
        Ok(self.files.put(incoming, referrer).await?.hash)
    }

    /// The owner's transaction.
    pub(crate) async fn own(&self, referrer: &Referrer, hash: &Hash) -> files::Result<()> {
        let write = async |tx: &mut store::Tx| {
            tx.put(&OWNERS, (referrer.as_str(),), &hash.as_bytes().to_vec())?;
            Ok(())
        };
        self.store.transact(owners_shard(), write).await
    }

    /// The owner's transaction that lets go.
    pub(crate) async fn disown(&self, referrer: &Referrer, hash: &Hash) -> files::Result<()> {
        let write = async |tx: &mut store::Tx| {
            tx.delete(&OWNERS, (referrer.as_str(),))?;
            tx.put(&OUTBOX, (referrer.as_str(),), &Release::new(hash, referrer))?;
            Ok(())
        };
        self.store.transact(owners_shard(), write).await
    }

    pub(crate) async fn owned(&self, referrer: &Referrer) -> files::Result<Option<Hash>> {
        let snapshot = self.store.snapshot(owners_shard()).await?;
        let row = snapshot.get(&OWNERS, (referrer.as_str(),)).await?;
        Ok(row.map(|hash| Hash::from_bytes(hash.try_into().unwrap())))
    }

    /// Hands every release to its handler, at least once; `keep` leaves it to be handed over again.
    pub(crate) async fn deliver(&self, mut keep: impl FnMut() -> bool) -> files::Result<()> {
        let shards = [owners_shard()];
        for (shard, (referrer,), release) in self.store.scan_shards(&OUTBOX, &shards, Range::all(100)).await?
        {
            self.files.handle_release(&release).await?;
            if !keep() {
                let remove = async |tx: &mut store::Tx| tx.delete(&OUTBOX, (referrer.as_str(),));
                self.store.transact(shard, remove).await?;
            }
        }
        Ok(())
    }
}
