//! A store, files, a clock, and a server of photos on the loopback.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use files::objects::{Memory, Objects as _, SharedObjects};
use files::tables::{BLOBS, FILE_REFS, RefState};
use files::{Files, Referrer, Release};
use futures::StreamExt as _;
use kit::{Clock, Timestamp};
use photos::tables::{PHOTO_URLS, REQUESTS};
use photos::{Photos, Requested, Requests, Settings};
use prost::Message as _;
use spine::Base;
use store::{Faults, Range, Schema, Shard, Store, Tx};
use topics::Record;
use topics::consume::Handler;
use wire::model::{Photo, PhotoState};
use wire::photos::{PhotoRequest, PhotoResult};

pub(crate) const SELLER: &str = "seller-1";

/// Serves bytes by path, and counts how often it was asked.
#[derive(Clone, Default)]
pub(crate) struct Gallery {
    pictures: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    asked: Arc<AtomicUsize>,
    port: u16,
}

impl Gallery {
    pub(crate) async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gallery = Self { port: listener.local_addr().unwrap().port(), ..Self::default() };
        let show = async |State(gallery): State<Self>, Path(name): Path<String>| {
            gallery.asked.fetch_add(1, Ordering::SeqCst);
            gallery.pictures.lock().unwrap().get(&name).cloned().ok_or(StatusCode::NOT_FOUND)
        };
        let router = Router::new().route("/{name}", get(show)).with_state(gallery.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        gallery
    }

