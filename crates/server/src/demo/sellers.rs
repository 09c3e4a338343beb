//! The three sellers and their feeds. A folder that was kept from an earlier run has them already; then only their addresses
//! are set anew, since the sellers' server has another port each time.

use anyhow::Result;
use bytes::Bytes;
use feeds::feed;
use feeds::history;
use feeds::upload::{Upload, upload};
use feeds::{FeedKey, Feeds};
use wire::feeds::FeedSettings;

use super::files;
use super::shop::Shop;

pub const TOOLS: &str = "north-tools";
pub const GARDEN: &str = "lada-garden";
pub const BOOKS: &str = "book-yard";

/// The feed whose second load waits for a person.
pub const HELD: (&str, &str) = (GARDEN, "seedlings");
/// How many seedlings there are, and how few the second file has.
const SEEDLINGS: usize = 60;
const FEW_SEEDLINGS: usize = 12;

/// Feeds that are fetched: seller, namespace, file.
pub(super) const FETCHED: [(&str, &str, &str); 5] = [
    (TOOLS, "default", "tools.xml"),
    (GARDEN, "default", "garden.xml"),
    (BOOKS, "default", "books.rss"),
    (BOOKS, "rare", "books.atom"),
    (BOOKS, "broken", "cut-off.rss"),
];

pub(super) async fn settle(feeds: &Feeds, shop: &Shop) -> Result<()> {
    let is_new = history::feeds_of(feeds, TOOLS).await?.is_empty();
    for (seller, namespace, file) in FETCHED {
        let settings =
            FeedSettings { url: shop.feed(file), period_minutes: 1, ..feed::default_settings(feeds) };
        feed::put(feeds, &FeedKey::new(seller, namespace)?, settings).await?;
    }
    if !is_new {
        return Ok(());
    }
    let uploads = [
        (TOOLS, "bits", "bits.yml", files::yml(&shop.base)),
        (TOOLS, "electrics", "electrics.csv", files::csv()),
        (BOOKS, "maps", "maps.tsv", files::google_tsv()),
        (GARDEN, "flowers", "flowers.json", files::json()),
        (HELD.0, HELD.1, "seedlings.jsonl", files::json_lines(SEEDLINGS)),
        // It comes second in the queue, and takes most of the first away.
        (HELD.0, HELD.1, "seedlings.jsonl", files::json_lines(FEW_SEEDLINGS)),
    ];
    for (seller, namespace, name, text) in uploads {
        send(feeds, &FeedKey::new(seller, namespace)?, name, text).await?;
    }
    Ok(())
}

/// Uploads a file as its seller would.
pub(super) async fn send(feeds: &Feeds, key: &FeedKey, name: &str, text: String) -> feeds::Result<i64> {
    let stream = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(text))]);
    upload(feeds, key, stream, Upload { name: name.to_owned(), ..Upload::default() }).await
}
