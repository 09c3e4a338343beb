//! The bare fjall: group commit and nothing else, as the reference for our embedded engine.

use std::path::Path;
use std::sync::mpsc;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode, Readable as _};
use tokio::sync::oneshot;

use super::{OfferRows, small_value};

pub struct BareFjall {
    db: Database,
    spaces: [Keyspace; 3],
    jobs: mpsc::Sender<Job>,
}

type Row = (usize, Vec<u8>, Option<Vec<u8>>);
type Job = (Vec<Row>, oneshot::Sender<()>);

impl BareFjall {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let db = Database::builder(folder)
            .worker_threads(4)
            .max_journaling_size(256 << 20)
            .cache_size(256 << 20)
            .open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(u64::MAX);
        let separated = || options().with_kv_separation(Some(KvSeparationOptions::default()));
        let spaces = [
            db.keyspace("small", options)?,
            db.keyspace("large", separated)?,
            db.keyspace("queue", options)?,
        ];
        let (jobs, inbox) = mpsc::channel::<Job>();
        std::thread::spawn({
            let (db, spaces) = (db.clone(), spaces.clone());
            move || commit(&db, &spaces, &inbox)
        });
        Ok(Self { db, spaces, jobs })
    }

    /// Writes rows durably, in one group with whatever else is ready.
    pub async fn write(&self, offers: &[OfferRows]) -> anyhow::Result<()> {
        let (done, answer) = oneshot::channel();
        self.jobs.send((offers.iter().flat_map(rows).collect(), done))?;
        Ok(answer.await?)
    }

    pub fn get(&self, seller: &str, offer: i64) -> anyhow::Result<usize> {
        let value = self.db.snapshot().get(&self.spaces[1], key(1, seller, &[offer]))?;
        // Taken out of the database, as any use of it does.
        Ok(value.map(|value| value.to_vec()).map_or(0, |value| value.len()))
    }

    pub fn scan(&self, seller: &str, from: i64, limit: usize) -> anyhow::Result<usize> {
        let range = key(1, seller, &[from])..key(1, seller, &[i64::MAX]);
        let mut rows = Vec::with_capacity(limit);
        for guard in self.db.snapshot().range(&self.spaces[1], range).take(limit) {
            let (key, value) = guard.into_inner()?;
            rows.push((key.to_vec(), value.to_vec()));
        }
        Ok(rows.iter().map(|(_, value)| value.len()).sum())
    }
}

/// The same rows as `OfferRows::put` writes.
fn rows(offer: &OfferRows) -> Vec<Row> {
    let mut rows = vec![(1, key(1, &offer.seller, &[offer.offer]), Some(offer.content.clone()))];
    for kind in 0..offer.small {
        let key = key(2, &offer.seller, &[kind as i64, offer.offer]);
        rows.push((0, key, Some(small_value(kind))));
    }
    rows
}

fn key(table: u16, seller: &str, numbers: &[i64]) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    key.extend_from_slice(&table.to_be_bytes());
    key.extend_from_slice(&[0, 0]);
    key.extend_from_slice(seller.as_bytes());
    key.push(0);
    for number in numbers {
        key.extend_from_slice(&(number ^ i64::MIN).to_be_bytes());
    }
    key
}

/// Takes what is ready, writes it with one fsync, rotates memtables as the engine does.
fn commit(db: &Database, spaces: &[Keyspace; 3], inbox: &mpsc::Receiver<Job>) {
    let mut unrotated = [0_usize; 3];
    while let Ok(first) = inbox.recv() {
        let mut group = vec![first];
        while group.len() < 4_096 {
            let Ok(next) = inbox.try_recv() else { break };
            group.push(next);
        }
        let mut batch = db.batch().durability(Some(PersistMode::SyncData));
        let mut waiting = Vec::with_capacity(group.len());
        for (rows, done) in group {
            for (space, key, value) in rows {
                unrotated[space] += key.len() + value.as_ref().map_or(0, Vec::len) + 64;
                match value {
                    Some(value) => batch.insert(&spaces[space], key, value),
                    None => batch.remove(&spaces[space], key),
                }
            }
            waiting.push(done);
        }
        batch.commit().expect("the reference writes to a healthy disk");
        for done in waiting {
            let _ = done.send(());
        }
        for (space, limit) in [16 << 20, 16 << 20, 4 << 20].into_iter().enumerate() {
            if unrotated[space] > limit {
                spaces[space].rotate_memtable().expect("the reference rotates");
                unrotated[space] = 0;
            }
        }
    }
}
