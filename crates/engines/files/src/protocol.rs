//! The life of a file, step by step. Each step below marked `T` is one transaction in the shard of the hash; the
//! functions of this module are their bodies, and nothing else writes the rows of files.
//!
//! ```text
//! put      T1 claim     blob uploading(g), reference pending      g is new, or that of an upload under way
//!          O1 write     object hash.g, complete or absent         skipped when the blob is present
//!          T2 uploaded  blob present(g)
//! owner    its own transaction, in its own shard, writes the hash into its row
//! confirm  T3 hold      reference held
//! release  the owner's transaction forgets the hash and puts a release into its outbox
//!          T4 let_go    reference removed; it was the last: blob deleting(g), deletion (due, hash, g)
//! delete   O2 delete    object hash.g, once the deletion is due
//!          T5 deleted   deletion removed; the blob too, if it is still deleting(g)
//! ```
//!
//! What a crash (or a lost answer) leaves behind each step, and who finishes it:
//!
//! | after | there is | finished by |
//! | --- | --- | --- |
//! | T1 | a pending reference, no object | the owner's next `put`, or the sweep: `Gone` → T4 |
//! | O1 | the same, and an object that a row names | the same |
//! | T2 | a pending reference, an object | the same |
//! | owner's transaction | a pending reference, the owner knows the hash | the owner's `confirm`, or the sweep: `Held` → T3 |
//! | T3 | a held reference and its object | nothing to do |
//! | owner's release | a release in the outbox | its delivery, at least once: T4 |
//! | T4 | a deletion row, an object | `delete_due`: O2, T5 |
//! | O2 | a deletion row, no object | `delete_due`: O2 again finds nothing, T5 |
//!
//! Why nothing is lost or left lying:
//! - An object is written only after T1 has named it, and its rows go only after it is gone.
//! - A reference is held, and a file reported present, only after T2.
//! - **A generation marked `deleting` never comes back**: a claim that finds it takes the next one, and numbers are
//!   given by a counter of the shard that only grows. So a DELETE that arrives late, even after the rows are gone,
//!   hits no object that anybody holds, and O2 needs no check.
//! - **A write that arrives late** is the mirror of that. T1 notes until when the write that it allows may arrive
//!   (`put_timeout` and a margin), and a deletion is not due before; a claim that joins an upload moves the moment on.
//!   Should a writer sleep beyond even that, T2 finds its generation gone and enters the deletion itself.
//! - A claim that finds the blob present keeps it so: the reference it writes is there before any T4 can count.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::try_join_all;
use kit::Timestamp;
use store::{Range, Read as _, Tx};

use crate::tables::{BLOBS, Blob, BlobState, DELETIONS, FILE_REFS, FileRef, GENERATIONS, PENDINGS, RefState};
use crate::{Error, Hash, Kind, ObjectName, Referrer, Result};

const LAST: &str = "last";

/// What a claim found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The object is there; nothing to write.
    Present,
    /// The object must be written under this name.
    Write(ObjectName),
}

/// T1: the reference is pending, and the object that will be written has a row.
pub(crate) async fn claim(
    tx: &mut Tx,
    hash: &Hash,
    size: u64,
    referrer: &Referrer,
    now: Timestamp,
    write_window: Duration,
) -> Result<Claim> {
    keep_or_make_pending(tx, hash, referrer, now).await?;
    let found = tx.get(&BLOBS, (hash.as_bytes().as_slice(),)).await?;
    let generation = match &found {
        Some(blob) if blob.state() == BlobState::Present => return Ok(Claim::Present),
        Some(blob) if blob.state() == BlobState::Uploading => blob.generation,
        _ => next_generation(tx).await?,
    };
    let before = found.map_or(i64::MIN, |blob| blob.writes_until);
    let writes_until = now.plus(write_window).0.max(before);
    let blob = Blob { state: BlobState::Uploading.into(), generation, size, writes_until };
    tx.put(&BLOBS, (hash.as_bytes().as_slice(),), &blob)?;
    Ok(Claim::Write(ObjectName { hash: *hash, generation }))
}

/// T2: the object is there, whole. Fails when the claim was swept away meanwhile.
pub(crate) async fn uploaded(
    tx: &mut Tx,
    name: &ObjectName,
    referrer: &Referrer,
    now: Timestamp,
) -> Result<bool> {
    let hash = name.hash.as_bytes().as_slice();
    match tx.get(&BLOBS, (hash,)).await? {
        Some(mut blob) if blob.generation == name.generation => {
            if blob.state() == BlobState::Uploading {
                blob.set_state(BlobState::Present);
                tx.put(&BLOBS, (hash,), &blob)?;
            }
        }
        // Written too late: no row names it any more, so it must go.
        _ => tx.put(&DELETIONS, (now, hash, name.generation as i64), &())?,
    }
    Ok(tx.get(&FILE_REFS, (hash, referrer.as_str())).await?.is_some())
}

/// T3: the owner keeps the file. Holding what is held changes nothing.
pub(crate) async fn hold(tx: &mut Tx, hash: &Hash, referrer: &Referrer, now: Timestamp) -> Result<()> {
    let key = (hash.as_bytes().as_slice(), referrer.as_str());
    let Some(found) = tx.get(&FILE_REFS, key).await? else {
        return Err(Error::new(Kind::NotFound, format!("{referrer} does not refer to file {hash}")));
    };
    if found.state() == RefState::Held {
        return Ok(());
    }
    let blob = tx.get(&BLOBS, (key.0,)).await?;
    if !blob.is_some_and(|blob| blob.state() == BlobState::Present) {
        return Err(Error::new(Kind::Invalid, format!("file {hash} is not stored yet")));
    }
    tx.delete(&PENDINGS, (Timestamp(found.since), key.0, key.1))?;
    tx.put(&FILE_REFS, key, &FileRef { state: RefState::Held.into(), since: now.0 })?;
    Ok(())
}

