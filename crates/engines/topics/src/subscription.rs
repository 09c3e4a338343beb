use crate::backend::{Description, Member};
use crate::{Position, Record, Result, metrics};

/// One reader of a group. Leaves the group when dropped.
pub struct Subscription {
    description: Description,
    group: String,
    member: Box<dyn Member>,
}

/// Most records of one poll, unless its caller says otherwise.
pub(crate) const POLL_RECORDS: usize = 500;

impl Subscription {
    pub(crate) fn new(description: Description, group: &str, member: Box<dyn Member>) -> Self {
        Self { description, group: group.to_owned(), member }
    }

    /// Waits for records; those of a partition come in order. May give none when the assignment has changed.
    pub async fn poll(&mut self) -> Result<Vec<Record>> {
        self.poll_at_most(POLL_RECORDS).await
    }

    pub async fn poll_at_most(&mut self, max: usize) -> Result<Vec<Record>> {
        let records = self.member.poll(max).await?;
        if !records.is_empty() {
            metrics::consumed(self.topic(), &self.group, records.len());
        }
        Ok(records)
    }

    /// Notes that everything before the positions is done. Those of partitions that have gone to another reader
    /// are left out; the answer says which were taken.
    pub async fn commit(&mut self, positions: &[Position]) -> Result<Vec<Position>> {
        self.member.commit(positions).await
    }

    /// The next poll of this partition begins here.
    pub async fn seek(&mut self, position: Position) -> Result<()> {
        self.member.seek(position).await
    }

    pub async fn pause(&mut self, partition: u32) -> Result<()> {
        self.member.pause(partition).await
    }

    pub async fn resume(&mut self, partition: u32) -> Result<()> {
        self.member.resume(partition).await
    }

    /// The partitions that this reader has now.
    pub fn assigned(&self) -> Vec<u32> {
        self.member.assigned()
    }

    pub fn description(&self) -> &Description {
        &self.description
    }

    pub fn topic(&self) -> &str {
        &self.description.topic
    }

    pub fn group(&self) -> &str {
        &self.group
    }
}
