//! Drafts: the rules of the current one, the move from visitor to seller, publishing once.

use std::time::Duration;

use axum::http::Method;
use offers::drafts::moving::{Purpose, Taken};
use offers::drafts::sweep::DraftMoves;
use offers::drafts::{Found, Owner};
use offers::erase::SellerErasures;
use offers::forget::Forgotten;
use offers::{Error, Offers, Settings};
use serde_json::{Value, json};
use store::{Range, Read as _, Shard};

use crate::api::{Client, phone};
use crate::kept::run_due;
use crate::support::{content, in_memory};

const SELLER: &str = "seller-1";
const SECRET: &str = "00112233445566778899aabbccddeeff";

fn service() -> Client {
    Client::new(&in_memory(Settings::default()), "service")
}

fn owners() -> (Owner, Owner) {
    (Owner::Seller(SELLER.to_owned()), Owner::anonymous(SECRET).unwrap())
}

async fn sweep_all(offers: &Offers) {
    let shards: Vec<_> = Shard::all().collect();
    for shard in shards {
        run_due(offers, DraftMoves, shard).await.unwrap();
        run_due(offers, Forgotten, shard).await.unwrap();
    }
}

async fn title(offers: &Offers, id: &str) -> Option<String> {
    match offers.find_draft(id).await {
        Ok(Found::Draft(draft)) => Some(draft.content().title),
        _ => None,
    }
}

#[tokio::test]
async fn strangers_begin_a_bounded_number_of_drafts_in_an_hour() {
    let offers = in_memory(Settings::default());
    let (seller, stranger) = owners();
    let fill = async |tx: &mut store::Tx| {
        let hour = offers.clock.now().hour();
        tx.put(&offers::tables::STRANGERS_DRAFTS, (hour,), &1_000)?;
        Ok::<_, Error>(())
    };
    offers.store.transact(stranger.shard(), fill).await.unwrap();
    let refused = offers.create_draft(&stranger, content("Диван", None)).await;
    assert!(matches!(refused, Err(Error::TooManyDrafts)), "{refused:?}");
    offers.create_draft(&seller, content("Диван", None)).await.unwrap();
    offers.clock.advance(Duration::from_hours(1));
    offers.create_draft(&stranger, content("Диван", None)).await.unwrap();
}

#[tokio::test]
async fn the_current_draft_follows_the_rules() {
    let client = service();
    let current = async |body: Value| client.post("/v1/drafts/current", body).await.body;
    let category = |draft: &Value| draft["category"]["id"].as_str().unwrap_or_default().to_owned();

    // Nobody is known: a visitor with a secret of his own.
    let visitor = current(json!({})).await;
    assert_eq!(visitor["anonymous"].as_str().unwrap().len(), 32);
    assert!(visitor["expires_at"].is_string() && visitor["owner"].is_null());
    let again = current(json!({"anonymous": visitor["anonymous"]})).await;
    assert_eq!(again["id"], visitor["id"]);

    // Neither has the category: one is reset, its id stays, the seller's is preferred.
    let sellers = current(json!({"owner": SELLER, "category": "phones"})).await;
    client.offers.clock.advance(Duration::from_secs(1));
    let anonymous = current(json!({"anonymous": SECRET, "category": "electronics"})).await;
    let both = |category: &str| json!({"owner": SELLER, "anonymous": SECRET, "category": category});
    let reset = current(both("smartphones")).await;
    assert_eq!((&reset["id"], category(&reset)), (&sellers["id"], "smartphones".to_owned()));

    // Exactly one fits: it becomes the seller's under a new id, the other is erased.
    let moved = current(both("electronics")).await;
    assert_eq!((moved["owner"].as_str(), category(&moved)), (Some(SELLER), "electronics".to_owned()));
    assert_ne!(moved["id"], anonymous["id"]);
    let path = |draft: &Value| format!("/v1/drafts/{}", draft["id"].as_str().unwrap());
    assert_eq!(client.get(&path(&sellers)).await.status, 404);
    assert_eq!(
        client.get(&path(&anonymous)).await.body["id"],
        moved["id"],
        "the old id leads to the new one"
    );

    // No category: the newest wins, and the other is erased.
    client.offers.clock.advance(Duration::from_secs(1));
    let newer = current(json!({"anonymous": SECRET, "category": "phones"})).await;
    let won = current(json!({"owner": SELLER, "anonymous": SECRET})).await;
    assert_eq!(category(&won), "phones");
    assert_eq!(client.get(&path(&moved)).await.status, 404);
    client.offers.clock.advance(Duration::from_secs(1));
    let newer_id = path(&newer);
    assert_eq!(client.get(&newer_id).await.body["id"], won["id"]);
    let third = current(json!({"anonymous": SECRET})).await;
    client.offers.clock.advance(Duration::from_secs(1));
    let kept = client.call(Method::PUT, &path(&won), &[], Some(&json!({"title": "x"}))).await.body;
    let won = current(json!({"owner": SELLER, "anonymous": SECRET})).await;
    assert_eq!(won["id"], kept["id"]);
    assert_eq!(client.get(&path(&third)).await.status, 404);
}

