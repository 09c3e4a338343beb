//! A business, and what leaves it.

use std::time::Duration;

use catalog::Catalog;
use kit::{Clock, Timestamp};
use model::{Content, Origin, Status};
use prost::Message as _;
use spine::Base;
use store::{Range, Read as _, Store, Tx};
use testing::{OUTBOX, apply, record};
use united::receive::FollowedParts;
use united::write::{ServiceWrite, Source, Writing, Written};
use united::{OFFERS, SHOPS, United, shard_of};
use wire::offers::{FollowedOffers, FormerOrigin};
use wire::united::{
    Colour, DataSource, Offer, OfferContent, OfferMeta, OfferPrice, OfferRow, OriginalSpecification,
    PartnerContent, PreciseWeight, ShopRow, StringValue, UnitedOffer, UnitedOffersBatch, UpdateMeta,
};

pub(crate) const BEGINNING: Timestamp = Timestamp(1_790_000_000_000_000);
pub(crate) const BUSINESS: u32 = 7;

pub(crate) struct World {
    pub(crate) united: United,
}

impl World {
    pub(crate) fn new() -> Self {
        let store = Store::memory(testing::schema([united::tables()]));
        let base = Base::alone(store, Clock::manual(BEGINNING));
        Self { united: United::new(&base, Catalog::shipped()) }
    }

    pub(crate) async fn transact<T>(&self, body: impl AsyncFnOnce(&mut Tx) -> united::Result<T>) -> T {
        self.united.store.transact(shard_of(BUSINESS), body).await.unwrap()
    }

    /// Writes services, and says what became of each.
    pub(crate) async fn write(&self, writes: Vec<ServiceWrite>) -> Vec<Written> {
        self.united.clock.advance(Duration::from_micros(1));
        self.transact(async |tx| {
            let skus: Vec<_> = writes.iter().map(|write| write.shop_sku.clone()).collect();
            let shops: Vec<_> = writes.iter().map(|write| write.shop).collect();
            let mut writing = Writing::begin(&self.united, tx, BUSINESS, skus, shops).await?;
            let written = writes.into_iter().map(|write| writing.service(write)).collect::<Result<_, _>>()?;
            writing.finish(tx).await?;
            Ok(written)
        })
        .await
    }

