//! What is kept of a shop's offers, for the seller whose they are.

use std::collections::BTreeMap;

use prost::Message as _;
use serde_json::{Value, json};
use united::api::json::Schema;
use united::{MOVED, OFFERS, shard_of};
use wire::united::Offer;

use crate::api::json::{gold, part};
use crate::ssku::{Key, SOURCE_ID, SourceType};
use crate::tables::{GOLD, SSKU};
use crate::{Error, Result, Silver};

/// An offer that has moved more often is looked for no further.
const MAX_MOVES: usize = 8;

/// A shop's word on an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopOffer {
    /// Where it was mapped; it may have moved since.
    pub business: u32,
    pub shop: u32,
    pub shop_sku: String,
}

impl Silver {
    /// The shop's part of each united offer and silver record, and the gold that the shop had a word in; those that are not
    /// kept are left out.
    pub async fn export(&self, mut asked: Vec<ShopOffer>) -> Result<Vec<Value>> {
        self.find_homes(&mut asked).await?;
        let store = &self.united.store;
        let keys = || asked.iter().map(|of| (shard_of(of.business), (of.business, of.shop_sku.as_str())));
        let sources = SourceType::EVERY.map(SourceType::name);
        let records = keys().flat_map(|(shard, (business, sku))| {
            sources.map(|source| (shard, (business, sku, source, SOURCE_ID)))
        });
        let (offers, records, golds) = futures::try_join!(
            store.get_many(&OFFERS, keys()),
            store.get_many(&SSKU, records),
            store.get_many(&GOLD, keys()),
        )?;
        let schema = Schema::shipped();
        let mut lines = Vec::new();
        let records = records.chunks(sources.len());
        for (((of, offer), records), made) in asked.iter().zip(offers).zip(records).zip(golds) {
            let mut line = BTreeMap::new();
            let said = offer.and_then(|mut offer| offer.services.remove(&of.shop)?.data);
            if let Some(said) = said {
                line.insert("united", shown(&schema, &said)?);
            }
            let kept = records.iter().flatten().find_map(|row| row.services.get(&of.shop));
            if let Some(kept) = kept {
                line.insert("silver", json!(part(Some(of.shop), kept)));
            }
            let key = Key { business: of.business, shop_sku: of.shop_sku.clone() };
            let has_word = |candidates: &[wire::silver::Candidate]| {
                candidates.iter().any(|candidate| candidate.shop_id == of.shop)
            };
            if let Some(made) = made.filter(|made| made.value.iter().any(|value| has_word(&value.candidate)))
            {
                line.insert("gold", json!(gold(&key, &made)));
            }
            if !line.is_empty() {
                line.insert("business_id", json!(of.business));
                line.insert("shop_id", json!(of.shop));
                line.insert("shop_sku", json!(of.shop_sku));
                lines.push(json!(line));
            }
        }
        Ok(lines)
    }

    /// Names the business in which each offer lives now.
    async fn find_homes(&self, asked: &mut [ShopOffer]) -> Result<()> {
        for _ in 0..MAX_MOVES {
            let keys = asked.iter().map(|of| (shard_of(of.business), (of.business, of.shop_sku.as_str())));
            let targets = self.united.store.get_many(&MOVED, keys).await?;
            if targets.iter().all(Option::is_none) {
                break;
            }
            for (of, target) in asked.iter_mut().zip(targets) {
                of.business = target.map_or(of.business, |moved| moved.home);
            }
        }
        Ok(())
    }
}

fn shown(schema: &Schema, said: &Offer) -> Result<Value> {
    schema.to_json("Offer", &said.encode_to_vec()).map_err(Error::Invalid)
}
