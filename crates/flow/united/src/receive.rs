//! Offers of followed sellers come in.

use std::collections::BTreeMap;

use async_trait::async_trait;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Gap, Handler, Undecodable};
use wire::offers::{FollowedOffers, FormerOrigin};
use wire::united::{MovedRow, ServicePart};

use crate::fill::{Filled, fill, shop_sku};
use crate::moves::forward;
use crate::shops::{erase_shop, parse_follower, refill};
use crate::tables::{CLOCK, MOVED, OFFERS, SHOPS, shard_of};
use crate::write::{ServiceWrite, Source, Writing};
use crate::{Edition, Result, United};

/// The consumer of [`model::topics::UNITED_PARTS`].
pub struct FollowedParts(pub United);

/// A message: offers of one shop's seller, or the word that the seller is erased.
pub struct Followed {
    pub business: u32,
    pub shop: u32,
    pub seller: String,
    pub epoch: i64,
    pub erased: bool,
    pub offers: Vec<FollowedOffer>,
}

pub struct FollowedOffer {
    pub filled: Filled,
    pub edition: Edition,
    /// Its ids in the shop that it has no longer.
    pub former_skus: Vec<String>,
}

#[async_trait]
impl Handler for FollowedParts {
    type Message = Followed;

    fn decode(&self, record: &Record) -> Result<(Shard, Followed), Undecodable> {
        let followed = read(&self.0, &record.payload).map_err(Undecodable)?;
        Ok((shard_of(followed.business), followed))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Followed>) -> Result<(), Failure> {
        Ok(receive(&self.0, tx, messages).await?)
    }

    async fn gap(&self, gap: &Gap) -> Result<(), Failure> {
        let shops = refill(&self.0, |business| gap.concerns(business.to_string().as_bytes())).await?;
        tracing::error!(shops, %gap, "offers of followed sellers were lost: their shops are filled anew");
        Ok(())
    }
}

pub fn read(united: &United, payload: &[u8]) -> Result<Followed, String> {
    let message = FollowedOffers::decode(payload).map_err(|error| error.to_string())?;
    let (business, shop) = parse_follower(&message.follower)
        .filter(|(business, shop)| *business != 0 && *shop != 0)
        .ok_or_else(|| format!("{:?} is no shop of a business", message.follower))?;
    let filled = |offer: &model::Offer| {
        let filled = fill(&united.catalog, offer);
        let former = message.former.iter().filter(|former| former.offer_id == offer.id);
        let former_sku = |former: &FormerOrigin| {
            shop_sku(&model::Offer { id: offer.id, origin: former.origin.clone(), ..model::Offer::default() })
        };
        let former_skus: Vec<String> =
            former.map(former_sku).filter(|former| *former != filled.shop_sku).collect();
        for shop_sku in former_skus.iter().chain([&filled.shop_sku]) {
            crate::check_shop_sku(shop_sku).map_err(|error| error.to_string())?;
        }
        Ok(FollowedOffer { filled, edition: Edition::of(offer), former_skus })
    };
    let offers = message.offer.iter().map(filled).collect::<Result<Vec<_>, String>>()?;
    let (seller, epoch, erased) = (message.seller_id, message.epoch, message.erased);
    Ok(Followed { business, shop, seller, epoch, erased, offers })
}

/// Writes what came, business by business; within one, in the order of the messages.
pub async fn receive(united: &United, tx: &mut Tx, messages: Vec<Followed>) -> Result<()> {
    prefetch(tx, &messages).await?;
    let mut by_business: BTreeMap<u32, Vec<Followed>> = BTreeMap::new();
    for message in messages {
        by_business.entry(message.business).or_default().push(message);
    }
    for (business, messages) in by_business {
        let mut batch = Vec::new();
        for message in messages {
            if message.erased {
                write(united, tx, business, std::mem::take(&mut batch)).await?;
                erase_shop(tx, business, message.shop, &message.seller, message.epoch).await?;
            } else {
                batch.push(message);
            }
        }
        write(united, tx, business, batch).await?;
    }
    Ok(())
}

