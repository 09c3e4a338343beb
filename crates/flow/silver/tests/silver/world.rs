//! Businesses with united offers, whose shipments are imported as a test likes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use catalog::Catalog;
use kit::{Clock, Timestamp};
use silver::convert::{Delivered, read_batch};
use silver::settings::Settings;
use silver::ssku::{Key, SOURCE_ID, SourceType};
use silver::tables::{CUTS, ERP_QUEUE, EXISTENCE, FAILURES, FAILURES_DUE, GOLD, GOLD_QUEUE, SSKU};
use silver::{again, debt, gold, import};
use spine::Base;
use store::{Range, Read as _, Schema, Store, Table, Tx};
use testing::OUTBOX;
use united::write::{ServiceWrite, Source, Writing};
use united::{United, shard_of};
use wire::silver::{Debt, GoldRow, SskuRow};
use wire::united::{
    Colour, Offer, OfferContent, OfferMeta, OriginalSpecification, PartnerContent, PreciseWeight, StringValue,
};

pub(crate) const BEGINNING: Timestamp = Timestamp(1_790_000_000_000_000);
pub(crate) const BUSINESS: u32 = 7;
const MANY: usize = 10_000;

pub(crate) struct World {
    pub(crate) united: United,
    pub(crate) settings: Settings,
    _folder: Option<tempfile::TempDir>,
}

fn schema() -> Schema {
    testing::schema([united::tables(), silver::tables()])
}

impl World {
    pub(crate) fn in_memory() -> Self {
        Self::on(Store::memory(schema()), None)
    }

    pub(crate) async fn embedded() -> Self {
        let (store, folder) = testing::embedded(schema()).await;
        Self::on(store, Some(folder))
    }

    pub(crate) async fn postgres(database: &servers::Database) -> Self {
        Self::on(testing::postgres(database, schema()).await, None)
    }

    /// The same with another store.
    pub(crate) fn over(&self, store: Store) -> Self {
        let united = United { store, ..self.united.clone() };
        Self { united, settings: self.settings.clone(), _folder: None }
    }

    fn on(store: Store, folder: Option<tempfile::TempDir>) -> Self {
        let united = United::new(&Base::alone(store, Clock::manual(BEGINNING)), Catalog::shipped());
        Self { united, settings: Settings::default(), _folder: folder }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.united.clock.now()
    }

    pub(crate) async fn transact<T>(&self, body: impl AsyncFnOnce(&mut Tx) -> silver::Result<T>) -> T {
        self.united.store.transact(shard_of(BUSINESS), body).await.unwrap()
    }

    /// A shop writes its word; returns the messages that were shipped.
    pub(crate) async fn write(&self, sku: &str, shop: u32, data: Offer, removed: bool) -> Vec<Vec<u8>> {
        self.united.clock.advance(Duration::from_micros(1));
        self.transact(async |tx| {
            let mut writing = Writing::begin(&self.united, tx, BUSINESS, [sku.to_owned()], [shop]).await?;
            let source = Source::Caller;
            writing.service(ServiceWrite { shop_sku: sku.to_owned(), shop, source, removed, data })?;
            Ok(writing.finish(tx).await?)
        })
        .await;
        self.sent(model::topics::UNITED_OFFERS).await
    }

    /// Takes everything out of the outbox; returns what went to this topic.
    pub(crate) async fn sent(&self, topic: &str) -> Vec<Vec<u8>> {
        self.transact(async |tx| {
            let mut sent = Vec::new();
            for ((seq,), row) in tx.scan(&OUTBOX, Range::all(MANY)).await? {
                if row.topic == topic {
                    sent.extend(row.messages.into_iter().map(|message| message.payload));
                    tx.delete(&OUTBOX, (seq,))?;
                }
            }
            Ok(sent)
        })
        .await
    }

    /// Imports messages as one batch.
    pub(crate) async fn import(&self, messages: &[Vec<u8>]) -> import::Imported {
        let delivered: Vec<Delivered> =
            messages.iter().flat_map(|message| read_batch(message).unwrap()).collect();
        let now = self.now();
        self.transact(async |tx| import::import(tx, &self.settings.import, &delivered, now).await).await
    }

