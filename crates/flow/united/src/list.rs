//! Lists and single rows, as people look at them.

use model::OfferId;
use model::names::DEFAULT_NAMESPACE;
use store::{Range, Read as _, Shard};
use wire::united::{MigrationRow, OfferRow, ShopRow};

use crate::tables::{MIGRATIONS, MOVED, OFFERS, SHOPS, shard_of};
use crate::{Result, United};

/// Migrations that are looked through for where an offer came from.
const MAX_MIGRATIONS: usize = 1_000;

/// A request for migration: its target, its id, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    pub target: u32,
    pub request_id: String,
    pub row: MigrationRow,
}

/// A united offer at one moment, and where it went if it is not at home here any more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfferView {
    pub row: Option<OfferRow>,
    pub moved_to: Option<u32>,
}

impl United {
    /// Businesses with shops behind `after`, at most `limit`, in the order of (shard, business); also those whose shops are
    /// all unmapped.
    pub async fn businesses(&self, after: Option<u32>, limit: usize) -> Result<Vec<u32>> {
        let page = Range::all(limit.max(100));
        let rest =
            |business: u32| Ok::<_, store::Error>((shard_of(business), page.clone().after((business,))?));
        let mut last = None;
        let first_row = |(business, _): (u32, u32), _: ShopRow| {
            let is_new = last != Some(business);
            last = Some(business);
            is_new.then_some(business)
        };
        let cursor = after.map(rest).transpose()?;
        Ok(self.store.scan_after(&SHOPS, &page, cursor, limit, first_row).await?)
    }

    /// Offers of a business behind `after`, in the order of their ids.
    pub async fn offers_of(
        &self,
        business: u32,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, OfferRow)>> {
        let mut range = Range::prefix((business,), limit)?;
        if let Some(after) = after {
            range = range.after((business, after))?;
        }
        let rows = self.store.snapshot(shard_of(business)).await?.scan(&OFFERS, range).await?;
        Ok(rows.into_iter().map(|((_, shop_sku), row)| (shop_sku, row)).collect())
    }

    /// An offer as it is stored.
    pub async fn offer_view(&self, business: u32, shop_sku: &str) -> Result<OfferView> {
        let snapshot = self.store.snapshot(shard_of(business)).await?;
        let key = (business, shop_sku);
        let (row, moved) = futures::try_join!(snapshot.get(&OFFERS, key), snapshot.get(&MOVED, key))?;
        Ok(OfferView { row, moved_to: moved.map(|moved| moved.home) })
    }

    /// Migrations behind `after`, at most `limit`: those to one business by the request's id, or all in the order of
    /// (shard, business, request).
    pub async fn migrations(
        &self,
        target: Option<u32>,
        after: Option<(u32, &str)>,
        limit: usize,
    ) -> Result<Vec<Migration>> {
        let migration = |(target, request_id), row| Migration { target, request_id, row };
        let Some(target) = target else {
            let page = Range::all(limit);
            let rest = |key: (u32, &str)| Ok::<_, store::Error>((shard_of(key.0), page.clone().after(key)?));
            let cursor: Option<(Shard, Range)> = after.map(rest).transpose()?;
            let picked = |key, row| Some(migration(key, row));
            return Ok(self.store.scan_after(&MIGRATIONS, &page, cursor, limit, picked).await?);
        };
        let mut range = Range::prefix((target,), limit)?;
        if let Some((_, after)) = after {
            range = range.after((target, after))?;
        }
        let rows = self.store.snapshot(shard_of(target)).await?.scan(&MIGRATIONS, range).await?;
        Ok(rows.into_iter().map(|(key, row)| migration(key, row)).collect())
    }

    /// The businesses that an offer of this business was asked of.
    pub async fn sources_of(&self, business: u32, shop_sku: &str) -> Result<Vec<u32>> {
        let found = self.migrations(Some(business), None, MAX_MIGRATIONS).await?;
        let here = found.into_iter().filter(|found| found.row.shop_sku == shop_sku);
        Ok(here.map(|found| found.row.source_business_id).collect())
    }
}

/// Which of a seller's offers has this id in their shop: the other way round of [`crate::fill::shop_sku`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkuOrigin<'a> {
    ByHand(OfferId),
    Feed { namespace: &'a str, external_id: &'a str },
}

pub fn origin_of(shop_sku: &str) -> SkuOrigin<'_> {
    if let Some((namespace, external_id)) = split_namespace(shop_sku) {
        return SkuOrigin::Feed { namespace, external_id };
    }
    match shop_sku.parse() {
        Ok(id) => SkuOrigin::ByHand(id),
        Err(_) => SkuOrigin::Feed { namespace: DEFAULT_NAMESPACE, external_id: shop_sku },
    }
}

/// A namespace may have a colon of its own: `parsed:source`.
fn split_namespace(shop_sku: &str) -> Option<(&str, &str)> {
    let from = if shop_sku.starts_with("parsed:") { "parsed:".len() } else { 0 };
    let at = from + shop_sku.get(from..)?.find(':')?;
    Some((&shop_sku[..at], &shop_sku[at + 1..]))
}

#[cfg(test)]
mod tests {
    use model::{Offer, Origin};

    use super::*;

    /// Whatever a seller calls an offer, its id in the shop leads back to it.
    #[test]
    fn an_id_in_the_shop_leads_back_to_the_offer() {
        let id = OfferId::from_raw(77).unwrap();
        let by_hand = Offer { id: 77, ..Offer::default() };
        assert_eq!(origin_of(&crate::fill::shop_sku(&by_hand)), SkuOrigin::ByHand(id));
        let looks_like_one = id.to_string();
        for namespace in [DEFAULT_NAMESPACE, "bits", "parsed:site"] {
            for external_id in ["drill-18", "a:b", ":", "parsed:x", looks_like_one.as_str()] {
                let origin = Origin {
                    namespace: namespace.to_owned(),
                    external_id: external_id.to_owned(),
                    ..Origin::default()
                };
                let shop_sku = crate::fill::shop_sku(&Offer { origin: Some(origin), ..Offer::default() });
                assert_eq!(origin_of(&shop_sku), SkuOrigin::Feed { namespace, external_id }, "{shop_sku}");
            }
        }
    }
}
