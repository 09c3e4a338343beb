use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, SharedEngine};
use crate::key::{Decode, Encode};
use crate::table::{Value, decode_value};
use crate::tx::{check_range, encode_key};
use crate::{
    Error, Kind, Range, Result, Schema, Shard, Snapshot, Table, Tx, Wakes, copy, embedded, memory, postgres,
};

/// Shards asked at once for a list.
const LIST_SHARDS: usize = 128;

/// Settings that all engines share; each takes what concerns it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for what the embedded engine keeps of its disk: one half for small rows, the other for blocks.
    pub cache_bytes: u64,
    /// The embedded engine takes no more writes when less than this is left on the disk.
    pub reserve_bytes: u64,
    /// Connections to each PostgreSQL server.
    pub connections: usize,
    /// Called once, with the reason, when the embedded store must be reopened. Acknowledging has stopped by then.
    pub on_failure: fn(&str),
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 256 << 20, reserve_bytes: 1 << 30, connections: 16, on_failure: |_| {} }
    }
}

/// The store of a process. Clones share it.
#[derive(Clone)]
pub struct Store {
    schema: Arc<Schema>,
    engine: SharedEngine,
    wakes: Wakes,
}

impl Store {
    /// Opens `embedded:<dir>`, one or several `postgres://…` servers, or `memory:`.
    pub async fn open(urls: &[String], schema: Schema, options: &Options) -> Result<Self> {
        let (schema, wakes) = (Arc::new(schema), Wakes::default());
        let first = urls.first().map_or("", String::as_str);
        let scheme = first.split_once(':').map_or("", |(scheme, _)| scheme);
        let engine: SharedEngine = match scheme {
            "embedded" if urls.len() == 1 => {
                let folder = PathBuf::from(&first["embedded:".len()..]);
                Arc::new(embedded::open(folder, schema.clone(), wakes.clone(), options.clone()).await?)
            }
            "postgres" | "postgresql" => {
                Arc::new(postgres::open(urls, schema.clone(), wakes.clone(), options).await?)
            }
            "memory" if urls.len() == 1 => Arc::new(memory::Memory::new(wakes.clone())),
            _ => {
                return Err(Error::new(
                    Kind::Invalid,
                    format!("a store is embedded:<dir>, postgres://… or memory:, not {scheme:?}"),
                ));
            }
        };
        let store = Self { schema, engine, wakes };
        copy::check_finished(&store).await?;
        Ok(store)
    }

    /// A store in memory, for simulation and for unit tests of flows.
    pub fn memory(schema: Schema) -> Self {
        let wakes = Wakes::default();
        Self { schema: Arc::new(schema), engine: Arc::new(memory::Memory::new(wakes.clone())), wakes }
    }

    /// The same store seen through another engine, such as one that breaks things on purpose.
    #[must_use]
    pub fn wrapped(&self, wrap: impl FnOnce(SharedEngine) -> SharedEngine) -> Self {
        Self { schema: self.schema.clone(), engine: wrap(self.engine.clone()), wakes: self.wakes.clone() }
    }

    /// Runs `body` as one transaction of the shard: all or nothing, durable when this returns. Bodies of a shard run
    /// one after another. A body that returns an error did not happen.
    ///
    /// Dropped before the writes are handed to the engine it did not happen; after that it completes alone.
    pub async fn transact<T, E: From<Error>>(
        &self,
        shard: Shard,
        body: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tx = Tx::new(shard, self.schema.clone(), self.engine.begin(shard).await?);
        match body(&mut tx).await {
            Ok(answer) => {
                tx.commit().await?;
                Ok(answer)
            }
            Err(error) => {
                // The error may tell what the body read, so it waits until that is durable.
                tx.abandon().await?;
                Err(error)
            }
        }
    }

    /// The shard's durable state at one moment; never blocks a writer.
    pub async fn snapshot(&self, shard: Shard) -> Result<Snapshot> {
        Ok(Snapshot::new(self.schema.clone(), self.engine.snapshot(shard).await?))
    }

