//! Reading documents. What has expired is not there, however late the sweep is.

use kit::Timestamp;
use store::{Shard, Store};

use crate::prepare::DocumentRef;
use crate::tables::{DOCUMENTS, DocumentRow};

/// The living documents of each key, in the order of the question, with one read.
pub(crate) async fn read(
    store: &Store,
    keys: &[impl AsRef<str> + Sync],
    wanted: &[DocumentRef],
    now: Timestamp,
) -> store::Result<Vec<Option<DocumentRow>>> {
    let rows = keys.iter().flat_map(|key| {
        let key = key.as_ref();
        let shard = Shard::of(key);
        wanted.iter().map(move |one| {
            (shard, (one.work.service.as_str(), one.snippet.number, key, one.language.as_str()))
        })
    });
    let found = store.get_many(&DOCUMENTS, rows).await?;
    Ok(found.into_iter().map(|row| row.filter(|row| row.is_alive(now))).collect())
}
