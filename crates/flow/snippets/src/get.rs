//! Reading documents. What has expired is not there, however late the sweep is.

use kit::Timestamp;
use prost::Message as _;
use store::{Encode as _, Shard, Store};

use crate::prepare::Meant;
use crate::tables::{DOCUMENTS, DocumentRow};

/// The living documents of one key, in the order of the question, with one read.
pub(crate) async fn read(
    store: &Store,
    key: &str,
    wanted: &[Meant],
    now: Timestamp,
) -> store::Result<Vec<Option<DocumentRow>>> {
    let table = store.schema().id(DOCUMENTS.system(), DOCUMENTS.name())?;
    let keys: store::Result<Vec<_>> = wanted
        .iter()
        .map(|one| (one.work.service.as_str(), one.snippet.number, key, one.language.as_str()).encode())
        .collect();
    let found = store.engine().get_many(Shard::of(key), table, &keys?).await?;
    found
        .into_iter()
        .map(|bytes| {
            let Some(bytes) = bytes else { return Ok(None) };
            let row = DocumentRow::decode(bytes).map_err(|error| {
                store::Error::with_source(store::Kind::Corrupt, "a document cannot be read", error)
            })?;
            Ok(Some(row).filter(|row| row.is_alive(now)))
        })
        .collect()
}
