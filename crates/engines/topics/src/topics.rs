use std::sync::Arc;
use std::time::Duration;

use cluster::Cluster;
use kit::Clock;
use store::{Read as _, Shard, Store};

use crate::backend::{Backend, Description, Ends};
use crate::embedded::Embedded;
use crate::kafka::{Kafka, Prefixed};
use crate::tables::{GROUPS, GroupRow};
use crate::{
    Error, Kind, MAX_MESSAGE_BYTES, Message, Placed, Position, Result, Subscription, consume, metrics,
};

/// Settings that the backends share; each takes what concerns it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Records older than this go (embedded; given to Kafka when a topic is made).
    pub retention: Duration,
    /// The oldest records of a partition go when it holds more than this (embedded; given to Kafka likewise).
    pub retention_bytes: u64,
    /// Copies of each partition that Kafka keeps; 0 leaves it to the broker.
    pub replication: u32,
    /// Partitions of a topic that is made by [`Topics::ensure_all`].
    pub partitions: u32,
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(7 * 24 * 3600),
            retention_bytes: 1 << 30,
            replication: 0,
            partitions: 4,
            clock: Clock::system(),
        }
    }
}

/// Where a group is moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    Start,
    End,
    Positions(Vec<Position>),
}

/// The topics of a process. Clones share them.
#[derive(Clone)]
pub struct Topics {
    backend: Arc<dyn Backend>,
    store: Store,
    cluster: Cluster,
    options: Arc<Options>,
}

impl Topics {
    /// Opens `embedded:` (records live in the store) or `kafka://host:port[,host:port…][/prefix]`; on the broker, the names
    /// of topics and groups begin with the prefix.
    pub fn open(url: &str, store: Store, cluster: Cluster, options: Options) -> Result<Self> {
        let options = Arc::new(options);
        let backend: Arc<dyn Backend> = match url.split_once(':') {
            Some(("embedded", "")) => {
                Arc::new(Embedded::new(store.clone(), cluster.clone(), options.clone()))
            }
            Some(("kafka", brokers)) if brokers.len() > 2 && brokers.starts_with("//") => {
                let brokers = brokers.trim_start_matches('/');
                let (brokers, prefix) = brokers.split_once('/').unwrap_or((brokers, ""));
                let broker = Kafka::open(brokers, options.clone())?;
                if prefix.is_empty() {
                    Arc::new(broker)
                } else {
                    check_name("prefix", prefix)?;
                    Arc::new(Prefixed::new(broker, prefix))
                }
            }
            _ => {
                return Err(Error::invalid(format!(
                    "topics are embedded: or kafka://host:port[,host:port…][/prefix], not {url:?}"
                )));
            }
        };
        Ok(Self { backend, store, cluster, options })
    }

    /// Topics in a store that no other process works on.
    pub fn alone(store: Store, options: Options) -> Self {
        let (cluster, options) = (Cluster::solo(store.clone(), options.clock.clone()), Arc::new(options));
        let backend = Arc::new(Embedded::new(store.clone(), cluster.clone(), options.clone()));
        Self { backend, store, cluster, options }
    }

    /// Makes the topic if it is missing; refuses one that has another number of partitions.
    pub async fn ensure(&self, topic: &str, partitions: u32) -> Result<Description> {
        check_name("topic", topic)?;
        if partitions == 0 || partitions > u32::from(store::SHARDS) {
            return Err(Error::invalid(format!(
                "a topic has 1 to {} partitions, not {partitions}",
                store::SHARDS
            )));
        }
        let found = self.backend.create(topic, partitions).await?;
        if found.partitions != partitions {
            return Err(Error::new(
                Kind::Incompatible,
                format!(
                    "topic {topic} has {} partitions and the configuration says {partitions}: keys would move to \
                     other partitions and lose their order, so set it to {} or use another topic",
                    found.partitions, found.partitions
                ),
            ));
        }
        Ok(found)
    }

    /// Makes those of the topics that are missing, with as many partitions as the options say.
    pub async fn ensure_all(&self, topics: &[&str]) -> Result<()> {
        for topic in topics {
            self.ensure(topic, self.options.partitions).await?;
        }
        Ok(())
    }

    pub async fn describe(&self, topic: &str) -> Result<Description> {
        self.backend.describe(topic).await
    }

