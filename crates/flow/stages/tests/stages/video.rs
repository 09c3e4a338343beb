//! Linked videos: their providers are asked after the save, and the answer comes by the state.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use kit::Clock;
use model::{Content, Offer, OfferId, Status};
use offers::Preset;
use offers::read::shard_of;
use offers::write::{Expected, Verb, by_api};
use prost::Message as _;
use stages::Builtin;
use stages::builtin::video::Videos;
use store::Store;
use wire::stages::{SavedRun, VideoState};

use crate::simulation::waiting;
use crate::support::{BEGINNING, World, content, offers_on, schema, seller};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// A provider of videos on loopback.
#[derive(Clone, Default)]
struct Provider {
    /// What it answers for a url; 200 for all others.
    answers: Arc<Mutex<BTreeMap<String, u16>>>,
    asked: Arc<Mutex<Vec<String>>>,
    base: String,
}

impl Provider {
    async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let provider = Self { base, ..Self::default() };
        let routes = Router::new().route("/oembed", get(oembed)).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        provider
    }

    fn video(&self, name: &str) -> String {
        format!("{}/videos/{name}?a=1&b=2", self.base)
    }

    fn answer(&self, url: &str, status: u16) {
        self.answers.lock().unwrap().insert(url.to_owned(), status);
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn oembed(
    State(provider): State<Provider>,
    Query(question): Query<BTreeMap<String, String>>,
) -> StatusCode {
    let url = question.get("url").cloned().unwrap_or_default();
    provider.asked.lock().unwrap().push(url.clone());
    let status = provider.answers.lock().unwrap().get(&url).copied().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}

struct Watched {
    world: World,
    stage: Builtin,
    /// Saves that `on_saved` was called with.
    told: usize,
}

impl Watched {
    async fn new(provider: &Provider, allowed: bool) -> Self {
        let loopback = fetch::IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let options = fetch::Options {
            allowed: if allowed { vec![loopback] } else { Vec::new() },
            ..fetch::Options::default()
        };
        let known = format!("127.0.0.1 = {}/oembed", provider.base).parse().unwrap();
        let videos = Videos::new(vec![known], options);
        let offers = offers_on(Store::memory(schema()), Clock::manual(BEGINNING), crate::support::catalog());
        let builtins = stages::builtin::all(&offers, videos);
        let stage = builtins.iter().find(|builtin| builtin.id == "video").unwrap().clone();
        Self { world: World::of(offers, |_| builtins).await, stage, told: 0 }
    }

    /// What was saved since the last time, as the group of the topic calls with it.
    async fn saved(&mut self, offer: &Offer) -> Vec<SavedRun> {
        let shard = shard_of(OfferId::from_raw(offer.id).unwrap());
        let runs = waiting(&self.world.offers.store, shard, model::topics::STAGES_SAVED).await;
        let new = runs[self.told..].iter().map(|run| SavedRun::decode(run.as_slice()).unwrap()).collect();
        self.told = runs.len();
        new
    }

    async fn call(&self, run: &SavedRun) {
        assert_eq!(run.stage, "video");
        self.stage.port.on_saved(run).await.unwrap().unwrap();
    }

    /// Runs, calls, and runs what follows from the calls.
    async fn settle(&mut self, offer: &Offer) {
        for _ in 0..2 {
            self.world.rest().await;
            for run in self.saved(offer).await {
                self.call(&run).await;
            }
        }
    }

    async fn after(&mut self, time: Duration, offer: &Offer) {
        self.world.pass(time).await;
        self.settle(offer).await;
    }

    async fn problem(&self, offer: &Offer) -> Option<String> {
        self.world.read(offer.id).await.video_error.map(|error| error.code)
    }
}

fn with_video(url: &str) -> Content {
    Content { video_url: url.to_owned(), ..content("A", 5) }
}

async fn create(watched: &Watched, url: &str) -> Offer {
    let actor = by_api("test", "create");
    watched.world.offers.create(&seller(1), with_video(url), &actor).await.unwrap()
}

#[tokio::test]
async fn a_video_that_is_gone_is_a_problem_until_it_is_back() {
    let provider = Provider::open().await;
    let mut watched = Watched::new(&provider, true).await;
    let url = provider.video("a");
    let offer = create(&watched, &url).await;
    watched.settle(&offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await), (1, None));
    assert_eq!(provider.asked.lock().unwrap()[0], url, "the whole address, as the seller wrote it");
    provider.answer(&url, 404);
    watched.after(6 * DAY, &offer).await;
    assert_eq!(provider.asked(), 1, "a video that is there is asked about once a week");
    watched.after(2 * DAY, &offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await.as_deref()), (2, Some("video_gone")));
    let (listed, _) = watched.world.offers.page(&seller(1), Preset::WithProblems, None, 9).await.unwrap();
    assert_eq!(listed.len(), 1, "it is listed among those with problems");
    provider.answer(&url, 401);
    watched.after(25 * HOUR, &offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await.as_deref()), (3, Some("video_private")));
    provider.answer(&url, 200);
    watched.after(25 * HOUR, &offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await), (4, None));
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_says_nothing_and_is_asked_later() {
    let provider = Provider::open().await;
    let mut watched = Watched::new(&provider, true).await;
    let url = provider.video("a");
    provider.answer(&url, 503);
    let offer = create(&watched, &url).await;
    watched.settle(&offer).await;
    for (asked, wait) in [HOUR, 6 * HOUR, DAY, DAY].into_iter().enumerate() {
        assert_eq!((provider.asked(), watched.problem(&offer).await), (asked + 1, None));
        watched.after(wait.saturating_sub(Duration::from_secs(5)), &offer).await;
        assert_eq!(provider.asked(), asked + 1, "not yet");
        watched.after(Duration::from_secs(10), &offer).await;
    }
    provider.answer(&url, 404);
    watched.after(25 * HOUR, &offer).await;
    assert_eq!(watched.problem(&offer).await.as_deref(), Some("video_gone"));
    provider.answer(&url, 503);
    watched.after(25 * HOUR, &offer).await;
    assert_eq!(watched.problem(&offer).await.as_deref(), Some("video_gone"), "the last answer holds");
}

