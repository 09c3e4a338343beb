//! What went and comes back: a flickering feed neither doubles offers nor washes off bans.

use std::time::Duration;

use model::{OfferId, Photo, PhotoState, Status};
use offers::Offers;
use offers::photos::PhotoResults;
use offers::write::Verb;
use topics::consume::Handler as _;
use wire::offers::opinion::Verdict;
use wire::photos::PhotoResult;

use crate::autoload::{act, opine, scenarios};
use crate::feed::{Feed, SELLER, makes_manual, record, records};
use crate::recount::recount;

scenarios! {
    a_flickering_offer_keeps_its_id_its_ban_and_its_withdrawal
    an_opinion_on_a_deleted_offer_counts_when_it_comes_back
    after_thirty_days_a_new_offer_is_made
    made_manual_and_adopted_again
    made_manual_and_deleted_by_hand_makes_a_new_one
    deleted_by_hand_makes_a_new_one_but_a_ban_stays
    photos_that_came_while_it_was_gone_are_there
}

async fn a_flickering_offer_keeps_its_id_its_ban_and_its_withdrawal(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..4, 1)).await;
    let before = [feed.offer("sku-0").await, feed.offer("sku-1").await, feed.offer("sku-2").await];
    opine(offers, &before[1], Verdict::Ban, 5).await;
    act(offers, &before[2], Verb::Withdraw).await;
    let ordinal = feed.row("sku-0").await.unwrap().ordinal;
    feed.load(2, records(3..4, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 3 deleted");
    assert_eq!(feed.head().await.live, 1);
    for offer in feed.all_offers().await {
        let expected =
            if offer.id == feed.offer("sku-3").await.id { Status::Active } else { Status::Deleted };
        assert_eq!(offer.status(), expected);
    }
    feed.load(3, records(0..4, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 2 created, 1 unchanged, 1 banned");
    let after = [feed.offer("sku-0").await, feed.offer("sku-1").await, feed.offer("sku-2").await];
    assert_eq!(before.each_ref().map(|offer| offer.id), after.each_ref().map(|offer| offer.id));
    let statuses = after.each_ref().map(model::Offer::status);
    assert_eq!(statuses, [Status::Active, Status::Banned, Status::Inactive]);
    assert_eq!(
        (after[1].ban_reasons.as_slice(), after[1].ban_text.as_str()),
        (&["fake".to_owned()][..], "a fake")
    );
    assert!(feed.row("sku-0").await.unwrap().ordinal > ordinal, "a new ordinal");
    // The ban can be lifted as if nothing had happened.
    opine(offers, &after[1], Verdict::Unban, 9).await;
    assert_eq!(feed.offer("sku-1").await.status(), Status::Active);
}

async fn an_opinion_on_a_deleted_offer_counts_when_it_comes_back(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    let (banned_later, unbanned_later) = (feed.offer("sku-0").await, feed.offer("sku-1").await);
    opine(offers, &unbanned_later, Verdict::Ban, 5).await;
    feed.load(2, records(2..3, 1)).await;
    opine(offers, &banned_later, Verdict::Ban, 6).await;
    opine(offers, &unbanned_later, Verdict::Unban, 6).await;
    feed.load(3, records(0..3, 1)).await;
    assert_eq!(feed.offer("sku-0").await.status(), Status::Banned);
    assert_eq!(feed.offer("sku-1").await.status(), Status::Active);
}

/// Nobody asks for a photo twice, so the answer must not be lost on an offer that is deleted when it comes.
async fn photos_that_came_while_it_was_gone_are_there(offers: &Offers) {
    let feed = Feed::new(offers);
    let url = "https://shop.example/1.jpg".to_owned();
    let with_photo = || {
        let mut record = record("sku-0", 1);
        record.content.as_mut().unwrap().photo_urls = vec![url.clone()];
        vec![record]
    };
    feed.load(1, with_photo()).await;
    let asked = feed.offer("sku-0").await;
    assert_eq!(asked.photos[0].state(), PhotoState::Waiting);
    feed.load(2, Vec::new()).await;
    let photo = Photo { url: url.clone(), state: PhotoState::Ready.into(), ..Photo::default() };
    let result = PhotoResult {
        offer_id: asked.id,
        seller_id: SELLER.to_owned(),
        photos: vec![photo],
        ..PhotoResult::default()
    };
    let handler = PhotoResults(offers.clone());
    let id = OfferId::from_raw(asked.id).unwrap();
    let apply = async |tx: &mut store::Tx| handler.apply(tx, vec![(id, result.clone())]).await;
    offers.store.transact(offers::read::shard_of(id), apply).await.unwrap();
    feed.load(3, with_photo()).await;
    let back = feed.offer("sku-0").await;
    assert_eq!((back.id, back.status()), (asked.id, Status::Active));
    assert_eq!(back.photos[0].state(), PhotoState::Ready);
}

async fn after_thirty_days_a_new_offer_is_made(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..2, 1)).await;
    let before = feed.offer("sku-0").await;
    feed.load(2, records(1..2, 1)).await;
    offers.clock.advance(Duration::from_secs(30 * 86_400));
    feed.load(3, records(0..2, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 1 created, 1 unchanged");
    assert_ne!(feed.offer("sku-0").await.id, before.id);
}

async fn made_manual_and_adopted_again(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    let before = feed.offer("sku-0").await;
    feed.batch(2, 1, records(2..3, 1)).await;
    feed.terminal(2, makes_manual(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 2 made_manual");
    let manual = feed.offer("sku-0").await;
    assert_eq!((manual.id, manual.status()), (before.id, Status::Active));
    assert!(!offers::presets::is_from_feed(&manual));
    assert!(manual.expires_at > 0, "it lives as a manual one from now on");
    recount(offers, SELLER).await;
    feed.load(3, [records(0..1, 2), records(1..3, 1)].concat()).await;
    assert_eq!(feed.end(3).await, "DONE: 2 updated, 1 unchanged");
    let again = feed.offer("sku-0").await;
    assert_eq!((again.id, again.content.unwrap().title), (before.id, "sku-0 2".into()));
    assert_eq!(feed.head().await.live, 3);
}

async fn made_manual_and_deleted_by_hand_makes_a_new_one(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    feed.batch(2, 1, records(2..3, 1)).await;
    feed.terminal(2, makes_manual(1)).await;
    feed.sweep().await;
    let (plain, banned) = (feed.offer("sku-0").await, feed.offer("sku-1").await);
    opine(offers, &banned, Verdict::Ban, 5).await;
    act(offers, &plain, Verb::Delete).await;
    act(offers, &banned, Verb::Delete).await;
    feed.load(3, records(0..3, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 1 created, 1 unchanged, 1 banned");
    assert_ne!(feed.offer("sku-0").await.id, plain.id);
    let back = feed.offer("sku-1").await;
    assert_eq!((back.id, back.status()), (banned.id, Status::Banned), "no ban is washed off");
}

async fn deleted_by_hand_makes_a_new_one_but_a_ban_stays(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    let (plain, banned) = (feed.offer("sku-0").await, feed.offer("sku-1").await);
    opine(offers, &banned, Verdict::Ban, 5).await;
    act(offers, &plain, Verb::Delete).await;
    act(offers, &banned, Verb::Delete).await;
    assert_eq!(feed.head().await.live, 1);
    assert!(feed.row("sku-0").await.is_none());
    feed.load(2, records(0..3, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 1 created, 1 unchanged, 1 banned");
    assert_ne!(feed.offer("sku-0").await.id, plain.id);
    let back = feed.offer("sku-1").await;
    assert_eq!((back.id, back.status(), back.ban_text.as_str()), (banned.id, Status::Banned, "a fake"));
}
