//! What forms do.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use feeds::{FeedKey, history};
use wire::feeds::TaskStatus;

use crate::browser::Browser;
use crate::world::{OWN, SELLER, World, eventually, goods};

fn feed_address() -> String {
    let encoded = percent_encoding::utf8_percent_encode(SELLER, percent_encoding::NON_ALPHANUMERIC);
    format!("/console/sellers/{encoded}/feeds/default")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seller_decides_about_a_held_load() {
    let (world, key) = World::furnished().await;
    let mut own = Browser::with_token(&world.router, OWN);
    let held = world.load(&key, &goods(0..5)).await;
    let address = format!("{}/loads/{held}", feed_address());
    own.get(&address).await.has("would take away").has("<strong>55</strong>").has("data-refresh");
    Browser::at_home(&world.router)
        .get("/console")
        .await
        .has("waits for you")
        .has("would take away 55 of 62");
    let said = own.post(&format!("{address}/reject"), &[]).await;
    assert_eq!((said.status, said.location()), (StatusCode::SEE_OTHER, address.as_str()));
    world.until(&key, held, |load| load.task.status() == TaskStatus::TaskRejected).await;
    assert_eq!(own.post(&format!("{address}/reject"), &[]).await.status, StatusCode::CONFLICT);

    let again = own.post(&format!("{address}/rerun"), &[]).await;
    let address = again.location().to_owned();
    assert_eq!(address, format!("{}/loads/{}", feed_address(), held + 1));
    world.process().await;
    let is_held = |load: &history::Load| load.task.status() == TaskStatus::TaskNeedsConfirmation;
    world.until(&key, held + 1, is_held).await;
    own.post(&format!("{address}/confirm"), &[]).await;
    let load = world.until(&key, held + 1, |load| load.task.status() == TaskStatus::TaskSucceeded).await;
    assert_eq!(load.statistics.tally.unwrap().deleted, 55);
    own.get(&address).await.has("deleted <strong>55</strong>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_uploaded_by_the_script_and_can_be_cancelled() {
    let world = World::new().await;
    let mut own = Browser::with_token(&world.router, OWN);
    let token = own.get("/console/find?q=").await.csrf();
    let headers = [(console::CSRF_HEADER, token.as_str()), ("content-type", "application/octet-stream")];
    let to = format!("{}/uploads?name=goods.jsonl&dry_run=false", feed_address());
    let sent = own.send(Method::POST, &to, &headers, Body::from(goods(0..3))).await;
    assert_eq!(sent.status, StatusCode::ACCEPTED, "{}", sent.text);
    let address = format!("{}/loads/1", feed_address());
    sent.has(&address);
    own.get(&address).await.has("queued").has("<progress").has("goods.jsonl");
    assert_eq!(own.post(&format!("{address}/cancel"), &[]).await.status, StatusCode::SEE_OTHER);
    own.get(&address).await.has("class=\"chip cancelled\"");
    assert_eq!(own.post(&format!("{address}/cancel"), &[]).await.status, StatusCode::CONFLICT);

    // Refusals come as a sentence for the script.
    own.post(&format!("{}/pause", feed_address()), &[]).await;
    let refused = own.send(Method::POST, &to, &headers, Body::from("x")).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    refused.has("\"message\":\"the feed is paused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_made_changed_paused_and_fetched() {
    let world = World::new().await;
    let mut own = Browser::with_token(&world.router, OWN);
    let feeds = feed_address().replace("/default", "");
    let made = own
        .post(&feeds, &[("namespace", "default"), ("url", "https://user:secret@shop.example/f.xml?key=1")])
        .await;
    assert_eq!((made.status, made.location()), (StatusCode::SEE_OTHER, feed_address().as_str()));
    own.get(&feed_address()).await.has("shop.example").lacks("secret").lacks("key=1");
    let twice =
        own.post(&feeds, &[("namespace", "default"), ("url", "https://shop.example/other.xml")]).await;
    assert_eq!(twice.status, StatusCode::CONFLICT);
    let bad = own.post(&feeds, &[("namespace", "No Name"), ("url", "https://shop.example/")]).await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);

    let settings =
        [("url", ""), ("period_minutes", "90"), ("on_missing", "make_manual"), ("guard_percent", "10")];
    assert_eq!(
        own.post(&format!("{}/settings", feed_address()), &settings).await.status,
        StatusCode::SEE_OTHER
    );
    let key = FeedKey::new(SELLER, "default").unwrap();
    let stored = history::feed(&world.feeds, &key).await.unwrap().feed.settings.unwrap();
    assert_eq!((stored.period_minutes, stored.guard_percent), (90, 10));
    assert!(stored.url.contains("user:secret"), "what the form does not show stays");
    let short = [("url", ""), ("period_minutes", "1"), ("on_missing", "delete"), ("guard_percent", "10")];
    let refused = own.post(&format!("{}/settings", feed_address()), &short).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);

    assert_eq!(own.post(&format!("{}/fetch", feed_address()), &[]).await.status, StatusCode::SEE_OTHER);
    own.post(&format!("{}/pause", feed_address()), &[]).await;
    own.get(&feed_address()).await.has("class=\"chip paused\"").has("Resume");
    assert_eq!(own.post(&format!("{}/fetch", feed_address()), &[]).await.status, StatusCode::CONFLICT);
    own.post(&format!("{}/resume", feed_address()), &[]).await;
    own.get(&feed_address()).await.has("Fetch now");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snippet_is_put_refused_and_read() {
    let world = World::new().await;
    let mut browser = Browser::at_home(&world.router);
    let refused = browser
        .post(
            "/console/snippets/put",
            &[("name", "offer"), ("key", "k 1"), ("format", "JSON"), ("content", "{\"<b>\":1}")],
        )
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    refused.has("offer/card").has("{&quot;&lt;b&gt;&quot;:1}").has("value=\"k 1\"");
    let card = prost_card();
    let put = browser
        .post(
            "/console/snippets/put",
            &[("name", "offer"), ("key", "k 1"), ("format", "PB"), ("content", &card)],
        )
        .await;
    assert_eq!(put.status, StatusCode::SEE_OTHER, "{}", put.text);
    let page = browser.get(put.location()).await;
    page.has("Stored: ").has("Дрель в карточке").has("offer/card_pb");
    let unreadable = browser
        .post(
            "/console/snippets/put",
            &[("name", "offer"), ("key", "k"), ("format", "PB"), ("content", "***")],
        )
        .await;
    assert_eq!(unreadable.status, StatusCode::UNPROCESSABLE_ENTITY);
    browser.get("/console/snippets?name=offer&key=none").await.has("There is nothing under this key.");
    let unknown = browser.get("/console/snippets?name=no/such&key=k").await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

/// A change of an offer, in base64.
fn prost_card() -> String {
    use base64::Engine as _;
    use prost::Message as _;
    let content = model::Content {
        title: "Дрель в карточке".to_owned(),
        category_id: "drills".to_owned(),
        price: Some(model::Money { minor: 549_000, currency: "RUB".to_owned() }),
        ..Default::default()
    };
    let offer = model::Offer {
        id: 1,
        seller_id: "shop".to_owned(),
        version: 1,
        status: model::Status::Active.into(),
        content: Some(content),
        created_at: 1_700_000_000_000_000,
        updated_at: 1_700_000_000_000_000,
        ..Default::default()
    };
    let change = wire::offers::OfferChange { offer: Some(offer), ..Default::default() };
    base64::prelude::BASE64_STANDARD.encode(change.encode_to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_retried_and_dropped() {
    let world = World::new().await;
    let bad = topics::Message::new("k", "no opinion".as_bytes().to_vec());
    world.topics.publish(model::topics::MODERATION_OPINIONS, vec![bad]).await.unwrap();
    let mut browser = Browser::at_home(&world.router);
    let page = eventually(async || {
        let page = browser.get("/console/topics/moderation.opinions").await;
        if page.text.contains("letters/drop") { Ok(page) } else { Err("no dead letter".to_owned()) }
    })
    .await;
    browser.get("/console").await.has("Dead letters of topics");
    let field = |name: &str| {
        let (_, rest) = page.text.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let values = ["group", "incarnation", "partition", "offset"].map(|name| (name, field(name)));
    let fields: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let letters = "/console/topics/moderation.opinions/letters";
    assert_eq!(browser.post(&format!("{letters}/retry"), &fields).await.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.post(&format!("{letters}/drop"), &fields).await.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.post(&format!("{letters}/drop"), &fields).await.status, StatusCode::NOT_FOUND);
    browser.get("/console/topics").await.has("None: every record was applied.");
}