#[tokio::test]
async fn what_is_no_draft_is_refused() {
    let client = service();
    for (body, field) in [
        (json!({"anonymous": "short"}), "anonymous"),
        (json!({"owner": "anonymous:x"}), "owner"),
        (json!({"owner": ""}), "owner"),
        (json!({"category": "no-such-category"}), "category"),
        (json!({"who": 1}), "who"),
    ] {
        let answer = client.post("/v1/drafts/current", body).await;
        assert_eq!((answer.status.as_u16(), &answer.body["errors"][0]["field"]), (422, &json!(field)));
    }
    for id in ["x", "%00", &"f".repeat(35), &"0".repeat(35)] {
        assert_eq!(client.get(&format!("/v1/drafts/{id}")).await.status, 404, "{id}");
    }
    let draft = client.post("/v1/drafts", json!({"owner": SELLER, "title": "a"})).await;
    assert_eq!(draft.status, 201);
    assert_eq!(draft.body["errors"][0]["code"], "category_missing", "it may be incomplete, and says so");
    let second = client.post("/v1/drafts", json!({"owner": SELLER})).await;
    assert_eq!(
        (second.status.as_u16(), &second.body["type"]),
        (409, &json!("urn:dvor:problem:draft_exists"))
    );
    let path = format!("/v1/drafts/{}", draft.body["id"].as_str().unwrap());
    let stale = client.call(Method::PUT, &path, &[("if-match", "\"7\"")], Some(&json!({}))).await;
    assert_eq!(stale.status, 412);
    let long = json!({"description": "x".repeat(102_400)});
    assert_eq!(client.call(Method::PUT, &path, &[], Some(&long)).await.status, 413);
    assert_eq!(client.call(Method::DELETE, &path, &[], None).await.status, 204);
    assert_eq!(client.call(Method::DELETE, &path, &[], None).await.status, 404);
}

/// A move stopped after each of its steps is finished by the sweep, and by the owner's next call.
#[tokio::test]
async fn a_move_that_died_between_two_steps_is_finished() {
    for (steps, by_sweep) in [(1, true), (2, true), (3, true), (1, false), (2, false), (3, false)] {
        let offers = in_memory(Settings::default());
        let (seller, visitor) = owners();
        let source = offers.create_draft(&visitor, content("wanted", None)).await.unwrap().id;
        offers.create_draft(&seller, content("old", None)).await.unwrap();
        let intent = offers.begin_move(&source, &seller, Purpose::Current).await.unwrap();
        if steps >= 2 {
            let copied = offers.copy_draft(&source, &seller).await.unwrap().unwrap();
            if steps >= 3 {
                assert_eq!(offers.take_draft(&source, &copied).await.unwrap(), Taken::Ours);
            }
        }
        assert_eq!(title(&offers, &intent.new_id).await, None, "a copy that is arriving is not seen");
        if by_sweep {
            sweep_all(&offers).await;
        } else {
            offers.finish_intents(&seller).await.unwrap();
        }
        assert_eq!(title(&offers, &intent.new_id).await.as_deref(), Some("wanted"), "after {steps} steps");
        assert_eq!(title(&offers, &source).await.as_deref(), Some("wanted"), "the old id leads there");
        let refused = offers.create_draft(&seller, content("third", None)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "the moved one is the current one");
        offers.create_draft(&visitor, content("next", None)).await.unwrap();
    }
}

#[tokio::test]
async fn a_draft_that_changes_under_way_is_copied_again() {
    let offers = in_memory(Settings::default());
    let (seller, visitor) = owners();
    let source = offers.create_draft(&visitor, content("first", None)).await.unwrap();
    let intent = offers.begin_move(&source.id, &seller, Purpose::Current).await.unwrap();
    let copied = offers.copy_draft(&source.id, &seller).await.unwrap().unwrap();
    offers.replace_draft(&source, content("second", None), offers::write::Expected::Any).await.unwrap();
    assert_eq!(offers.take_draft(&source.id, &copied).await.unwrap(), Taken::Changed);
    offers.finish_move(&source.id, &seller).await.unwrap();
    assert_eq!(title(&offers, &intent.new_id).await.as_deref(), Some("second"));
}