    /// Reads again what is owed and due.
    pub(crate) async fn import_again(&self) -> usize {
        let now = self.now();
        let due = self.transact(async |tx| debt::due(tx, now, MANY).await).await;
        for key in &due {
            self.transact(async |tx| {
                again::import_again(&self.united, tx, &self.settings.import, key, now).await
            })
            .await;
        }
        due.len()
    }

    pub(crate) async fn drain_gold(&self) {
        self.united.clock.advance(Duration::from_micros(1));
        let (now, mut after) = (self.now(), None);
        loop {
            after = self
                .transact(async |tx| gold::work::drain(tx, &self.settings.gold, after.as_ref(), 3, now).await)
                .await;
            if after.is_none() {
                return;
            }
        }
    }

    pub(crate) async fn purge(&self) {
        let purge = silver::Purge(silver::Silver::new(self.united.clone()));
        cluster::work::run_due(&purge, &[shard_of(BUSINESS)], self.now()).await.unwrap();
    }

    pub(crate) async fn rows<K: store::Decode, V: store::Value>(&self, table: &Table<K, V>) -> Vec<(K, V)> {
        let snapshot = self.united.store.snapshot(shard_of(BUSINESS)).await.unwrap();
        snapshot.scan(table, Range::all(MANY)).await.unwrap()
    }

    pub(crate) async fn state(&self) -> State {
        fn keys<V>(rows: Vec<((u32, String), V)>) -> BTreeSet<String> {
            rows.into_iter().map(|((_, sku), _)| sku).collect()
        }
        State {
            silver: self.rows(&SSKU).await.into_iter().map(|(key, row)| ((key.1, key.2), row)).collect(),
            existence: self
                .rows(&EXISTENCE)
                .await
                .into_iter()
                .map(|((_, sku, shop), ())| (sku, shop))
                .collect(),
            gold: self.rows(&GOLD).await.into_iter().map(|((_, sku), row)| (sku, row)).collect(),
            gold_queue: keys(self.rows(&GOLD_QUEUE).await),
            erp_queue: keys(self.rows(&ERP_QUEUE).await),
            cuts: self.rows(&CUTS).await.into_iter().map(|((_, sku), row)| (sku, row.reason)).collect(),
            failures: self.rows(&FAILURES).await.into_iter().map(|((_, sku), row)| (sku, row)).collect(),
            due: self.rows(&FAILURES_DUE).await.len(),
        }
    }

    pub(crate) async fn record(&self, sku: &str, source: SourceType) -> Option<SskuRow> {
        let key = (BUSINESS, sku, source.name(), SOURCE_ID);
        self.united.store.get(&SSKU, shard_of(BUSINESS), key).await.unwrap()
    }
}

/// Everything that silver and gold keep of the business.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) silver: BTreeMap<(String, String), SskuRow>,
    pub(crate) existence: BTreeSet<(String, u32)>,
    pub(crate) gold: BTreeMap<String, GoldRow>,
    pub(crate) gold_queue: BTreeSet<String>,
    pub(crate) erp_queue: BTreeSet<String>,
    pub(crate) cuts: BTreeMap<String, Vec<String>>,
    pub(crate) failures: BTreeMap<String, Debt>,
    pub(crate) due: usize,
}

pub(crate) fn key(sku: &str) -> Key {
    Key { business: BUSINESS, shop_sku: sku.to_owned() }
}

/// A shop's word: a name, and a weight if it is not zero (a negative one cannot be imported).
pub(crate) fn said(at: i64, colour: Colour, name: &str, weight_mg: i64) -> Offer {
    let original = OriginalSpecification {
        name: Some(StringValue { meta: None, value: Some(name.to_owned()) }),
        weight: (weight_mg != 0).then_some(PreciseWeight { meta: None, value_mg: Some(weight_mg) }),
        ..OriginalSpecification::default()
    };
    let partner = PartnerContent { original: Some(original), original_terms: None };
    Offer {
        meta: Some(OfferMeta { version: None, rgb: Some(colour.into()), updated_at: Some(at) }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        ..Offer::default()
    }
}
