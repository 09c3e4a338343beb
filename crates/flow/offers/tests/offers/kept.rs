//! Offers over an engine of the test's choice, and what a full recount says of them.

use std::collections::BTreeMap;

use catalog::Catalog;
use cluster::work::Work;
use files::Files;
use kit::{Clock, Timestamp};
use model::{Content, Money, Offer};
use offers::tables::{CONTENT, COUNTERS, DUE, OFFER, PRESETS, PRESETS_COUNT};
use offers::{Offers, Preset, Settings};
use spine::Base;
use store::{Range, Read as _, Schema, Shard, Store};
use wire::offers::Actor;

pub(crate) const START: Timestamp = Timestamp(1_760_000_000_000_000);

pub(crate) struct Kept {
    pub(crate) offers: Offers,
    objects: files::objects::SharedObjects,
    folder: tempfile::TempDir,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine<'a> {
    Memory,
    Embedded,
    /// The address of a database of the test's own.
    Postgres(&'a str),
}

fn schema() -> Schema {
    Schema::new([offers::tables(), spine::tables()].concat())
}

pub(crate) async fn keep(engine: Engine<'_>, settings: Settings) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let store = match engine {
        Engine::Memory => Store::memory(schema()),
        Engine::Embedded => {
            let url = format!("embedded:{}", folder.path().join("store").display());
            let options = store::Options { cache_bytes: 16 << 20, reserve_bytes: 0, ..Default::default() };
            Store::open(&[url], schema(), &options).await.unwrap()
        }
        Engine::Postgres(url) => {
            Store::open(&[url.to_owned()], schema(), &store::Options::default()).await.unwrap()
        }
    };
    let objects = files::objects::open("memory:").unwrap();
    let base = Base::alone(store.clone(), Clock::manual(START));
    let offers = Offers::new(&base, settings, Catalog::shipped());
    let kept = Kept { offers, objects, folder };
    Kept { offers: kept.on_store(store), ..kept }
}

pub(crate) fn content(title: &str) -> Content {
    Content {
        category_id: "phones".into(),
        title: title.into(),
        description: format!("{title}, almost new, with its box and charger"),
        price: Some(Money { minor: 199_000, currency: "RUB".into() }),
        ..Content::default()
    }
}

pub(crate) fn me() -> Actor {
    offers::write::by_api("test", "test")
}

impl Kept {
    /// The same offers and files seen through another store.
    pub(crate) fn on_store(&self, store: Store) -> Offers {
        let options = files::Options {
            clock: self.offers.clock.clone(),
            reserve_bytes: 0,
            ..files::Options::new(self.folder.path().join("incoming"))
        };
        let files = Files::over(self.objects.clone(), store.clone(), options).unwrap();
        Offers { store, files, ..self.offers.clone() }
    }

    pub(crate) async fn create(&self, seller: &str, title: &str) -> Offer {
        self.offers.create(seller, content(title), &me()).await.unwrap()
    }

    /// Every list, length, counter and due row of the seller, who is alone in his shard, is what its offers say.
    pub(crate) async fn assert_agrees(&self, seller: &str) {
        self.assert_lists(seller).await;
        let snapshot = self.offers.store.snapshot(Shard::of(seller)).await.unwrap();
        let due = snapshot.scan(&DUE, Range::all(usize::MAX)).await.unwrap();
        let due: Vec<_> = due.into_iter().map(|(key, ())| key).collect();
        let found = self.all(seller).await;
        let mut expected: Vec<_> =
            found.iter().filter(|offer| offer.due_at != 0).map(|offer| (offer.due_at, offer.id)).collect();
        expected.sort_unstable();
        assert_eq!(due, expected, "the due rows");
    }

    async fn all(&self, seller: &str) -> Vec<Offer> {
        let snapshot = self.offers.store.snapshot(Shard::of(seller)).await.unwrap();
        let parts = snapshot.scan(&OFFER, Range::all(usize::MAX)).await.unwrap();
        let contents = parts.into_iter().filter(|((_, kind), _)| kind == CONTENT);
        let offers = contents.filter_map(|(_, part)| match part.kind {
            Some(wire::offers::offer_part::Kind::Content(offer)) => Some(offer),
            _ => None,
        });
        offers.filter(|offer| offer.seller_id == seller).collect()
    }

    /// Every list, length and counter, counted anew.
    pub(crate) async fn assert_lists(&self, seller: &str) {
        let snapshot = self.offers.store.snapshot(Shard::of(seller)).await.unwrap();
        let found = self.all(seller).await;
        for preset in Preset::KEPT {
            let mut expected: Vec<_> = found
                .iter()
                .filter(|offer| preset.holds(offer))
                .map(|offer| (seller.to_owned(), preset.id(), offer.created_at, offer.id))
                .collect();
            expected.sort();
            let range = Range::prefix((seller, preset.id()), usize::MAX).unwrap();
            let rows: Vec<_> =
                snapshot.scan(&PRESETS, range).await.unwrap().into_iter().map(|(key, ())| key).collect();
            assert_eq!(rows, expected, "the list {}", preset.name());
            let count = snapshot.get(&PRESETS_COUNT, (seller, preset.id())).await.unwrap().unwrap_or(0);
            assert_eq!(count, expected.len() as i64, "the length of {}", preset.name());
        }
        let mut counters = BTreeMap::<String, i64>::new();
        let range = Range::prefix((seller,), usize::MAX).unwrap();
        for ((_, counter, _, _), value) in snapshot.scan(&COUNTERS, range).await.unwrap() {
            *counters.entry(counter).or_default() += value;
        }
        for (name, preset) in
            [("Active", Preset::Active), ("Expired", Preset::Expired), ("Banned", Preset::Banned)]
        {
            let expected = found.iter().filter(|offer| preset.holds(offer)).count() as i64;
            assert_eq!(counters.get(name).copied().unwrap_or(0), expected, "the counter {name}");
        }
    }
}

/// Does what is due in a shard now, one piece after another.
pub(crate) async fn run_due<W>(
    offers: &Offers,
    work: impl Fn(Offers) -> W,
    shard: Shard,
) -> offers::Result<usize>
where
    W: Work<Error = offers::Error>,
{
    cluster::work::run_due(&work(offers.clone()), &[shard], offers.clock.now()).await
}