/// One who finishes the same move read the draft before its last edit, and writes after the other one has taken it.
#[tokio::test]
async fn of_two_who_finish_a_move_the_slower_one_does_not_lose_the_last_edit() {
    let offers = in_memory(Settings::default());
    let (seller, visitor) = owners();
    let source = offers.create_draft(&visitor, content("first", None)).await.unwrap();
    let intent = offers.begin_move(&source.id, &seller, Purpose::Current).await.unwrap();
    offers.replace_draft(&source, content("second", None), offers::write::Expected::Any).await.unwrap();
    let copied = offers.copy_draft(&source.id, &seller).await.unwrap().unwrap();
    assert_eq!(offers.take_draft(&source.id, &copied).await.unwrap(), Taken::Ours);
    let late = offers.keep_copy(&source.id, &seller, Some(&source.row)).await.unwrap().unwrap();
    offers.settle_move(&source.id, &seller, Taken::Ours).await.unwrap();
    assert_eq!(title(&offers, &intent.new_id).await.as_deref(), Some("second"));
    // The slower one finds its work done.
    assert_eq!(offers.take_draft(&source.id, &late).await.unwrap(), Taken::Ours);
    offers.settle_move(&source.id, &seller, Taken::Ours).await.unwrap();
    assert_eq!(title(&offers, &intent.new_id).await.as_deref(), Some("second"));
}

#[tokio::test]
async fn of_two_sellers_who_take_one_draft_one_gets_it() {
    let offers = in_memory(Settings::default());
    let (first, visitor) = owners();
    let second = Owner::Seller("seller-2".to_owned());
    let source = offers.create_draft(&visitor, content("wanted", None)).await.unwrap().id;
    offers.begin_move(&source, &first, Purpose::Current).await.unwrap();
    offers.copy_draft(&source, &first).await.unwrap();
    offers.move_draft(&source, &second, Purpose::Current).await.unwrap();
    offers.finish_intents(&first).await.unwrap();
    assert!(offers.create_draft(&second, content("x", None)).await.is_err(), "the second has it");
    offers.create_draft(&first, content("own", None)).await.unwrap();
    // A draft that died is lost to everybody.
    let gone = offers.create_draft(&visitor, content("gone", None)).await.unwrap();
    offers.begin_move(&gone.id, &Owner::Seller("seller-3".to_owned()), Purpose::Current).await.unwrap();
    offers.delete_draft(&gone).await.unwrap();
    sweep_all(&offers).await;
    offers.create_draft(&Owner::Seller("seller-3".to_owned()), content("own", None)).await.unwrap();
}

#[tokio::test]
async fn publishing_twice_gives_the_same_offer() {
    let client = service();
    let mut body = phone(SELLER);
    body.as_object_mut().unwrap().remove("seller_id");
    body["anonymous"] = json!(SECRET);
    let draft = client.post("/v1/drafts", body).await.body;
    let path = format!("/v1/drafts/{}", draft["id"].as_str().unwrap());
    let publish = format!("{path}/publish");
    let nobody = client.post(&publish, json!({})).await;
    assert_eq!((nobody.status.as_u16(), &nobody.body["errors"][0]["field"]), (422, &json!("owner")));
    let owner = json!({"owner": SELLER});
    let key = [("idempotency-key", "p1")];
    let first = client.call(Method::POST, &publish, &key, Some(&owner)).await;
    assert_eq!(first.status, 201, "{}", first.body);
    let again = client.call(Method::POST, &publish, &key, Some(&owner)).await;
    assert_eq!((again.status.as_u16(), &again.body["id"]), (201, &first.body["id"]));
    assert_eq!(client.post(&publish, json!({})).await.body["id"], first.body["id"]);
    assert_eq!(client.get(&path).await.status, 404, "the draft is gone");
    let stranger = Client::new(&client.offers, "seller:other");
    assert_eq!(stranger.post(&publish, json!({})).await.status, 404);
    let count = client.get(&format!("/v1/sellers/{SELLER}/presets")).await.body["items"][0]["count"].clone();
    assert_eq!(count, 1);
    client.offers.clock.advance(Duration::from_secs(31 * 86_400));
    sweep_all(&client.offers).await;
    assert_eq!(client.post(&publish, owner).await.status, 404, "after 30 days nobody remembers");
}

#[tokio::test]
async fn an_incomplete_draft_is_not_published_and_stays() {
    let client = service();
    let draft = client.post("/v1/drafts", json!({"title": "half"})).await.body;
    let path = format!("/v1/drafts/{}", draft["id"].as_str().unwrap());
    let refused = client.post(&format!("{path}/publish"), json!({"owner": SELLER})).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["errors"][0]["code"]),
        (422, &json!("category_missing"))
    );
    let still = client.get(&path).await.body;
    assert_eq!((&still["id"], still["owner"].is_null()), (&draft["id"], true));
}

