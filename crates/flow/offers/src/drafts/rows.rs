//! The rows of drafts, changed within a transaction of their shard.

use std::time::Duration;

use kit::Timestamp;
use model::Content;
use store::{Range, Read as _, Tx};
use wire::offers::{DraftIntent, DraftMoved, DraftPublished, DraftRow};

use super::{Draft, Owner, fresh_id};
use crate::forget::{self, Trace};
use crate::tables::{
    CURRENT_DRAFT, DRAFT, DRAFT_INTENTS, DRAFT_MOVED, DRAFT_PUBLISHED, IDEMPOTENCY, STRANGERS_DRAFTS,
};
use crate::{Error, Result};

/// An anonymous draft dies so long after its last change, and traces of drafts are kept as long.
pub(super) const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Drafts of strangers that may begin in a shard in an hour: a stranger is whoever makes up a secret.
const MAX_STRANGERS_DRAFTS: i64 = 1_000;

/// One more draft of a stranger, unless there are too many in this hour.
pub(super) async fn count_stranger(tx: &mut Tx, now: Timestamp) -> Result<()> {
    let hour = now.hour();
    let count = tx.get(&STRANGERS_DRAFTS, (hour,)).await?.unwrap_or(0);
    if count >= MAX_STRANGERS_DRAFTS {
        return Err(Error::TooManyDrafts);
    }
    if count == 0 {
        for ((before,), _) in tx.scan(&STRANGERS_DRAFTS, Range::all(10)).await? {
            tx.delete(&STRANGERS_DRAFTS, (before,))?;
        }
    }
    Ok(tx.put(&STRANGERS_DRAFTS, (hour,), &(count + 1))?)
}

pub(super) async fn current(tx: &Tx, owner: &Owner) -> Result<Option<Draft>> {
    let text = owner.text();
    let Some(id) = tx.get(&CURRENT_DRAFT, (text.as_str(),)).await? else { return Ok(None) };
    let row = tx.get(&DRAFT, (id.as_str(),)).await?;
    Ok(row.map(|row| Draft { id, row }))
}

pub(super) fn create(tx: &mut Tx, owner: &Owner, content: Content, now: Timestamp) -> Result<Draft> {
    let id = fresh_id(tx.shard());
    let row =
        DraftRow { owner: owner.text(), created_at: now.0, content: Some(content), ..DraftRow::default() };
    tx.put(&CURRENT_DRAFT, (row.owner.as_str(),), &id)?;
    let row = write(tx, &id, row, now)?;
    Ok(Draft { id, row })
}

pub(super) fn rewrite(
    tx: &mut Tx,
    id: &str,
    row: DraftRow,
    content: Content,
    now: Timestamp,
) -> Result<Draft> {
    let row = write(tx, id, DraftRow { content: Some(content), ..row }, now)?;
    Ok(Draft { id: id.to_owned(), row })
}

/// A draft that is to be published arrives beside its owner's own one, and dies if nobody comes back for it.
pub(super) fn land(
    tx: &mut Tx,
    source: &str,
    intent: &DraftIntent,
    row: DraftRow,
    now: Timestamp,
) -> Result<()> {
    let id = intent.new_id.as_str();
    let row = DraftRow { arriving: false, dies_at: now.plus(KEPT).0, ..row };
    forget::at(tx, row.dies_at, &Trace::Draft(id))?;
    tx.put(&DRAFT, (id,), &row)?;
    let intent = DraftIntent { landed: true, ..intent.clone() };
    Ok(tx.put(&DRAFT_INTENTS, (row.owner.as_str(), source), &intent)?)
}

/// A new version; a draft that dies lives its time anew.
fn write(tx: &mut Tx, id: &str, mut row: DraftRow, now: Timestamp) -> Result<DraftRow> {
    row.version += 1;
    row.updated_at = now.0;
    if Owner::parse(&row.owner).is_anonymous() || row.dies_at != 0 {
        forget::cancel(tx, row.dies_at, &Trace::Draft(id))?;
        row.dies_at = now.plus(KEPT).0;
        forget::at(tx, row.dies_at, &Trace::Draft(id))?;
    }
    tx.put(&DRAFT, (id,), &row)?;
    Ok(row)
}

pub(crate) async fn erase(tx: &mut Tx, id: &str, row: &DraftRow) -> Result<()> {
    tx.delete(&DRAFT, (id,))?;
    forget::cancel(tx, row.dies_at, &Trace::Draft(id))?;
    if tx.get(&CURRENT_DRAFT, (row.owner.as_str(),)).await?.as_deref() == Some(id) {
        tx.delete(&CURRENT_DRAFT, (row.owner.as_str(),))?;
        return Ok(());
    }
    let intents = tx.scan(&DRAFT_INTENTS, Range::prefix((row.owner.as_str(),), MAX_FORGOTTEN)?).await?;
    for (key, _) in intents.iter().filter(|(_, intent)| intent.landed && intent.new_id == id) {
        tx.delete(&DRAFT_INTENTS, key)?;
    }
    Ok(())
}

pub(super) fn note_moved(tx: &mut Tx, id: &str, new_id: &str, now: Timestamp) -> Result<()> {
    let forget_at = now.plus(KEPT).0;
    tx.put(&DRAFT_MOVED, (id,), &DraftMoved { new_id: new_id.to_owned(), forget_at })?;
    forget::at(tx, forget_at, &Trace::Moved(id))
}

pub(super) fn note_published(tx: &mut Tx, id: &str, offer_id: i64, now: Timestamp) -> Result<()> {
    let forget_at = now.plus(KEPT).0;
    tx.put(&DRAFT_PUBLISHED, (id,), &DraftPublished { offer_id, forget_at })?;
    forget::at(tx, forget_at, &Trace::Published(id))
}

/// More keys of a day than this are left to be forgotten by themselves.
const MAX_FORGOTTEN: usize = 10_000;

/// Takes away what a seller has here: their draft, what is on its way to them, and the keys of their calls.
pub(crate) async fn forget_owner(tx: &mut Tx, seller: &str) -> Result<()> {
    let owner = Owner::Seller(seller.to_owned());
    if let Some(draft) = current(tx, &owner).await? {
        erase(tx, &draft.id, &draft.row).await?;
    }
    let intents = tx.scan(&DRAFT_INTENTS, Range::prefix((seller,), MAX_FORGOTTEN)?).await?;
    for ((_, source), intent) in intents {
        let id = intent.new_id.as_str();
        if let Some(row) = tx.get(&DRAFT, (id,)).await? {
            forget::cancel(tx, row.dies_at, &Trace::Draft(id))?;
        }
        tx.delete(&DRAFT, (id,))?;
        tx.delete(&DRAFT_INTENTS, (seller, source.as_str()))?;
    }
    let keys = tx.scan(&IDEMPOTENCY, Range::prefix((seller,), MAX_FORGOTTEN)?).await?;
    for ((_, key), row) in keys {
        forget::cancel(tx, row.forget_at, &Trace::Key(seller, &key))?;
        tx.delete(&IDEMPOTENCY, (seller, key.as_str()))?;
    }
    Ok(())
}