    /// The durable row of this key, if there is one. One question needs no snapshot; several that must agree do.
    pub async fn get<K: Decode, V: Value, Q: Encode>(
        &self,
        table: &Table<K, V>,
        shard: Shard,
        key: Q,
    ) -> Result<Option<V>> {
        let mut found = self.get_many(table, [(shard, key)]).await?;
        Ok(found.pop().flatten())
    }

    /// The durable rows of these keys, in their order and in one question. Those of one shard are of one moment.
    pub fn get_many<K: Decode, V: Value, Q: Encode>(
        &self,
        table: &Table<K, V>,
        keys: impl IntoIterator<Item = (Shard, Q)>,
    ) -> impl Future<Output = Result<Vec<Option<V>>>> + Send {
        let keys = keys.into_iter().map(|(shard, key)| Ok((shard, encode_key(table, &key)?)));
        let question = keys
            .collect::<Result<Vec<_>>>()
            .and_then(|keys| Ok((self.schema.id(table.system(), table.name())?, keys)));
        async move {
            let (id, keys) = question?;
            let found = self.engine.get_many(id, &keys).await?;
            found.into_iter().map(|bytes| bytes.map(|bytes| decode_value(bytes)).transpose()).collect()
        }
    }

    /// The first rows of the range in each of the shards (the range's limit is per shard): due work over many shards in
    /// one question. A hint that a transaction checks again.
    pub async fn scan_shards<K: Decode, V: Value>(
        &self,
        table: &Table<K, V>,
        shards: &[Shard],
        range: Range,
    ) -> Result<Vec<(Shard, K, V)>> {
        check_range(table, &range)?;
        let id = self.schema.id(table.system(), table.name())?;
        let rows = self.engine.scan_shards(id, shards, &range).await?;
        rows.into_iter()
            .map(|(shard, (key, value))| Ok((shard, K::decode(key.as_slice())?, decode_value(value)?)))
            .collect()
    }