/// A visitor's whole draft.
async fn visitors_phone(client: &Client) -> String {
    let mut body = phone(SELLER);
    body.as_object_mut().unwrap().remove("seller_id");
    body["anonymous"] = json!(SECRET);
    client.post("/v1/drafts", body).await.body["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn publishing_a_visitors_draft_leaves_the_sellers_own_even_when_it_fails() {
    let client = Client::new(&in_memory(Settings { max_offers: 1, ..Settings::default() }), "service");
    let (seller, _) = owners();
    let full = client.post("/v1/offers", phone(SELLER)).await.body;
    let own = client.offers.create_draft(&seller, content("own", None)).await.unwrap();
    let draft = visitors_phone(&client).await;
    let publish = format!("/v1/drafts/{draft}/publish");
    let refused = client.post(&publish, json!({"owner": SELLER})).await;
    assert!(refused.status.is_client_error(), "{}", refused.body);
    assert_eq!(title(&client.offers, &own.id).await.as_deref(), Some("own"));
    assert!(title(&client.offers, &draft).await.is_some(), "the visitor's is there, too");
    let current = client.post("/v1/drafts/current", json!({"owner": SELLER})).await.body;
    assert_eq!(current["id"], own.id, "the seller's own is the current one");

    sweep_all(&client.offers).await;
    client.post(&format!("/v1/offers/{}/delete", full["id"].as_str().unwrap()), json!({})).await;
    let published = client.post(&publish, json!({"owner": SELLER})).await;
    assert_eq!(published.status, 201, "{}", published.body);
    assert_eq!(title(&client.offers, &own.id).await.as_deref(), Some("own"));
    assert_eq!(client.post(&publish, json!({})).await.body["id"], published.body["id"]);
}

#[tokio::test]
async fn a_draft_that_was_not_published_dies_or_is_erased_with_its_seller() {
    for erase in [false, true] {
        let client = Client::new(&in_memory(Settings { max_offers: 0, ..Settings::default() }), "service");
        let (seller, _) = owners();
        client.offers.create_draft(&seller, content("own", None)).await.unwrap();
        let draft = visitors_phone(&client).await;
        client.post(&format!("/v1/drafts/{draft}/publish"), json!({"owner": SELLER})).await;
        assert!(title(&client.offers, &draft).await.is_some());
        if erase {
            client.offers.erase(SELLER, "test").await.unwrap();
            run_due(&client.offers, SellerErasures, seller.shard()).await.unwrap();
        } else {
            client.offers.clock.advance(Duration::from_secs(31 * 86_400));
            sweep_all(&client.offers).await;
        }
        assert_eq!(title(&client.offers, &draft).await, None);
        let tables = client.offers.store.snapshot(seller.shard()).await.unwrap();
        let intents = tables.scan(&offers::tables::DRAFT_INTENTS, Range::all(9)).await.unwrap();
        assert_eq!(intents, [], "nothing leads to it any more");
    }
}

#[tokio::test]
async fn a_visitors_draft_dies_after_thirty_days_and_a_sellers_does_not() {
    let client = service();
    let (seller, visitor) = owners();
    let offers = &client.offers;
    let kept = offers.create_draft(&seller, content("kept", None)).await.unwrap().id;
    let draft = offers.create_draft(&visitor, content("lost", None)).await.unwrap();
    offers.clock.advance(Duration::from_secs(29 * 86_400));
    let draft =
        offers.replace_draft(&draft, content("lost", None), offers::write::Expected::Any).await.unwrap();
    offers.clock.advance(Duration::from_secs(29 * 86_400));
    sweep_all(offers).await;
    assert!(title(offers, &draft.id).await.is_some(), "a change lets it live anew");
    offers.clock.advance(Duration::from_secs(2 * 86_400));
    sweep_all(offers).await;
    assert_eq!(title(offers, &draft.id).await, None);
    assert!(title(offers, &kept).await.is_some());
    offers.create_draft(&visitor, content("new", None)).await.unwrap();
}

#[tokio::test]
async fn an_erased_seller_leaves_no_draft() {
    let client = service();
    let (seller, _) = owners();
    let draft = client.offers.create_draft(&seller, content("private", None)).await.unwrap();
    client.offers.erase(SELLER, "test").await.unwrap();
    run_due(&client.offers, SellerErasures, seller.shard()).await.unwrap();
    assert_eq!(title(&client.offers, &draft.id).await, None);
}