/// Reads what the messages of all businesses will ask for, in as many questions as there are tables.
async fn prefetch(tx: &mut Tx, messages: &[Followed]) -> Result<()> {
    let offers: Vec<_> = messages
        .iter()
        .flat_map(|message| skus(message).map(|shop_sku| (message.business, shop_sku.clone())))
        .collect();
    tx.prefetch(&CLOCK, messages.iter().map(|message| (message.business,))).await?;
    tx.prefetch(&SHOPS, messages.iter().map(|message| (message.business, message.shop))).await?;
    tx.prefetch(&MOVED, offers.clone()).await?;
    tx.prefetch(&OFFERS, offers).await?;
    Ok(())
}

/// The ids that a message speaks of.
fn skus(message: &Followed) -> impl Iterator<Item = &String> {
    message.offers.iter().flat_map(|offer| offer.former_skus.iter().chain([&offer.filled.shop_sku]))
}

async fn write(united: &United, tx: &mut Tx, business: u32, messages: Vec<Followed>) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let shop_skus: Vec<String> = messages.iter().flat_map(skus).cloned().collect();
    let shops: Vec<u32> = messages.iter().map(|message| message.shop).collect();
    let mut moved = moved(tx, business, &shop_skus).await?;
    let mut writing = Writing::begin(united, tx, business, shop_skus, shops).await?;
    let mut forwards = Vec::new();
    for Followed { shop, epoch, offers, .. } in messages {
        for FollowedOffer { filled, edition, former_skus } in offers {
            let is_current = writing.is_current(shop, epoch);
            for former in former_skus.iter().filter(|_| is_current) {
                writing.leave(former, shop, edition.offer_id)?;
                forwards.extend(moved.get(former).map(|moved| left(moved.home, former, shop, edition)));
            }
            let Filled { shop_sku, removed, data } = filled;
            let Some(moved) = moved.get_mut(&shop_sku) else {
                let source = Source::Follower { epoch, edition };
                writing.service(ServiceWrite { shop_sku, shop, source, removed, data })?;
                continue;
            };
            if is_current {
                writing.renew(&shop_sku, shop, epoch)?;
                if moved.shops.insert(shop, epoch) != Some(epoch) {
                    tx.put(&MOVED, (business, shop_sku.as_str()), moved)?;
                }
                let mut data = writing.colour(shop, data);
                // Should it come back here, it is known by this.
                data.identifiers.get_or_insert_default().business_id = Some(business);
                let gone = left(moved.home, &shop_sku, shop, edition);
                forwards.push(ServicePart { removed, data: Some(data), ..gone });
            }
        }
    }
    writing.finish(tx).await?;
    for part in forwards {
        forward(tx, part).await?;
    }
    Ok(())
}

/// Tells the offer's home that the seller's offer has this id no longer.
fn left(home: u32, shop_sku: &str, shop: u32, edition: Edition) -> ServicePart {
    ServicePart {
        business_id: home,
        shop_sku: shop_sku.to_owned(),
        shop_id: shop,
        offer_version: edition.version,
        removed: true,
        offer_id: edition.offer_id,
        offer_made_at: edition.made_at,
        ..ServicePart::default()
    }
}

/// Where those of these offers live that moved away.
async fn moved(tx: &Tx, business: u32, shop_skus: &[String]) -> Result<BTreeMap<String, MovedRow>> {
    let keys: Vec<_> = shop_skus.iter().map(|shop_sku| (business, shop_sku.as_str())).collect();
    let rows = tx.get_many(&MOVED, keys).await?;
    let found = shop_skus.iter().zip(rows).filter_map(|(shop_sku, row)| Some((shop_sku.clone(), row?)));
    Ok(found.collect())
}
