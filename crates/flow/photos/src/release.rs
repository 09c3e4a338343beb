//! Offers let urls go, and the sweep of files asks what is kept.

use files::{Answer, Files, Hash, Referrer};
use store::{Range, Read as _, Shard, Store, Tx};

use crate::Result;
use crate::store_photo::parse_referrer;
use crate::tables::{PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES, REQUESTS, url_hash};

/// Most requests of one offer that are under way.
const MAX_REQUESTS: usize = 1_000;

/// The offer uses these urls no more; in the seller's shard. The file of a url that no offer uses goes. Repeating it does
/// nothing.
pub async fn release(tx: &mut Tx, seller: &str, offer: i64, urls: &[String]) -> Result<()> {
    // Requests still under way must not bring the use back.
    for (key, mut row) in tx.scan(&REQUESTS, Range::prefix((offer,), MAX_REQUESTS)?).await? {
        row.released_urls.extend(urls.iter().cloned());
        row.released_urls.sort();
        row.released_urls.dedup();
        tx.put(&REQUESTS, &key, &row)?;
    }
    for url in urls {
        let hash = url_hash(url);
        tx.delete(&PHOTO_USES, (seller, &hash, offer))?;
        if !tx.scan(&PHOTO_USES, Range::prefix((seller, &hash), 1)?).await?.is_empty() {
            continue;
        }
        tx.delete(&PHOTO_ERRORS, (seller, &hash))?;
        let Some(row) = tx.get(&PHOTO_URLS, (seller, &hash)).await? else { continue };
        tx.delete(&PHOTO_URLS, (seller, &hash))?;
        if let Some(file) = row.file_hash() {
            Files::release(tx, &file, &Referrer::new(row.referrer.as_str())?).await?;
        }
    }
    Ok(())
}

/// What a referrer of ours says of a file when the sweep of files asks.
pub async fn owns(store: &Store, referrer: &Referrer, hash: &Hash) -> Answer {
    let Some((seller, url_hash)) = parse_referrer(referrer) else { return Answer::Gone };
    match store.get(&PHOTO_URLS, Shard::of(seller), (seller, &url_hash)).await {
        Ok(Some(row)) if row.referrer == referrer.as_str() && row.file_hash() == Some(*hash) => Answer::Held,
        Ok(_) => Answer::Gone,
        Err(error) => {
            tracing::warn!(%referrer, "whether a photo is kept cannot be told now: {error}");
            Answer::Unknown
        }
    }
}