/// T4: the reference goes; with the last one the file. Says whether there was one to go.
pub(crate) async fn let_go(tx: &mut Tx, hash: &Hash, referrer: &Referrer, now: Timestamp) -> Result<bool> {
    Ok(let_go_many(tx, &[(*hash, referrer.clone())], now).await? > 0)
}

/// T4 for many references of a shard, whose rows are read together; says how many were there.
pub(crate) async fn let_go_many(tx: &mut Tx, releases: &[(Hash, Referrer)], now: Timestamp) -> Result<usize> {
    let mut by_hash: BTreeMap<&[u8], BTreeSet<&str>> = BTreeMap::new();
    for (hash, referrer) in releases {
        by_hash.entry(hash.as_bytes().as_slice()).or_default().insert(referrer.as_str());
    }
    tx.prefetch(&BLOBS, by_hash.keys().map(|hash| (*hash,))).await?;
    let references = releases.iter().map(|(hash, referrer)| (hash.as_bytes().as_slice(), referrer.as_str()));
    tx.prefetch(&FILE_REFS, references).await?;
    // One row more than is released tells whether anybody else holds the file.
    let reader = &*tx;
    let held = by_hash.iter().map(|(hash, referrers)| {
        let range = Range::prefix((*hash,), referrers.len() + 1);
        async move { reader.scan(&FILE_REFS, range?).await }
    });
    let held = try_join_all(held).await?;
    let mut gone = 0;
    for ((hash, referrers), rows) in by_hash.into_iter().zip(held) {
        let mut released =
            tx.get_many(&FILE_REFS, referrers.iter().map(|referrer| (hash, *referrer))).await?;
        for (referrer, found) in referrers.iter().zip(&mut released) {
            let Some(found) = found.take() else { continue };
            if found.state() == RefState::Pending {
                tx.delete(&PENDINGS, (Timestamp(found.since), hash, *referrer))?;
            }
            tx.delete(&FILE_REFS, (hash, *referrer))?;
            gone += 1;
        }
        let is_held = rows.iter().any(|((_, referrer), _)| !referrers.contains(referrer.as_str()));
        if !is_held && !rows.is_empty() {
            mark_deleting(tx, hash, now).await?;
        }
    }
    Ok(gone)
}

async fn mark_deleting(tx: &mut Tx, hash: &[u8], now: Timestamp) -> Result<()> {
    if let Some(mut blob) = tx.get(&BLOBS, (hash,)).await?
        && blob.state() != BlobState::Deleting
    {
        let due = now.max(Timestamp(blob.writes_until));
        tx.put(&DELETIONS, (due, hash, blob.generation as i64), &())?;
        blob.set_state(BlobState::Deleting);
        tx.put(&BLOBS, (hash,), &blob)?;
        tx.wake(crate::WAKE_CHANNEL);
    }
    Ok(())
}

/// The sweep's T4: only if the reference is still the pending one that was asked about.
pub(crate) async fn let_go_pending(
    tx: &mut Tx,
    hash: &Hash,
    referrer: &Referrer,
    since: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    let found = tx.get(&FILE_REFS, (hash.as_bytes().as_slice(), referrer.as_str())).await?;
    match found {
        Some(found) if found.state() == RefState::Pending && found.since == since.0 => {
            let_go(tx, hash, referrer, now).await
        }
        _ => Ok(false),
    }
}

/// T5: the object is gone, so its rows may go.
pub(crate) async fn deleted(tx: &mut Tx, name: &ObjectName, due: Timestamp) -> Result<()> {
    let hash = name.hash.as_bytes().as_slice();
    tx.delete(&DELETIONS, (due, hash, name.generation as i64))?;
    let blob = tx.get(&BLOBS, (hash,)).await?;
    if blob.is_some_and(|blob| blob.state() == BlobState::Deleting && blob.generation == name.generation) {
        tx.delete(&BLOBS, (hash,))?;
    }
    Ok(())
}

/// A repeated claim starts its time anew; a held reference stays held.
async fn keep_or_make_pending(tx: &mut Tx, hash: &Hash, referrer: &Referrer, now: Timestamp) -> Result<()> {
    let key = (hash.as_bytes().as_slice(), referrer.as_str());
    match tx.get(&FILE_REFS, key).await? {
        Some(found) if found.state() == RefState::Held => return Ok(()),
        Some(found) => tx.delete(&PENDINGS, (Timestamp(found.since), key.0, key.1))?,
        None => {}
    }
    tx.put(&FILE_REFS, key, &FileRef { state: RefState::Pending.into(), since: now.0 })?;
    tx.put(&PENDINGS, (now, key.0, key.1), &())?;
    Ok(())
}

async fn next_generation(tx: &mut Tx) -> Result<u64> {
    let next = tx.get(&GENERATIONS, (LAST,)).await?.unwrap_or(0) + 1;
    tx.put(&GENERATIONS, (LAST,), &next)?;
    Ok(next)
}