    /// Appends messages; durable when it returns. Those of one key keep their order.
    pub async fn publish(&self, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>> {
        for message in &messages {
            message.check_size(MAX_MESSAGE_BYTES)?;
        }
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let (count, trace) = (messages.len(), kit::trace::current());
        let traced = |message: Message| message.traced(trace.as_deref(), MAX_MESSAGE_BYTES / 2);
        let messages = messages.into_iter().map(traced).collect();
        let placed = self.backend.publish(topic, messages).await?;
        metrics::published(topic, count);
        Ok(placed)
    }

    /// Joins a group of readers.
    pub async fn subscribe(&self, topic: &str, group: &str) -> Result<Subscription> {
        check_name("group", group)?;
        let description = self.backend.describe(topic).await?;
        self.note_group(topic, group).await?;
        Ok(Subscription::new(description, group, self.backend.subscribe(topic, group).await?))
    }

    /// Moves the group of a reader over HTTP.
    pub async fn commit(&self, topic: &str, group: &str, positions: &[Position]) -> Result<()> {
        check_name("group", group)?;
        self.check_positions(topic, positions).await?;
        self.note_group(topic, group).await?;
        self.backend.reposition(topic, group, positions).await
    }

    async fn check_positions(&self, topic: &str, positions: &[Position]) -> Result<()> {
        let ends = self.backend.ends(topic).await?;
        for Position { partition, next } in positions {
            let Some(ends) = ends.get(*partition as usize) else {
                return Err(no_partition(topic, *partition));
            };
            if !(0..=ends.high).contains(next) {
                let high = ends.high;
                return Err(Error::invalid(format!(
                    "partition {partition} of {topic} ends at {high}, so no group can stand at {next}"
                )));
            }
        }
        Ok(())
    }

    /// Removes the records before the positions.
    pub async fn trim(&self, topic: &str, positions: &[Position]) -> Result<()> {
        self.check_positions(topic, positions).await?;
        self.backend.trim(topic, positions).await
    }

    /// Moves the group, and forgets in all shards that it applied what lies behind the new positions, so that it is
    /// applied again. What consumers are applying at that moment may be applied twice.
    pub async fn rewind(&self, topic: &str, group: &str, to: To) -> Result<()> {
        let incarnation = self.backend.describe(topic).await?.incarnation;
        let ends = self.backend.ends(topic).await?;
        let each = |pick: fn(&Ends) -> i64| {
            let at = |(partition, ends)| Position { partition: partition as u32, next: pick(ends) };
            ends.iter().enumerate().map(at).collect()
        };
        let positions: Vec<Position> = match to {
            To::Start => each(|ends| ends.low),
            To::End => each(|ends| ends.high),
            To::Positions(positions) => positions,
        };
        // Whether the group can be moved at all is known only by doing it, and nothing may be forgotten if not.
        self.commit(topic, group, &positions).await?;
        if !self.backend.keeps_positions_in_store() {
            consume::note(&self.store, group, &incarnation, topic, &positions).await?;
        }
        consume::forget(&self.store, group, &incarnation, &positions).await?;
        // Readers that went on meanwhile begin again, and what they noted on their way is forgotten.
        self.backend.reposition(topic, group, &positions).await?;
        consume::forget(&self.store, group, &incarnation, &positions).await
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    async fn note_group(&self, topic: &str, group: &str) -> Result<()> {
        let shard = Shard::of(topic);
        if self.store.snapshot(shard).await?.get(&GROUPS, (topic, group)).await?.is_some() {
            return Ok(());
        }
        let row = GroupRow { first_seen_at: self.options.clock.now().0 };
        self.store.transact(shard, async |tx| Ok(tx.put(&GROUPS, (topic, group), &row)?)).await
    }
}

pub(crate) fn unknown_topic(topic: &str) -> Error {
    Error::new(Kind::UnknownTopic, format!("there is no topic {topic:?}"))
}

pub(crate) fn no_partition(topic: &str, partition: u32) -> Error {
    Error::invalid(format!("topic {topic} has no partition {partition}"))
}

const MAX_NAME_BYTES: usize = 200;

/// Kafka's rules for names, which hold for both backends and for groups.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || !name.bytes().all(legal)
        || name == "."
        || name == ".."
    {
        return Err(Error::invalid(format!(
            "the name of a {what} has 1 to {MAX_NAME_BYTES} of the characters a-z A-Z 0-9 . _ -, not {name:?}"
        )));
    }
    Ok(())
}
