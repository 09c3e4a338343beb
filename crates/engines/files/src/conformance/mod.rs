//! The suite that a folder, S3 and memory pass, and that can be run against any storage a user brings.
//!
//! Each check is a plain async function; it works with contents of its own and removes what it stored. A check fails
//! with a sentence that says what was wanted and what was found.

mod content;
mod life;

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
pub(crate) use kit::ensure;
pub use kit::suite::Failure;
pub(crate) use kit::suite::Outcome;
use kit::suite::{self, Check};
use kit::{Clock, Timestamp};
use store::{Schema, Shard, Store};

use crate::objects::SharedObjects;
use crate::{Files, Hash, Limits, ObjectName, Options, Referrer, Release, Result};

/// Files over the storage in question, with rows in memory and a clock that is moved by hand.
pub struct Case {
    pub files: Files,
    pub objects: SharedObjects,
    pub clock: Clock,
}

const CHECKS: &[(&str, Check<Case>)] = &[
    ("contents of 0 B, 1 B, and 5 MiB and 1 B come back", |c| Box::pin(content::round_trip(c))),
    ("64 MiB are streamed in and out", |c| Box::pin(content::large(c))),
    ("ranges", |c| Box::pin(content::ranges(c))),
    ("a file that is not there is not found", |c| Box::pin(content::missing(c))),
    ("a stream that fails, ends early or brings too much leaves nothing", |c| {
        Box::pin(content::bad_streams(c))
    }),
    ("damaged bytes are an error", |c| Box::pin(content::damaged(c))),
    ("the same content is one object until the last reference goes", |c| Box::pin(life::shared(c))),
    ("the same content put by many at once is one object", |c| Box::pin(life::crowd(c))),
    ("what is deleted and put again takes the next generation", |c| Box::pin(life::next_generation(c))),
    ("a deletion and a put may be repeated", |c| Box::pin(life::repeats(c))),
    ("a reference is confirmed once put, and not when unknown", |c| Box::pin(life::confirm(c))),
];

/// Runs every check, telling `report` of each: name, time taken, outcome. Returns how many failed.
pub async fn run(
    objects: &SharedObjects,
    temp_dir: &Path,
    report: impl FnMut(&str, Duration, &Outcome),
) -> Result<usize> {
    suite::run(CHECKS, 1, async || Case::new(objects.clone(), temp_dir), report).await
}

impl Case {
    fn new(objects: SharedObjects, temp_dir: &Path) -> Result<Self> {
        let clock = Clock::manual(Timestamp(1_700_000_000_000_000));
        let options = Options { clock: clock.clone(), ..Options::new(temp_dir) };
        let store = Store::memory(Schema::new(crate::tables()));
        Ok(Self { files: Files::over(objects.clone(), store, options)?, objects, clock })
    }

    /// Stores bytes for a referrer who keeps them.
    async fn keep(&self, content: &[u8], referrer: &str) -> Result<Hash> {
        let incoming = self.files.receive(whole(content), Limits::up_to(u64::MAX)).await?;
        let stored = self.files.put(incoming, &Referrer::new(referrer)?).await?;
        self.files.confirm(&stored.hash, &Referrer::new(referrer)?).await?;
        Ok(stored.hash)
    }

    async fn let_go(&self, hash: &Hash, referrer: &str) -> Result<()> {
        self.files.handle_release(&Release::new(hash, &Referrer::new(referrer)?)).await
    }

    /// Waits until nothing written can still arrive, and deletes what nobody holds.
    async fn delete_due(&self) -> Result<usize> {
        self.clock.advance(self.files.write_window());
        Ok(self.files.delete_due(&Shard::all().collect::<Vec<_>>()).await?.deleted)
    }

    /// The objects of a content, by generation.
    async fn objects_of(&self, hash: &Hash) -> Result<Vec<ObjectName>> {
        let mut names = Vec::new();
        let mut all = self.objects.list();
        while let Some(name) = all.next().await.transpose()? {
            if name.hash == *hash {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Content that no other run of a check has.
fn fresh(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let mut seed = blake3::Hasher::new();
    seed.update(&kit::random_bytes::<16>());
    seed.finalize_xof().fill(&mut bytes);
    bytes
}

fn whole(content: &[u8]) -> impl Stream<Item = std::result::Result<Bytes, Infallible>> + Send + use<> {
    let chunks: Vec<_> = content.chunks(64 << 10).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    stream::iter(chunks)
}
