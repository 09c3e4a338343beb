use kit::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Read as _, Shard, Store, Tx};
use topics::{Message, outbox};

use super::TOPIC;
use super::tables::{GOODS, GoodRow};

/// A sample seller: name and goods as (id, title, price in hundredths of a rouble).
pub(super) struct Seller {
    pub(super) id: &'static str,
    pub(super) goods: &'static [(&'static str, &'static str, i64)],
}

pub(super) const SELLERS: [Seller; 3] = [
    Seller {
        id: "north-tools",
        goods: &[
            ("drill", "Cordless drill 18 V", 549_000),
            ("hammer", "Claw hammer 450 g", 79_900),
            ("rotary", "Перфоратор SDS-plus 800 Вт", 699_000),
        ],
    },
    Seller {
        id: "lada-garden",
        goods: &[("apple", "Саженец яблони «Антоновка»", 120_000), ("spade", "Лопата штыковая", 95_000)],
    },
    Seller {
        id: "book-yard",
        goods: &[("atlas", "World atlas, 2nd edition", 210_000), ("poems", "Стихи для детей", 45_000)],
    },
];

/// What the topic says of a change.
#[derive(Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) seller: String,
    pub(super) good: String,
    pub(super) title: String,
    pub(super) price: String,
    pub(super) version: i64,
    pub(super) changed_at: Timestamp,
}

/// Writes a seller's goods that are not there yet.
pub(super) async fn fill(store: &Store, clock: &Clock, seller: Seller) -> topics::Result<()> {
    let fill = async |tx: &mut Tx| {
        for (good, title, price) in seller.goods {
            if tx.get(&GOODS, (seller.id, *good)).await?.is_none() {
                write(tx, clock, (seller.id, good), title, *price).await?;
            }
        }
        Ok(())
    };
    store.transact(Shard::of(seller.id), fill).await
}

/// Gives one good of one seller another price, in turns.
pub(super) async fn change_one(store: &Store, clock: &Clock, turn: usize) -> topics::Result<()> {
    let seller = &SELLERS[turn % SELLERS.len()];
    let (good, title, price) = seller.goods[turn / SELLERS.len() % seller.goods.len()];
    let price = price + (turn as i64 * 3_700) % 50_000;
    store
        .transact(Shard::of(seller.id), async |tx| write(tx, clock, (seller.id, good), title, price).await)
        .await
}

/// The row and its event, in one transaction.
async fn write(tx: &mut Tx, clock: &Clock, key: (&str, &str), title: &str, price: i64) -> topics::Result<()> {
    let version = tx.get(&GOODS, key).await?.map_or(1, |row| row.version + 1);
    let now = clock.now();
    tx.put(&GOODS, key, &GoodRow { title: title.to_owned(), price, version, updated_at: now.0 })?;
    let change = Change {
        seller: key.0.to_owned(),
        good: key.1.to_owned(),
        title: title.to_owned(),
        price: decimal(price),
        version,
        changed_at: now,
    };
    let payload = serde_json::to_vec(&change).map_err(|error| topics::Error::invalid(error.to_string()))?;
    outbox::send(tx, TOPIC, vec![Message::new(key.0, payload)]).await
}

/// Hundredths as a decimal text.
pub(super) fn decimal(hundredths: i64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
