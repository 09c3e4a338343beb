use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use crate::engine::{RawRow, Reader, Session, Writes};
use crate::key::{Decode, Encode, KeyBytes, is_prefix};
use crate::overlay::Changes;
use crate::table::{Value, decode_value};
use crate::{Error, MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES, Range, Result, Schema, Shard, Table, TableId};

/// Typed reads, the same for a transaction and a snapshot. All have a batch form; reads may be joined.
pub trait Read: Sync {
    fn schema(&self) -> &Schema;

    fn get_many_raw(
        &self,
        table: TableId,
        keys: Vec<KeyBytes>,
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>>> + Send;

    fn scan_raw(&self, table: TableId, range: Range) -> impl Future<Output = Result<Vec<RawRow>>> + Send;

    /// The row of this key, if there is one.
    fn get<K: Decode, V: Value, Q: Encode>(
        &self,
        table: &Table<K, V>,
        key: Q,
    ) -> impl Future<Output = Result<Option<V>>> + Send {
        let question = encode_key(table, &key).and_then(|key| Ok((self.id(table)?, key)));
        async move {
            let (id, key) = question?;
            let mut found = self.get_many_raw(id, vec![key]).await?;
            found.pop().flatten().map(|bytes| decode_value(bytes)).transpose()
        }
    }

    /// The rows of these keys, in their order.
    fn get_many<K: Decode, V: Value, Q: Encode>(
        &self,
        table: &Table<K, V>,
        keys: impl IntoIterator<Item = Q>,
    ) -> impl Future<Output = Result<Vec<Option<V>>>> + Send {
        let keys: Result<Vec<_>> = keys.into_iter().map(|key| encode_key(table, &key)).collect();
        let question = keys.and_then(|keys| Ok((self.id(table)?, keys)));
        async move {
            let (id, keys) = question?;
            let found = self.get_many_raw(id, keys).await?;
            found.into_iter().map(|bytes| bytes.map(|bytes| decode_value(bytes)).transpose()).collect()
        }
    }

    /// The rows of a range, in its order, at most its limit.
    fn scan<K: Decode, V: Value>(
        &self,
        table: &Table<K, V>,
        range: Range,
    ) -> impl Future<Output = Result<Vec<(K, V)>>> + Send {
        let question = check_range(table, &range).and_then(|()| self.id(table));
        async move {
            let rows = self.scan_raw(question?, range).await?;
            rows.into_iter()
                .map(|(key, value)| Ok((K::decode(key.as_slice())?, decode_value(value)?)))
                .collect()
        }
    }

    fn id<K: Decode, V: Value>(&self, table: &Table<K, V>) -> Result<TableId> {
        self.schema().id(table.system(), table.name())
    }
}

/// A transaction under way. Lives for one call of `Store::transact`.
pub struct Tx {
    shard: Shard,
    schema: Arc<Schema>,
    session: Box<dyn Session>,
    writes: Writes,
    /// Rows that were read ahead. The shard's transactions run one at a time, so they stay true.
    prefetched: BTreeMap<(TableId, KeyBytes), Option<Bytes>>,
}

/// What a transaction had written at some moment.
pub struct Mark(Writes);

impl Tx {
    pub(crate) fn new(shard: Shard, schema: Arc<Schema>, session: Box<dyn Session>) -> Self {
        Self { shard, schema, session, writes: Writes::default(), prefetched: BTreeMap::new() }
    }

    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// Reads these rows in one question, so that asking for each of them later costs nothing: for a body that treats many
    /// things one after another.
    pub fn prefetch<K: Decode, V: Value, Q: Encode>(
        &mut self,
        table: &Table<K, V>,
        keys: impl IntoIterator<Item = Q>,
    ) -> impl Future<Output = Result<()>> + Send {
        // Encoded before the future is made, so that it does not hold the iterator.
        let keys: Result<BTreeSet<_>> = keys.into_iter().map(|key| encode_key(table, &key)).collect();
        let question = keys.and_then(|keys| Ok((self.id(table)?, keys)));
        async move {
            let (id, keys) = question?;
            let is_new = |key: &KeyBytes| !self.prefetched.contains_key(&(id, key.clone()));
            let wanted: Vec<_> = keys.into_iter().filter(is_new).collect();
            if wanted.is_empty() {
                return Ok(());
            }
            let values = self.session.get_many(id, &wanted).await?;
            self.prefetched.extend(wanted.into_iter().map(|key| (id, key)).zip(values));
            Ok(())
        }
    }

    /// Writes a row, over one that may be there.
    pub fn put<K: Decode, V: Value, Q: Encode>(
        &mut self,
        table: &Table<K, V>,
        key: Q,
        value: &V,
    ) -> Result<()> {
        let bytes = Bytes::from(value.encode_to_vec());
        if bytes.len() > MAX_VALUE_BYTES {
            let (size, name) = (bytes.len(), table.name());
            return Err(Error::invalid(format!(
                "a row of {name} with {size} bytes is over the limit of {MAX_VALUE_BYTES}"
            )));
        }
        self.write(self.id(table)?, encode_key(table, &key)?, Some(bytes))
    }

