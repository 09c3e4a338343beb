//! A store full of offers, made as fast as the engine writes: the rows that `offers::changes` would leave, without the
//! events.

use std::path::Path;

use catalog::{AttributeKind, Catalog};
use model::{Content, Location, Money, Offer, OfferId, Origin, Status};
use offers::Preset;
use offers::tables::{CONTENT, COUNTERS, OFFER, PRESETS, PRESETS_COUNT};
use store::{Options, Schema, Shard, Store};
use wire::offers::OfferPart;
use wire::offers::offer_part::Kind;

use super::content as words;

/// A moment in the year 2026, in microseconds.
const BEGINNING: i64 = 1_790_000_000_000_000;
const BATCH: u64 = 500;

/// The store that `dvor serve --data FOLDER` opens.
pub async fn open(data: &Path) -> anyhow::Result<Store> {
    let tables = [offers::tables(), spine::tables()].concat();
    let url = format!("embedded:{}", data.join("store").display());
    let options = Options { reserve_bytes: 0, ..Options::default() };
    Ok(Store::open(&[url], Schema::new(tables), &options).await?)
}

/// A category in which nothing is required.
pub fn easy_category(catalog: &Catalog) -> String {
    let easy = |id: &str| {
        catalog.children(id).is_empty()
            && catalog
                .attributes_of(id)
                .iter()
                .all(|attribute| !attribute.required || matches!(attribute.kind, AttributeKind::Bool))
    };
    let found = catalog.categories().iter().find(|category| easy(&category.id));
    found.map(|category| category.id.clone()).unwrap_or_default()
}

/// What a seller might write, about a kilobyte.
pub fn content(category: &str, number: u64) -> Content {
    let text = String::from_utf8_lossy(&words(number)).into_owned();
    Content {
        category_id: category.to_owned(),
        catalog_version: 1,
        title: format!("Диван угловой {number}"),
        description: text.chars().take(500).collect(),
        price: Some(Money { minor: 100_000 + number as i64 % 900_000, currency: "RUB".to_owned() }),
        location: Some(Location {
            address: "Москва, улица Льва Толстого, 16".to_owned(),
            ..Location::default()
        }),
        vendor: "Dvor".to_owned(),
        ..Content::default()
    }
}

/// The id of a seller's offer of this number: spread, and the same in every run.
pub fn id(seller: &str, number: u64) -> OfferId {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    OfferId::new(Shard::of(seller).number(), random)
}

fn offer(seller: &str, number: u64, content: Content) -> Offer {
    let now = BEGINNING + number as i64;
    Offer {
        id: id(seller, number).raw(),
        seller_id: seller.to_owned(),
        origin: Some(Origin::default()),
        version: 1,
        status: Status::Active.into(),
        content: Some(content),
        created_at: now,
        updated_at: now,
        status_at: now,
        created_by: "bench".to_owned(),
        ..Offer::default()
    }
}

/// No more than an offer needs.
pub fn small(category: &str, number: u64) -> Content {
    Content { description: String::new(), location: None, ..content(category, number) }
}

/// Gives the seller this number of active offers.
pub async fn fill(store: &Store, seller: &str, category: &str, count: u64) -> anyhow::Result<()> {
    fill_with(store, seller, count, |number| content(category, number)).await
}

/// The same with small ones.
pub async fn fill_small(store: &Store, seller: &str, category: &str, count: u64) -> anyhow::Result<()> {
    fill_with(store, seller, count, |number| small(category, number)).await
}

async fn fill_with(
    store: &Store,
    seller: &str,
    count: u64,
    content: impl Fn(u64) -> Content + Send + Sync,
) -> anyhow::Result<()> {
    for first in (0..count).step_by(BATCH as usize) {
        let last = (first + BATCH).min(count);
        let put = async |tx: &mut store::Tx| -> store::Result<()> {
            for number in first..last {
                let offer = offer(seller, number, content(number));
                for preset in Preset::KEPT.into_iter().filter(|preset| preset.holds(&offer)) {
                    tx.put(&PRESETS, (seller, preset.id(), offer.created_at, offer.id), &())?;
                    tx.put(&PRESETS_COUNT, (seller, preset.id()), &(last as i64))?;
                }
                let key = (offer.id, CONTENT);
                tx.put(&OFFER, key, &OfferPart { kind: Some(Kind::Content(offer)) })?;
            }
            tx.put(&COUNTERS, (seller, "Active", "", 0_u32), &(last as i64))
        };
        store.transact(Shard::of(seller), put).await?;
    }
    Ok(())
}

/// Where an offer of this number stands in its seller's lists.
pub fn place(seller: &str, number: u64) -> offers::cabinet::Place {
    offers::cabinet::Place { created_at: BEGINNING + number as i64, offer_id: id(seller, number).raw() }
}