    pub(crate) async fn with<T>(&self, change: impl FnOnce(&mut Writing<'_>) -> united::Result<T>) -> T {
        self.united.clock.advance(Duration::from_micros(1));
        self.transact(async |tx| {
            let mut writing = Writing::begin(&self.united, tx, BUSINESS, ["sku".to_owned()], []).await?;
            let done = change(&mut writing)?;
            writing.finish(tx).await?;
            Ok(done)
        })
        .await
    }

    /// The seller of shop 1 says an offer, under epoch 1.
    pub(crate) async fn tell(&self, offer: model::Offer) {
        self.tell_moved(offer, None).await;
    }

    /// The same of an offer that had another origin until now.
    pub(crate) async fn tell_moved(&self, offer: model::Offer, former: Option<Origin>) {
        let former = former.map(|origin| FormerOrigin { offer_id: offer.id, origin: Some(origin) });
        let former = former.into_iter().collect();
        self.hear(1, 1, FollowedOffers { offer: vec![offer], former, ..FollowedOffers::default() }).await;
    }

    /// The seller of shop 1 is erased, and what the shop has of them is ended.
    pub(crate) async fn erase_seller(&self) {
        self.erase_seller_of(1, 1).await;
    }

    /// The seller that a shop had under this epoch is erased, and what the shop has of them is ended.
    pub(crate) async fn erase_seller_of(&self, shop: u32, epoch: i64) {
        self.hear(shop, epoch, FollowedOffers { erased: true, ..FollowedOffers::default() }).await;
        self.end(shop).await;
    }

    /// A message of the seller of a shop comes in.
    pub(crate) async fn hear(&self, shop: u32, epoch: i64, said: FollowedOffers) {
        let (seller_id, follower) = ("s".to_owned(), united::shops::follower(BUSINESS, shop));
        let message = FollowedOffers { seller_id, follower, epoch, ..said };
        let record = record(0, BUSINESS.to_string(), message.encode_to_vec());
        apply(&self.united.store, &FollowedParts(self.united.clone()), &[record]).await.unwrap();
    }

    /// What older epochs of a shop brought is ended.
    pub(crate) async fn end(&self, shop: u32) {
        while self.transact(async |tx| united::shops::end_step(&self.united, tx, BUSINESS, shop).await).await
        {
        }
    }

    pub(crate) async fn row(&self) -> Option<OfferRow> {
        self.united.store.get(&OFFERS, shard_of(BUSINESS), (BUSINESS, "sku")).await.unwrap()
    }

    pub(crate) async fn map(&self, shop: u32, colour: Colour, epoch: i64, gone: bool) {
        let row = ShopRow { seller_id: "s".into(), colour: colour.into(), epoch, gone, ..ShopRow::default() };
        self.transact(async |tx| Ok(tx.put(&SHOPS, (BUSINESS, shop), &row)?)).await;
    }

    /// What was shipped since the last time.
    pub(crate) async fn shipped(&self) -> Vec<UnitedOffer> {
        self.transact(async |tx| {
            let mut offers = Vec::new();
            for ((seq,), row) in tx.scan(&OUTBOX, Range::all(1_000)).await? {
                assert_eq!(row.topic, model::topics::UNITED_OFFERS);
                for message in row.messages {
                    assert_eq!(message.key, BUSINESS.to_string().into_bytes());
                    offers.extend(UnitedOffersBatch::decode(message.payload.as_slice()).unwrap().offer);
                }
                tx.delete(&OUTBOX, (seq,))?;
            }
            Ok(offers)
        })
        .await
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are optional")]
fn meta(at: i64) -> Option<UpdateMeta> {
    Some(UpdateMeta { source: Some(DataSource::PartnerFeed.into()), timestamp: Some(at) })
}

/// A seller's offer from a feed under the id «sku»: the first one, the second one that had this id, …
pub(crate) fn fed(which: i64, version: i64, title: &str, status: Status) -> model::Offer {
    let origin = Origin { namespace: "default".into(), external_id: "sku".into(), ..Origin::default() };
    model::Offer {
        // Ids are random: the later offer may have the lesser one.
        id: (100 - which) << 20,
        created_at: which * 1_000,
        version,
        origin: Some(origin),
        status: status.into(),
        content: Some(Content { title: title.into(), ..Content::default() }),
        updated_at: which * 1_000 + version,
        ..model::Offer::default()
    }
}

/// A shop's word at a moment: weight, url (shipped, but no trigger) and price (not shipped).
pub(crate) fn said(at: i64, grams: i64, url: &str, price: i64) -> Offer {
    let original = OriginalSpecification {
        weight: Some(PreciseWeight { meta: meta(at), value_mg: Some(grams * 1_000) }),
        url: Some(StringValue { meta: meta(at), value: Some(url.to_owned()) }),
        ..OriginalSpecification::default()
    };
    let partner = PartnerContent { original: Some(original), original_terms: None };
    Offer {
        meta: Some(OfferMeta { version: None, rgb: Some(Colour::Blue.into()), updated_at: Some(at) }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        price: Some(OfferPrice { minor: Some(price), currency: Some("RUB".into()) }),
        ..Offer::default()
    }
}

pub(crate) fn write(shop: u32, source: Source, data: Offer) -> ServiceWrite {
    ServiceWrite { shop_sku: "sku".to_owned(), shop, source, removed: false, data }
}

pub(crate) fn call(shop: u32, data: Offer) -> Vec<ServiceWrite> {
    vec![write(shop, Source::Caller, data)]
}

pub(crate) fn weight(offer: &Offer) -> i64 {
    let original = offer.content.as_ref().unwrap().partner.as_ref().unwrap().original.as_ref().unwrap();
    original.weight.as_ref().unwrap().value_mg.unwrap() / 1_000
}