#[tokio::test]
async fn only_answers_of_the_video_that_is_linked_now_count() {
    let provider = Provider::open().await;
    let mut watched = Watched::new(&provider, true).await;
    let (first, second) = (provider.video("a"), provider.video("b"));
    provider.answer(&first, 404);
    let offer = create(&watched, &first).await;
    watched.world.rest().await;
    let asked = watched.saved(&offer).await;
    let (id, actor) = (OfferId::from_raw(offer.id).unwrap(), by_api("test", "edit"));
    watched.world.offers.edit(id, Expected::Any, &actor, |_| Ok(with_video(&second))).await.unwrap();
    watched.world.rest().await;
    watched.call(&asked[0]).await;
    assert_eq!(provider.asked(), 0, "nobody wants to know that any more");
    watched.settle(&offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await), (1, None));
    let state = watched.world.pair(offer.id, "video").await.unwrap().state.unwrap();
    assert_eq!(VideoState::decode(state.value.as_slice()).unwrap().url, second);
    for run in &asked {
        watched.call(run).await;
    }
    assert_eq!(provider.asked(), 1, "a repeat asks nobody");
    watched.world.offers.act(id, Verb::Delete, Expected::Any, &actor).await.unwrap();
    watched.settle(&offer).await;
    assert_eq!(watched.world.read(offer.id).await.status(), Status::Deleted);
    assert_eq!((watched.world.rows("pairs").await, watched.world.rows("timers").await), (0, 0));
}

#[tokio::test]
async fn a_lost_call_is_made_again() {
    let provider = Provider::open().await;
    let mut watched = Watched::new(&provider, true).await;
    let offer = create(&watched, &provider.video("a")).await;
    watched.world.rest().await;
    watched.saved(&offer).await;
    watched.after(HOUR, &offer).await;
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn private_addresses_and_unknown_hosts_are_not_asked() {
    let provider = Provider::open().await;
    let mut watched = Watched::new(&provider, false).await;
    let offer = create(&watched, &provider.video("a")).await;
    watched.settle(&offer).await;
    assert_eq!((provider.asked(), watched.problem(&offer).await), (0, None), "the guard keeps it from that");
    assert_eq!(watched.world.rows("pairs").await, 1, "it is asked about later");
    create(&watched, "https://videos.example/1").await;
    create(&watched, "").await;
    watched.world.rest().await;
    assert_eq!(watched.world.rows("pairs").await, 1, "nobody is known for those");
}
