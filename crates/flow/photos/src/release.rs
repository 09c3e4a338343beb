//! Offers let urls go, and the sweep of files asks what is kept.

use std::collections::{BTreeMap, BTreeSet};

use files::{Answer, Files, Hash, Referrer};
use futures::future::try_join_all;
use store::{Range, Read as _, Shard, Store, Tx};

use crate::Result;
use crate::store_photo::parse_referrer;
use crate::tables::{PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES, REQUESTS, url_hash};

/// Most requests of one offer that are under way.
const MAX_REQUESTS: usize = 1_000;

/// Urls that an offer uses no more.
#[derive(Clone, Debug)]
pub struct Release {
    pub seller: String,
    pub offer: i64,
    pub urls: Vec<String>,
}

/// Offers of a shard use these urls no more. The file of a url that no offer uses goes. Repeating it does nothing. What has
/// to be read is asked for together.
pub async fn release(tx: &mut Tx, releases: &[Release]) -> Result<()> {
    if releases.is_empty() {
        return Ok(());
    }
    forget_waiting(tx, releases).await?;
    let mut users: BTreeMap<(&str, Vec<u8>), BTreeSet<i64>> = BTreeMap::new();
    for Release { seller, offer, urls } in releases {
        for url in urls {
            users.entry((seller.as_str(), url_hash(url))).or_default().insert(*offer);
        }
    }
    // One use more than is released tells whether anybody else has the url.
    let ranges: Vec<Range> = users
        .iter()
        .map(|((seller, hash), offers)| Range::prefix((*seller, hash), offers.len() + 1))
        .collect::<Result<_, _>>()?;
    let reader = &*tx;
    let uses = try_join_all(ranges.into_iter().map(|range| reader.scan(&PHOTO_USES, range))).await?;
    tx.prefetch(&PHOTO_URLS, users.keys().map(|(seller, hash)| (*seller, hash))).await?;
    for (((seller, hash), offers), uses) in users.iter().zip(uses) {
        for offer in offers {
            tx.delete(&PHOTO_USES, (*seller, hash, *offer))?;
        }
        if uses.iter().any(|((_, _, offer), ())| !offers.contains(offer)) {
            continue;
        }
        tx.delete(&PHOTO_ERRORS, (*seller, hash))?;
        let Some(row) = tx.get(&PHOTO_URLS, (*seller, hash)).await? else { continue };
        tx.delete(&PHOTO_URLS, (*seller, hash))?;
        if let Some(file) = row.file_hash() {
            Files::release(tx, &file, &Referrer::new(row.referrer.as_str())?).await?;
        }
    }
    Ok(())
}

/// Requests still under way must not bring the use back.
async fn forget_waiting(tx: &mut Tx, releases: &[Release]) -> Result<()> {
    let ranges: Vec<Range> = releases
        .iter()
        .map(|release| Range::prefix((release.seller.as_str(), release.offer), MAX_REQUESTS))
        .collect::<Result<_, _>>()?;
    let reader = &*tx;
    let waiting = try_join_all(ranges.into_iter().map(|range| reader.scan(&REQUESTS, range))).await?;
    let mut changed = BTreeMap::new();
    for (release, rows) in releases.iter().zip(waiting) {
        for (key, row) in rows {
            let row = changed.entry(key).or_insert(row);
            row.released_urls.extend(release.urls.iter().cloned());
            row.released_urls.sort();
            row.released_urls.dedup();
        }
    }
    for (key, row) in &changed {
        tx.put(&REQUESTS, key, row)?;
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
