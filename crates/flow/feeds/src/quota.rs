//! What a seller may ask for in an hour. It is charged before it is done: calls at the same time get no more.

use store::{Read as _, Tx};
use wire::feeds::QuotaRow;

use crate::tables::QUOTAS;
use crate::tasks::FeedKey;
use crate::{Error, Feeds, Result};

/// Charges the seller in the transaction of what is asked for. Whatever is left out of `more` is not asked for.
pub(crate) async fn charge(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, more: &QuotaRow) -> Result<()> {
    let used = tx.get(&QUOTAS, (key.seller.as_str(),)).await?.unwrap_or_default();
    Ok(tx.put(&QUOTAS, (key.seller.as_str(),), &add(feeds, used, more)?)?)
}

/// The quota after this, unless it is used up.
pub(crate) fn add(feeds: &Feeds, used: QuotaRow, more: &QuotaRow) -> Result<QuotaRow> {
    let used = current(feeds, used);
    let settings = &feeds.settings;
    let limits = [
        (used.uploads, more.uploads, settings.uploads_per_hour, "quota_uploads", "upload", "files"),
        (used.bytes, more.bytes, settings.upload_bytes_per_hour, "quota_bytes", "upload", "bytes"),
        (used.fetches, more.fetches, settings.fetches_per_hour, "quota_fetches", "ask for", "fetches"),
        (used.reruns, more.reruns, settings.reruns_per_hour, "quota_reruns", "ask for", "repeated loads"),
    ];
    for (used, more, most, name, verb, what) in limits {
        if more > 0 && used.saturating_add(more) > most {
            return Err(Error::Quota { name, detail: format!("a seller may {verb} {most} {what} an hour") });
        }
    }
    Ok(QuotaRow {
        hour: used.hour,
        uploads: used.uploads + more.uploads,
        bytes: used.bytes + more.bytes,
        fetches: used.fetches + more.fetches,
        reruns: used.reruns + more.reruns,
    })
}

/// Gives back bytes that were charged and never came.
pub(crate) async fn refund_bytes(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, bytes: i64) -> Result<()> {
    let used = tx.get(&QUOTAS, (key.seller.as_str(),)).await?.unwrap_or_default();
    let mut used = current(feeds, used);
    used.bytes = (used.bytes - bytes).max(0);
    Ok(tx.put(&QUOTAS, (key.seller.as_str(),), &used)?)
}

fn current(feeds: &Feeds, used: QuotaRow) -> QuotaRow {
    let hour = feeds.clock.now().hour();
    if used.hour == hour { used } else { QuotaRow { hour, ..QuotaRow::default() } }
}
