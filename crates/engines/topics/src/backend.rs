//! What a backend must do. Names are checked, sizes limited and errors counted above it, in `topics.rs`.

use async_trait::async_trait;
use cluster::Hold;
use store::Shard;

use crate::{Message, Placed, Position, Record, Result};

/// A partition's ends: `low` is the offset of the first record kept, `high` that of the next to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ends {
    pub low: i64,
    pub high: i64,
}

/// A topic as it is. `incarnation` differs between a topic and one made later under the same name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Description {
    pub topic: String,
    pub partitions: u32,
    pub incarnation: String,
}

/// One row of a shard's outbox: messages of one topic, under the row's number.
#[derive(Clone, Debug)]
pub struct OutboxBatch {
    pub seq: i64,
    pub topic: String,
    pub messages: Vec<Message>,
}

/// Gives the right to begin a send now that must not overlap with another process's.
pub type Leave<'a> = &'a (dyn Fn() -> Result<Option<Hold>> + Send + Sync);

/// A log of records in partitions, under a name.
///
/// Order: records of a partition have growing offsets, never reused within an incarnation, and are read in that order.
/// Messages of one key go to one partition ([`crate::partition::of`]). Visibility: a record is read only when it is
/// durable. A topic that does not exist is `Kind::UnknownTopic`. An error of a write says by its kind whether the write
/// did not happen or may have happened; a timeout is the latter.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Makes the topic if it is missing. An existing one stays as it is, whatever its partitions.
    async fn create(&self, topic: &str, partitions: u32) -> Result<Description>;

    async fn describe(&self, topic: &str) -> Result<Description>;

    /// The names of all topics, in order.
    async fn list(&self) -> Result<Vec<String>>;

    /// Appends messages, those of one key in their order, and says where each landed. Durable when it returns. On
    /// failure some may be there.
    async fn publish(&self, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>>;

    /// Appends the rows of a shard's outbox, which come in growing `seq`. Durable when it returns. On failure the caller
    /// begins again at the first row; a backend that can tell appends nothing twice. One that cannot asks for `leave`
    /// before each send and keeps it while the send is under way.
    async fn relay(&self, source: Shard, rows: Vec<OutboxBatch>, leave: Leave<'_>) -> Result<()>;

    /// The ends of every partition.
    async fn ends(&self, topic: &str) -> Result<Vec<Ends>>;

    /// At most `max` records of each partition from its position on (from the low end, if that is higher), by partition
    /// and offset, without waiting. Large records may make it fewer, but never none where there are some.
    async fn read(&self, topic: &str, from: &[Position], max: usize) -> Result<Vec<Record>>;

    /// Where the group stands in every partition; `None` where it never committed.
    async fn positions(&self, topic: &str, group: &str) -> Result<Vec<Option<i64>>>;

    /// Whether positions live in the store, and so are never ahead of it.
    fn keeps_positions_in_store(&self) -> bool {
        false
    }

    /// Moves a group, whether or not somebody reads for it. Readers start anew from there; Kafka refuses while there
    /// are any.
    async fn reposition(&self, topic: &str, group: &str, positions: &[Position]) -> Result<()>;

    /// Removes the records before the positions.
    async fn trim(&self, topic: &str, positions: &[Position]) -> Result<()>;

    /// Removes what is older or more than is to be kept; a server that does so by itself needs nothing here.
    async fn retain(&self) -> Result<()> {
        Ok(())
    }

    /// Joins the group: its members share the partitions, and get those of a member that goes.
    async fn subscribe(&self, topic: &str, group: &str) -> Result<Box<dyn Member>>;
}

/// One member of a group. Leaves it when dropped.
#[async_trait]
pub trait Member: Send + Sync {
    /// Waits for records and gives at most `max`, those of a partition in order and without gaps from where the last
    /// poll ended (at first: from the group's position, or the low end). May return none, after the assignment changed
    /// or a while has passed. Dropped while waiting, it loses nothing.
    async fn poll(&mut self, max: usize) -> Result<Vec<Record>>;

    /// The partitions that this member reads now.
    fn assigned(&self) -> Vec<u32>;

    /// Notes that everything before the positions is done. Positions of partitions that have gone to another member
    /// are left out; the answer says which were taken.
    async fn commit(&mut self, positions: &[Position]) -> Result<Vec<Position>>;

    /// The next poll of this partition begins here.
    async fn seek(&mut self, position: Position) -> Result<()>;

    /// Polls leave this partition out until it is resumed.
    async fn pause(&mut self, partition: u32) -> Result<()>;

    async fn resume(&mut self, partition: u32) -> Result<()>;
}