    /// Removes a row; nothing happens when there is none.
    pub fn delete<K: Decode, V: Value, Q: Encode>(&mut self, table: &Table<K, V>, key: Q) -> Result<()> {
        self.write(self.id(table)?, encode_key(table, &key)?, None)
    }

    /// Bytes written so far: whoever works page by page ends the page long before [`MAX_TRANSACTION_BYTES`].
    pub fn written_bytes(&self) -> usize {
        self.writes.bytes
    }

    /// What is written so far, to come back to. Costs as much as that has rows.
    pub fn mark(&self) -> Mark {
        Mark(self.writes.clone())
    }

    /// Drops what was written since the mark.
    pub fn undo_to(&mut self, mark: Mark) {
        self.writes = mark.0;
    }

    /// Wakes whoever listens to `channel`, once the transaction is durable.
    pub fn wake(&mut self, channel: &'static str) {
        if !self.writes.wakes.contains(&channel) {
            self.writes.wakes.push(channel);
        }
    }

    /// Writes bytes as they are: for copying a store, not for systems.
    pub fn write_raw(&mut self, table: TableId, key: KeyBytes, value: Option<Bytes>) -> Result<()> {
        self.write(table, key, value)
    }

    fn write(&mut self, table: TableId, key: KeyBytes, value: Option<Bytes>) -> Result<()> {
        self.writes.bytes += key.as_slice().len() + value.as_ref().map_or(0, Bytes::len);
        if self.writes.bytes > MAX_TRANSACTION_BYTES {
            return Err(Error::invalid(format!(
                "a transaction writes more than {MAX_TRANSACTION_BYTES} bytes"
            )));
        }
        self.writes.rows.insert((table, key), value);
        Ok(())
    }

    fn writes_to(&self, table: TableId) -> bool {
        let mut behind = self.writes.rows.range((table, KeyBytes::default())..);
        behind.next().is_some_and(|((id, _), _)| *id == table)
    }

    pub(crate) async fn commit(self) -> Result<()> {
        self.session.commit(self.writes).await
    }

    /// Ends a body that failed: its writes are dropped, but its answer waits like any other.
    pub(crate) async fn abandon(self) -> Result<()> {
        self.session.commit(Writes::default()).await
    }
}

impl Read for Tx {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    async fn get_many_raw(&self, table: TableId, keys: Vec<KeyBytes>) -> Result<Vec<Option<Bytes>>> {
        if self.prefetched.is_empty() && !self.writes_to(table) {
            return self.session.get_many(table, &keys).await;
        }
        let mut found = vec![None; keys.len()];
        let (mut asked, mut places) = (Vec::new(), Vec::new());
        for (place, key) in keys.into_iter().enumerate() {
            let row = (table, key);
            if let Some(value) = self.writes.rows.get(&row).or_else(|| self.prefetched.get(&row)) {
                found[place].clone_from(value);
            } else {
                asked.push(row.1);
                places.push(place);
            }
        }
        if !asked.is_empty() {
            for (place, value) in places.into_iter().zip(self.session.get_many(table, &asked).await?) {
                found[place] = value;
            }
        }
        Ok(found)
    }

    async fn scan_raw(&self, table: TableId, range: Range) -> Result<Vec<RawRow>> {
        let mut changes = Changes::default();
        changes.add(&self.writes.rows, table, &range);
        let wider = Range { limit: changes.base_limit(range.limit), ..range.clone() };
        Ok(changes.over(self.session.scan(table, &wider).await?, &range))
    }
}

/// A consistent, read-only view of one shard's durable state.
pub struct Snapshot {
    schema: Arc<Schema>,
    reader: Box<dyn Reader>,
}

impl Snapshot {
    pub(crate) fn new(schema: Arc<Schema>, reader: Box<dyn Reader>) -> Self {
        Self { schema, reader }
    }
}

impl Read for Snapshot {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    async fn get_many_raw(&self, table: TableId, keys: Vec<KeyBytes>) -> Result<Vec<Option<Bytes>>> {
        self.reader.get_many(table, &keys).await
    }

    async fn scan_raw(&self, table: TableId, range: Range) -> Result<Vec<RawRow>> {
        self.reader.scan(table, &range).await
    }
}

/// A key of other columns than the table's does not compile.
pub(crate) fn encode_key<K: Decode, V: Value, Q: Encode>(_: &Table<K, V>, key: &Q) -> Result<KeyBytes> {
    const { assert!(K::TYPES.len() == Q::TYPES.len() && is_prefix(K::TYPES, Q::TYPES), "not a key of this table") }
    key.encode()
}

pub(crate) fn check_range<K: Decode, V: Value>(table: &Table<K, V>, range: &Range) -> Result<()> {
    if is_prefix(K::TYPES, range.types) {
        Ok(())
    } else {
        Err(Error::invalid(format!("the range's columns are not those of table {}", table.name())))
    }
}
