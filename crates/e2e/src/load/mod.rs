//! Rows like those an offer makes, for ours and for the bare engine alike.

pub mod bare_fjall;
pub mod bare_postgres;
mod database;
pub mod offers;
pub mod services;
pub mod shipments;
pub mod stages;

pub use database::Database;

use store::{Error, Schema, Shard, Space, Store, Table, Tx};

pub const CONTENT: Table<(String, i64), Vec<u8>> =
    Table::new("bench", "content", &["seller", "offer"], Space::Large);
pub const SMALL: Table<(String, i64, i64), Vec<u8>> =
    Table::new("bench", "small", &["seller", "kind", "offer"], Space::Small);
pub const QUEUE: Table<(i64,), Vec<u8>> = Table::new("bench", "queue", &["seq"], Space::Queue);

pub fn schema() -> Schema {
    Schema::new([CONTENT.spec(), SMALL.spec(), QUEUE.spec()])
}

/// One offer's rows: its content of about a kilobyte and `rows - 1` small ones.
#[derive(Clone, Debug)]
pub struct OfferRows {
    pub seller: String,
    pub offer: i64,
    pub content: Vec<u8>,
    pub small: usize,
}

impl OfferRows {
    pub fn new(seller: u64, offer: u64, rows: usize) -> Self {
        Self { seller: seller_name(seller), offer: offer as i64, content: content(offer), small: rows - 1 }
    }

    pub fn shard(&self) -> Shard {
        Shard::of(&self.seller)
    }

    pub fn put(&self, tx: &mut Tx) -> Result<(), Error> {
        tx.put(&CONTENT, (&self.seller, self.offer), &self.content)?;
        for kind in 0..self.small {
            tx.put(&SMALL, (&self.seller, kind as i64, self.offer), &small_value(kind))?;
        }
        Ok(())
    }
}

pub fn seller_name(seller: u64) -> String {
    format!("seller-{seller:06}")
}

pub fn small_value(kind: usize) -> Vec<u8> {
    vec![kind as u8; 24]
}

/// Text-like bytes that compress about as a real offer does.
pub fn content(seed: u64) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "диван ",
        "угловой ",
        "новый ",
        "кожа ",
        "доставка ",
        "Москва ",
        "гарантия ",
        "цена ",
        "sofa ",
        "leather ",
        "corner ",
        "brand ",
        "offer ",
        "photo ",
        "price ",
        "seller ",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = Vec::with_capacity(1_050);
    while text.len() < 1_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.extend_from_slice(WORDS[(state % 16) as usize].as_bytes());
        text.extend_from_slice((state >> 40).to_string().as_bytes());
    }
    text.truncate(1_000);
    text
}

pub async fn open(url: &str, options: &store::Options) -> Result<Store, Error> {
    Store::open(&[url.to_owned()], schema(), options).await
}

/// The bare engine that a figure stands beside.
pub enum Bare {
    Fjall(bare_fjall::BareFjall),
    Postgres(bare_postgres::BarePostgres),
}

impl Bare {
    pub async fn write(&self, offers: &[OfferRows]) -> anyhow::Result<()> {
        match self {
            Self::Fjall(bare) => bare.write(offers).await,
            Self::Postgres(bare) => bare.write(offers).await,
        }
    }

    /// The bytes of one offer's content.
    pub async fn get(&self, seller: &str, offer: i64) -> anyhow::Result<usize> {
        match self {
            Self::Fjall(bare) => bare.get(seller, offer),
            Self::Postgres(bare) => bare.get(seller, offer).await,
        }
    }

    /// The bytes of a page of contents.
    pub async fn scan(&self, seller: &str, from: i64, limit: usize) -> anyhow::Result<usize> {
        match self {
            Self::Fjall(bare) => bare.scan(seller, from, limit),
            Self::Postgres(bare) => bare.scan(seller, from, limit).await,
        }
    }
}