    /// At most `limit` of what `pick` makes of the rows of all shards behind `after`, in the order of (shard, key): for lists
    /// with a cursor, whose rest of a shard is a range of its own. A range's limit says how many rows of a shard are read at
    /// a time. Not of one moment.
    pub async fn scan_after<K: Decode, V: Value, T>(
        &self,
        table: &Table<K, V>,
        range: &Range,
        after: Option<(Shard, Range)>,
        limit: usize,
        mut pick: impl FnMut(K, V) -> Option<T> + Send,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        let mut first = 0;
        if let Some((shard, rest)) = after {
            first = shard.index() + 1;
            self.rest_of_shard(table, shard, rest, limit, &mut found, &mut pick).await?;
        }
        let shards: Vec<_> = Shard::all().skip(first).collect();
        for shards in shards.chunks(LIST_SHARDS) {
            if found.len() >= limit {
                break;
            }
            let mut by_shard: BTreeMap<Shard, Vec<(K, V)>> = BTreeMap::new();
            for (shard, key, value) in self.scan_shards(table, shards, range.clone()).await? {
                by_shard.entry(shard).or_default().push((key, value));
            }
            for (shard, rows) in by_shard {
                let rest = rest(range, &rows)?;
                found.extend(rows.into_iter().filter_map(|(key, value)| pick(key, value)));
                if let Some(rest) = rest {
                    self.rest_of_shard(table, shard, rest, limit, &mut found, &mut pick).await?;
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn rest_of_shard<K: Decode, V: Value, T>(
        &self,
        table: &Table<K, V>,
        shard: Shard,
        range: Range,
        limit: usize,
        found: &mut Vec<T>,
        pick: &mut (impl FnMut(K, V) -> Option<T> + Send),
    ) -> Result<()> {
        let mut next = Some(range);
        while let Some(range) = next.take().filter(|_| found.len() < limit) {
            let rows = self.scan_shards(table, &[shard], range.clone()).await?;
            let rows: Vec<_> = rows.into_iter().map(|(_, key, value)| (key, value)).collect();
            next = rest(&range, &rows)?;
            found.extend(rows.into_iter().filter_map(|(key, value)| pick(key, value)));
        }
        Ok(())
    }

    /// Writes one row without the shard's turn: only for rows that one process alone ever writes (heartbeats).
    pub async fn put_alone<K: Decode, V: Value, Q: Encode>(
        &self,
        table: &Table<K, V>,
        shard: Shard,
        key: Q,
        value: &V,
    ) -> Result<()> {
        let id = self.schema.id(table.system(), table.name())?;
        let key = encode_key(table, &key)?;
        self.engine.put_alone(shard, id, key, value.encode_to_vec().into()).await
    }

    pub fn wakes(&self) -> &Wakes {
        &self.wakes
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }
}

/// What a full page leaves of a range.
fn rest<K: Encode, V>(range: &Range, page: &[(K, V)]) -> Result<Option<Range>> {
    let last = page.last().filter(|_| page.len() == range.limit);
    last.map(|(key, _)| Ok(range.clone().beyond(key.encode()?))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Read as _, Space};

    const WORDS: Table<(String, i64), String> =
        Table::new("test", "words", &["language", "number"], Space::Small);

    async fn change(store: &Store, language: &str, numbers: &[i64]) -> Result<usize, Error> {
        let suffix = String::from("!");
        store
            .transact(Shard::of(language), async |tx| {
                for number in numbers {
                    let old = tx.get(&WORDS, (language, *number)).await?.unwrap_or_default();
                    tx.put(&WORDS, (language, *number), &(old + &suffix))?;
                }
                tx.wake("words");
                Ok(tx.scan(&WORDS, Range::prefix((language,), 10)?).await?.len())
            })
            .await
    }

    /// Flows run in spawned tasks, so the future of a transaction that borrows must be `Send`.
    #[tokio::test]
    async fn transactions_that_borrow_run_in_spawned_tasks() {
        let store = Store::memory(Schema::new([WORDS.spec()]));
        let woken = store.wakes().listen("words");
        let task = tokio::spawn({
            let store = store.clone();
            async move { change(&store, "ru", &[1, 2]).await }
        });
        assert_eq!(task.await.unwrap().unwrap(), 2);
        assert_eq!(change(&store, "ru", &[2, 3]).await.unwrap(), 3);
        let rows = store.snapshot(Shard::of("ru")).await.unwrap().scan(&WORDS, Range::all(10)).await.unwrap();
        let texts: Vec<_> = rows.iter().map(|((_, number), text)| (*number, text.as_str())).collect();
        assert_eq!(texts, [(1, "!"), (2, "!!"), (3, "!")]);
        assert_eq!(woken.woken().await.into_iter().collect::<Vec<_>>(), [Shard::of("ru")]);
    }

    #[tokio::test]
    async fn a_list_over_all_shards_goes_on_behind_any_of_its_rows() {
        let store = Store::memory(Schema::new([WORDS.spec()]));
        let languages: Vec<_> = (0..40).map(|number| format!("language {number}")).collect();
        for language in &languages {
            change(&store, language, &[1, 2, 3, 4, 5, 6, 7]).await.unwrap();
        }
        let mut expected: Vec<_> = languages
            .iter()
            .flat_map(|language| (1..=7).map(move |number| (Shard::of(language), language.clone(), number)))
            .collect();
        expected.sort();
        for limit in [1, 3, 10, 100, 1_000] {
            let (mut all, mut after) = (Vec::new(), None::<(String, i64)>);
            loop {
                let cursor = after.as_ref().map(|(language, number)| {
                    let rest = Range::all(3).after((language.as_str(), *number)).unwrap();
                    (Shard::of(language), rest)
                });
                let even = |key: (String, i64), _| (key.1 % 2 == 0).then_some(key);
                let page = store.scan_after(&WORDS, &Range::all(3), cursor, limit, even).await.unwrap();
                let Some(last) = page.last() else { break };
                after = Some(last.clone());
                assert!(page.len() <= limit);
                all.extend(
                    page.into_iter().map(|(language, number)| (Shard::of(&language), language, number)),
                );
            }
            let even: Vec<_> = expected.iter().filter(|(.., number)| number % 2 == 0).cloned().collect();
            assert_eq!(all, even, "pages of {limit}");
        }
    }
}
