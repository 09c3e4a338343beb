//! Nothing of an SSKU stays: its seller was erased, or it was removed long ago.

use std::time::Duration;

use kit::Timestamp;
use prost::Message as _;
use store::{Range, Read as _, Tx};
use topics::{Message, outbox};
use wire::silver::{Debt, ErpSsku, SskuRow};

use crate::ssku::{Key, SOURCE_ID, SourceType};
use crate::tables::{CUTS, ERP_QUEUE, EXISTENCE, GOLD, GOLD_QUEUE, SSKU};
use crate::{Result, debt};

/// How long a removed SSKU is kept, so that nothing older brings it back.
pub const KEEP_REMOVED: Duration = Duration::from_secs(90 * 24 * 3_600);
/// Rows of one SSKU: its records of all sources, or its markers.
const MAX_ROWS: usize = 100_000;

/// Deletes everything of an SSKU at once, and tells ERP.
pub(crate) async fn forget(tx: &mut Tx, key: &Key, owed: Option<&Debt>) -> Result<()> {
    let row = (key.business, key.shop_sku.as_str());
    for ((business, sku, source, id), _) in tx.scan(&SSKU, Range::prefix(row, MAX_ROWS)?).await? {
        tx.delete(&SSKU, (business, sku, source, id))?;
    }
    for ((business, sku, shop), ()) in tx.scan(&EXISTENCE, Range::prefix(row, MAX_ROWS)?).await? {
        tx.delete(&EXISTENCE, (business, sku, shop))?;
    }
    if let Some(owed) = owed {
        debt::remove(tx, key, owed)?;
    }
    tx.delete(&CUTS, row)?;
    tx.delete(&GOLD_QUEUE, row)?;
    tx.delete(&ERP_QUEUE, row)?;
    if let Some(gold) = tx.get(&GOLD, row).await? {
        tx.delete(&GOLD, row)?;
        let (shop_sku, gold_version) = (key.shop_sku.clone(), gold.version + 1);
        let gone = ErpSsku { business_id: key.business, shop_sku, gold_version, removed: true };
        let message = Message::new(key.business.to_string(), gone.encode_to_vec());
        outbox::send(tx, model::topics::ERP_SSKU, vec![message]).await?;
    }
    Ok(())
}

/// Whether a record goes: it was removed long ago, or it is of a source that no import writes.
pub fn is_purged(key: &(u32, String, String, String), row: &SskuRow, now: Timestamp) -> bool {
    let is_ours = key.3 == SOURCE_ID && SourceType::EVERY.iter().any(|source| source.name() == key.2);
    let is_old = row.removed_at != 0 && Timestamp(row.removed_at) < now.minus(KEEP_REMOVED);
    !is_ours || is_old
}
