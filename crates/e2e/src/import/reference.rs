//! The reference: the same offers, read beforehand, by `COPY` into one table with a primary key and an index.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use feeds::{FeedOffer, Limits};
use futures::SinkExt as _;
use tokio::io::AsyncReadExt as _;
use tokio_postgres::NoTls;

use crate::load::Database;

const TABLE: &str = "CREATE TABLE offers (seller text, external_id text, title text, description text, category text,
    price numeric, currency text, condition text, attributes text, images text, address text, contacts text, url text,
    vendor text, weight text, PRIMARY KEY (seller, external_id));
    CREATE INDEX ON offers (seller, category)";
const CHUNK_BYTES: usize = 256 << 10;

/// What the reference took.
pub struct Copied {
    pub elapsed: Duration,
    /// How durable the server is set to be.
    pub settings: String,
}

/// Copies the offers of the feed file into a database of their own on the server, and removes it again.
pub async fn copy(server: &str, feed: &Path, offers: u64) -> anyhow::Result<Copied> {
    let folder = tempfile::tempdir()?;
    let rows = folder.path().join("rows");
    let written = write_rows(feed, &rows)?;
    ensure!(written == offers, "the file has {written} offers");
    let database = Database::create(server).await?;
    let copied = copy_rows(&database.url, &rows, offers).await;
    database.remove().await?;
    copied
}

async fn copy_rows(url: &str, rows: &Path, offers: u64) -> anyhow::Result<Copied> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(TABLE).await?;
    let mut settings = Vec::new();
    for name in ["fsync", "synchronous_commit"] {
        let row = client.query_one(&format!("SHOW {name}"), &[]).await?;
        settings.push(format!("{name} {}", row.get::<_, String>(0)));
    }
    let mut file = tokio::fs::File::open(rows).await?;
    let began = Instant::now();
    let sink = client.copy_in("COPY offers FROM STDIN").await?;
    let mut sink = std::pin::pin!(sink);
    loop {
        let mut chunk = bytes::BytesMut::with_capacity(CHUNK_BYTES);
        if file.read_buf(&mut chunk).await? == 0 {
            break;
        }
        sink.send(Bytes::from(chunk)).await?;
    }
    let copied = sink.as_mut().finish().await?;
    let elapsed = began.elapsed();
    ensure!(copied == offers, "{copied} rows were copied");
    Ok(Copied { elapsed, settings: settings.join(", ") })
}

/// The offers as `COPY` takes them; how many there are.
fn write_rows(feed: &Path, rows: &Path) -> anyhow::Result<u64> {
    let mut records = feeds::records(File::open(feed)?, &Limits::default()).context("the feed file")?;
    let mut out = BufWriter::new(File::create(rows)?);
    let mut count = 0;
    while let Some(record) = records.next()? {
        write_row(&mut out, &record.offer)?;
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

fn write_row(out: &mut impl Write, offer: &FeedOffer) -> std::io::Result<()> {
    let attributes: Vec<String> =
        offer.attributes.iter().map(|one| format!("{}={} {}", one.name, one.value, one.unit)).collect();
    let (attributes, images, contacts) = (
        attributes.join("; "),
        offer.images.join(" "),
        format!("{} {}", offer.contact_name, offer.phones.join(" ")),
    );
    let category = offer.category_path.join(" / ");
    let columns = [
        "shop",
        &offer.id,
        &offer.title,
        &offer.description,
        &category,
        &offer.price,
        &offer.currency,
        &offer.condition,
        &attributes,
        &images,
        &offer.address,
        &contacts,
        &offer.url,
        &offer.vendor,
        &offer.weight,
    ];
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.write_all(b"\t")?;
        }
        let escaped =
            column.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        out.write_all(escaped.as_bytes())?;
    }
    out.write_all(b"\n")
}
