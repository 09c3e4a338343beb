//! Offers as they are now.

use wire::united::{Offer, OfferKey, OfferRow, Part, UnitedOffer};

use crate::tables::{OFFERS, shard_of};
use crate::{Error, Result, United};

/// Most keys of one call.
pub const MAX_KEYS: usize = 500;

impl United {
    /// The offers of these keys, whole: every field, all services, their versions and the golden record.
    pub async fn get(&self, keys: &[OfferKey]) -> Result<Vec<Option<UnitedOffer>>> {
        if keys.len() > MAX_KEYS {
            return Err(Error::Invalid(format!("{} keys; the limit is {MAX_KEYS}", keys.len())));
        }
        let rows =
            keys.iter().map(|key| (shard_of(key.business_id), (key.business_id, key.shop_sku.as_str())));
        let rows = self.store.get_many(&OFFERS, rows).await?;
        Ok(rows.into_iter().map(|row| row.as_ref().map(whole)).collect())
    }
}

fn whole(row: &OfferRow) -> UnitedOffer {
    let part = |part: &Part| {
        let mut data = part.data.clone().unwrap_or_default();
        data.meta.get_or_insert_default().version = Some(part.version);
        data
    };
    let mut basic: Option<Offer> = row.basic.as_ref().map(part);
    if let Some(gold) = &row.master_data {
        basic.get_or_insert_default().content.get_or_insert_default().master_data = Some(gold.clone());
    }
    UnitedOffer { basic, service: row.services.iter().map(|(shop, row)| (*shop, part(row))).collect() }
}
