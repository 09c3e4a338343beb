//! Finds due work at the head of an ordered table, a few pieces of each owner.

use std::collections::BTreeMap;

use kit::Timestamp;
use store::{Decode, Range, Read as _, Shard, Store, Table, Value};

use super::{Due, Piece};

/// Rows of a shard that the first question brings.
const FIRST_PAGE: usize = 32;
/// Rows of each further page of a shard whose head belongs to few.
const NEXT_PAGE: usize = 512;
/// Pieces of one owner that a look brings; the rest waits for the next.
const MAX_PER_OWNER: usize = 16;
/// Owners of one shard whose rows a look brings.
const MAX_OWNERS: usize = 64;
/// Rows of one shard read behind a head that belongs to few.
const MAX_ROWS: usize = 16_384;

/// What a row of a due table says.
pub struct Entry<K> {
    /// When it is due; the past for what is due as soon as it is there.
    pub at: Timestamp,
    pub owner: String,
    pub key: K,
    pub long: bool,
}

/// The pieces due at the head of each shard, from one question over all of them. A shard whose first page belongs to few
/// owners, or has only long pieces, is read on, so that one owner's many rows do not hide another's, nor long pieces the
/// short ones for which a slot is kept. The table's first column is the due time, or
/// its rows are always due.
pub async fn head<R, V, K>(
    store: &Store,
    table: &Table<R, V>,
    shards: &[Shard],
    now: Timestamp,
    entry: impl Fn(R, V) -> Entry<K> + Send + Sync,
) -> store::Result<Due<K>>
where
    R: Decode + Clone + Send + Sync,
    V: Value,
    K: Send,
{
    let mut looks: BTreeMap<Shard, Look<R, K>> = BTreeMap::new();
    for (shard, row, value) in store.scan_shards(table, shards, Range::all(FIRST_PAGE)).await? {
        looks.entry(shard).or_default().add(row.clone(), entry(row, value), now);
    }
    let mut due = Due::default();
    for (shard, mut look) in looks {
        let mut page = FIRST_PAGE;
        while look.wants_more(page)
            && let Some(last) = look.last.take()
        {
            page = NEXT_PAGE;
            look.page = 0;
            let snapshot = store.snapshot(shard).await?;
            for (row, value) in snapshot.scan(table, Range::all(page).after(last)?).await? {
                look.add(row.clone(), entry(row, value), now);
            }
        }
        look.into_due(shard, page, &mut due);
    }
    Ok(due)
}

/// The same for a table whose first column is the owner and whose rows are always due: owners are skipped over, so the
/// number of rows that one of them has makes no difference. Rows of a shard come in order; `None` is a row that waits for
/// something else.
pub async fn head_by_owner<R, V, K>(
    store: &Store,
    table: &Table<R, V>,
    shards: &[Shard],
    mut entry: impl FnMut(R, V) -> Option<Entry<K>> + Send,
) -> store::Result<Due<K>>
where
    R: Decode + Clone + Send + Sync,
    V: Value,
    K: Send,
{
    let now = Timestamp(i64::MAX);
    let mut looks: BTreeMap<Shard, Look<R, K>> = BTreeMap::new();
    for (shard, row, value) in store.scan_shards(table, shards, Range::all(FIRST_PAGE)).await? {
        looks.entry(shard).or_default().add_some(row.clone(), entry(row, value), now);
    }
    let mut due = Due::default();
    for (shard, mut look) in looks {
        while look.page == FIRST_PAGE
            && look.owners.len() < MAX_OWNERS
            && look.rows < MAX_ROWS
            && let Some(last) = look.last.take()
        {
            look.page = 0;
            let range = Range::all(FIRST_PAGE);
            let is_skipped = look.owners.get(&look.last_owner).is_some_and(|count| *count >= MAX_PER_OWNER);
            let range =
                if is_skipped { range.after((look.last_owner.as_str(),))? } else { range.after(last)? };
            for (row, value) in store.snapshot(shard).await?.scan(table, range).await? {
                look.add_some(row.clone(), entry(row, value), now);
            }
        }
        look.into_due(shard, FIRST_PAGE, &mut due);
    }
    Ok(due)
}

struct Look<R, K> {
    entries: Vec<Entry<K>>,
    owners: BTreeMap<String, usize>,
    last: Option<R>,
    last_owner: String,
    later: Option<Timestamp>,
    /// Rows of the page being read, and of all.
    page: usize,
    rows: usize,
    /// An owner had more than a look brings.
    dropped: bool,
}

impl<R, K> Default for Look<R, K> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            owners: BTreeMap::new(),
            last: None,
            last_owner: String::new(),
            later: None,
            page: 0,
            rows: 0,
            dropped: false,
        }
    }
}

impl<R, K> Look<R, K> {
    fn add_some(&mut self, row: R, entry: Option<Entry<K>>, now: Timestamp) {
        match entry {
            Some(entry) => self.add(row, entry, now),
            None => {
                self.page += 1;
                self.rows += 1;
                self.last = Some(row);
                // It may be another owner's, who must not be skipped over from the one before.
                self.last_owner.clear();
            }
        }
    }

    fn add(&mut self, row: R, entry: Entry<K>, now: Timestamp) {
        self.page += 1;
        self.rows += 1;
        if entry.at > now {
            self.later = self.later.or(Some(entry.at));
            return;
        }
        self.last = Some(row);
        self.last_owner.clone_from(&entry.owner);
        let count = self.owners.entry(entry.owner.clone()).or_default();
        *count += 1;
        if *count > MAX_PER_OWNER {
            self.dropped = true;
        } else {
            self.entries.push(entry);
        }
    }

    fn into_due(self, shard: Shard, page: usize, due: &mut Due<K>) {
        if self.dropped || self.is_full(page) {
            due.cut.push(shard);
        }
        due.later.extend(self.later.map(|at| (shard, at)));
        let pieces = self.entries.into_iter();
        due.pieces.extend(pieces.map(|Entry { owner, key, long, .. }| Piece { shard, owner, key, long }));
    }

    /// The page was full, and nothing of it was for later.
    fn is_full(&self, page: usize) -> bool {
        self.page == page && self.later.is_none()
    }

    fn wants_more(&self, page: usize) -> bool {
        let one_sided = self.owners.len() < FIRST_PAGE / 4 || self.entries.iter().all(|entry| entry.long);
        self.is_full(page) && one_sided && self.rows < MAX_ROWS
    }
}
