use async_trait::async_trait;
use kit::Clock;
use prost::Message as _;
use store::{Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record};

use crate::{Error, Files, Hash, Kind, Referrer, Result, protocol};

/// The topic that carries releases, keyed by the hash in hex. The repeat of a release does nothing.
pub const RELEASES: &str = "files.releases";

/// An owner releases a file.
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

    fn parts(&self) -> Result<(Hash, Referrer)> {
        let hash = Hash::from_column(&self.hash)
            .map_err(|error| Error::with_source(Kind::Invalid, "the hash of a release", error))?;
        Ok((hash, Referrer::new(self.referrer.as_str())?))
    }
}

impl Files {
    /// In the owner's transaction, with the write that forgets the file: once it has committed, the reference goes.
    pub async fn release(tx: &mut Tx, hash: &Hash, referrer: &Referrer) -> Result<()> {
        let payload = Release::new(hash, referrer).encode_to_vec();
        topics::outbox::send(tx, RELEASES, vec![Message::new(hash.to_string(), payload)]).await?;
        Ok(())
    }

    /// Handles one release in a transaction of its own; a repeat does nothing.
    pub async fn handle_release(&self, release: &Release) -> Result<()> {
        let (hash, referrer) = release.parts()?;
        self.store
            .transact(hash.shard(), async |tx| {
                protocol::let_go(tx, &hash, &referrer, self.now()).await.map(drop)
            })
            .await
    }

    /// The owner's transaction did not happen: the pending reference goes at once. Should this fail, the sweep asks.
    pub async fn abandon(&self, hash: &Hash, referrer: &Referrer) {
        if let Err(error) = self.handle_release(&Release::new(hash, referrer)).await {
            tracing::debug!(%hash, %referrer, "an abandoned file is left to the sweep: {error}");
        }
    }

    /// The consumer of [`RELEASES`]: `topics::consume::run(topics, RELEASES, "files", files.releases(), shutdown)`.
    pub fn releases(&self) -> Releases {
        Releases { clock: self.options.clock.clone() }
    }
}

/// Applies the releases of the topic, in the shards of their hashes.
pub struct Releases {
    clock: Clock,
}

#[async_trait]
impl Handler for Releases {
    type Message = (Hash, Referrer);

    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable> {
        let (hash, referrer) = decode(record).map_err(Undecodable::new)?;
        Ok((hash.shard(), (hash, referrer)))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure> {
        protocol::let_go_many(tx, &messages, self.clock.now()).await?;
        Ok(())
    }
}

fn decode(record: &Record) -> Result<(Hash, Referrer)> {
    Release::decode(record.payload.clone())
        .map_err(|error| Error::with_source(Kind::Invalid, "a release cannot be read", error))?
        .parts()
}