    pub(crate) fn hang(&self, name: &str, picture: Vec<u8>) -> String {
        self.pictures.lock().unwrap().insert(name.to_owned(), picture);
        self.url(name)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) objects: Arc<Memory>,
    pub(crate) clock: Clock,
    pub(crate) gallery: Gallery,
    offset: Arc<AtomicUsize>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let tables = [photos::tables(), spine::tables()].concat();
        Self {
            store: Store::memory(Schema::new(tables)),
            objects: Arc::default(),
            clock: Clock::manual(Timestamp(1_700_000_000_000_000)),
            gallery: Gallery::open().await,
            offset: Arc::default(),
        }
    }

    pub(crate) fn shard() -> Shard {
        Shard::of(SELLER)
    }

    pub(crate) fn photos(&self) -> Photos {
        self.photos_on(self.store.clone())
    }

    /// A process that dies at one of its writes.
    pub(crate) fn doomed(&self, plan: store::FaultPlan) -> Photos {
        self.photos_on(self.store.wrapped(|engine| Faults::new(engine, plan)))
    }

    fn photos_on(&self, store: Store) -> Photos {
        let options = files::Options {
            clock: self.clock.clone(),
            reserve_bytes: 0,
            memory_bytes: 64 << 20,
            ..files::Options::new(std::env::temp_dir())
        };
        let files = Files::over(self.objects.clone() as SharedObjects, store.clone(), options).unwrap();
        let downloads =
            fetch::Options { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..fetch::Options::default() };
        let base = Base { files, ..Base::alone(store, self.clock.clone()) };
        Photos::new(&base, Settings::default(), downloads)
    }

    /// A message of the topic arrives.
    pub(crate) async fn receive(&self, request: &PhotoRequest) {
        self.apply(&Requests { clock: self.clock.clone() }, request.encode_to_vec()).await;
    }

    pub(crate) async fn apply(&self, handler: &impl Handler, payload: Vec<u8>) {
        let record = Record {
            partition: 0,
            offset: self.offset.fetch_add(1, Ordering::SeqCst) as i64,
            key: Vec::new(),
            payload: payload.into(),
            headers: Vec::new(),
            timestamp: self.clock.now(),
        };
        let (shard, message) = handler.decode(&record).unwrap();
        let apply = async |tx: &mut Tx| {
            let applied = handler.apply(tx, vec![message]).await;
            applied.map_err(|error| store::Error::invalid(error.to_string()))
        };
        self.store.transact(shard, apply).await.unwrap();
    }

    /// Answers what waits.
    pub(crate) async fn work(&self) -> usize {
        work(self.photos()).await.unwrap()
    }

    /// What the outbox holds, and takes it out: results are returned, releases delivered.
    pub(crate) async fn deliver(&self) -> Vec<PhotoResult> {
        let options = topics::Options { clock: self.clock.clone(), ..topics::Options::default() };
        let topics = topics::Topics::alone(self.store.clone(), options);
        for topic in [model::topics::PHOTOS_RESULTS, files::RELEASES, model::topics::OFFERS_ERASURES] {
            topics.ensure(topic, 1).await.unwrap();
        }
        let shutdown = kit::Shutdown::new();
        let relay = tokio::spawn(topics::relay::run(topics.clone(), shutdown.clone()));
        let mut results = Vec::new();
        for topic in [files::RELEASES, model::topics::PHOTOS_RESULTS] {
            self.drain(&topics, topic, &mut results).await;
        }
        shutdown.call();
        relay.await.unwrap();
        results
    }

    async fn drain(&self, topics: &topics::Topics, topic: &str, results: &mut Vec<PhotoResult>) {
        // A message of our own at the end of the outbox says that everything before it has come.
        let end = topics::Message::new("end", "end");
        self.store
            .transact(Self::shard(), async |tx| topics::outbox::send(tx, topic, vec![end]).await)
            .await
            .unwrap();
        let mut reader = topics.subscribe(topic, "test").await.unwrap();
        loop {
            for record in reader.poll().await.unwrap() {
                let position = topics::Position { partition: record.partition, next: record.offset + 1 };
                reader.commit(&[position]).await.unwrap();
                if record.key == b"end" {
                    return;
                }
                if topic == files::RELEASES {
                    let release = Release::decode(record.payload).unwrap();
                    self.photos().files.handle_release(&release).await.unwrap();
                } else {
                    results.push(PhotoResult::decode(record.payload).unwrap());
                }
            }
        }
    }

    /// Two days later the sweep has asked about everything.
    pub(crate) async fn sweep(&self) {
        for _ in 0..2 {
            self.clock.advance(std::time::Duration::from_hours(30));
            let store = &self.store;
            let ask = |referrer: Referrer, hash| async move { photos::owns(store, &referrer, &hash).await };
            self.photos().files.sweep_shards(&self.file_shards().await, ask).await.unwrap();
        }
    }

    /// The shards of all files that rows or objects know; looking at the rest takes long and finds nothing.
    async fn file_shards(&self) -> Vec<Shard> {
        let all: Vec<Shard> = Shard::all().collect();
        let rows = self.store.scan_shards(&BLOBS, &all, Range::all(100)).await.unwrap();
        let mut shards: Vec<Shard> = rows.into_iter().map(|(shard, _, _)| shard).collect();
        let mut objects = self.objects.list();
        while let Some(name) = objects.next().await {
            shards.push(name.unwrap().hash.shard());
        }
        shards.sort();
        shards.dedup();
        shards
    }

    /// When all work is done: each url's row has its file, held once, and there is nothing else.
    pub(crate) async fn check_settled(&self, when: &str) {
        let all: Vec<Shard> = Shard::all().collect();
        let audit = self.photos().files.audit_shards(&self.file_shards().await).await.unwrap();
        assert!(audit.strays == 0 && audit.missing == 0, "{when}: {audit:?}");
        let rows = self.store.scan_shards(&PHOTO_URLS, &all, Range::all(1_000)).await.unwrap();
        let mut owned: Vec<_> = rows.iter().map(|(_, _, row)| row.referrer.clone()).collect();
        let refs = self.store.scan_shards(&FILE_REFS, &all, Range::all(1_000)).await.unwrap();
        assert!(refs.iter().all(|(_, _, row)| row.state() == RefState::Held), "{when}: {refs:?}");
        let mut held: Vec<_> = refs.into_iter().map(|(_, (_, referrer), _)| referrer).collect();
        owned.sort();
        held.sort();
        assert_eq!(owned, held, "{when}");
        let mut hashes: Vec<_> = rows.iter().map(|(_, _, row)| row.hash.clone()).collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(audit.objects, hashes.len(), "{when}: an object for each photo");
        let waiting = self.store.scan_shards(&REQUESTS, &all, Range::all(10)).await.unwrap();
        assert!(waiting.is_empty(), "{when}: {waiting:?}");
    }
}

/// Answers what waits now.
pub(crate) async fn work(photos: Photos) -> photos::Result<usize> {
    let now = photos.clock.now();
    cluster::work::run_due(&Requested(photos), &[World::shard()], now).await
}

pub(crate) fn request(id: &str, offer: i64, urls: &[&String]) -> PhotoRequest {
    PhotoRequest {
        request_id: id.to_owned(),
        offer_id: offer,
        seller_id: SELLER.to_owned(),
        urls: urls.iter().map(|url| (*url).clone()).collect(),
        released_urls: Vec::new(),
    }
}

pub(crate) fn releasing(offer: i64, urls: &[&String]) -> PhotoRequest {
    let PhotoRequest { urls, .. } = request("", offer, urls);
    PhotoRequest {
        offer_id: offer,
        seller_id: SELLER.to_owned(),
        released_urls: urls,
        ..PhotoRequest::default()
    }
}

/// The code of what is wrong with a photo, or `ready`.
pub(crate) fn state(photo: &Photo) -> &str {
    if photo.state() == PhotoState::Ready {
        "ready"
    } else {
        photo.error.as_ref().map_or("?", |issue| &issue.code)
    }
}
