//! Parts written by a caller who means them.

use store::{Read as _, Tx};
use wire::united::UnitedOffer;

use crate::tables::{MOVED, shard_of};
use crate::write::{ServiceWrite, Source, Writing};
use crate::{Error, Result, United};

impl United {
    /// Writes those services, and the basic part, that the offer has; others stay as they are. An offer that moved to another
    /// business is refused: it is written where it lives.
    pub async fn put(&self, business: u32, shop_sku: &str, offer: UnitedOffer) -> Result<()> {
        if business == 0 || offer.service.contains_key(&0) {
            return Err(Error::Invalid("no business and no shop has the number 0".to_owned()));
        }
        let write = async |tx: &mut Tx| {
            if let Some(moved) = tx.get(&MOVED, (business, shop_sku)).await? {
                let shop_sku = shop_sku.to_owned();
                return Err(Error::Moved { business, shop_sku, home: moved.home });
            }
            let shops: Vec<u32> = offer.service.keys().copied().collect();
            let mut writing = Writing::begin(self, tx, business, [shop_sku.to_owned()], shops).await?;
            for (shop, mut data) in offer.service {
                let removed = data.status.as_ref().and_then(|status| status.removed.as_ref());
                let removed = removed.and_then(|removed| removed.flag).unwrap_or(false);
                let meta = data.meta.get_or_insert_default();
                meta.updated_at = meta.updated_at.or(Some(self.clock.now().0));
                let (shop_sku, source) = (shop_sku.to_owned(), Source::Caller);
                writing.service(ServiceWrite { shop_sku, shop, source, removed, data })?;
            }
            if let Some(basic) = offer.basic {
                writing.basic(shop_sku, basic)?;
            }
            writing.finish(tx).await
        };
        self.store.transact(shard_of(business), write).await
    }
}
