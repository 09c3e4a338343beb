//! The pages of the stages: what they tell, and what an admin can do there.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use model::{Content, OfferId};
use stages::FailureState;

use crate::browser::{Browser, Seen};
use crate::world::{ADMIN, Fragile, OWN, SELLER, SERVICE, World};

const STAGE: &str = "/console/stages/fragile";
const FAILURES: &str = "/console/stages/fragile/failures";

async fn offers(world: &World, seller: &str, count: usize) -> Vec<i64> {
    let actor = offers::write::by_api("test", "create");
    let mut ids = Vec::new();
    for number in 0..count {
        let content = Content { title: format!("Дрель {number}"), ..Content::default() };
        ids.push(world.offers.create(seller, content, &actor).await.unwrap().id);
    }
    // What is told of later would un-park.
    world.run_stages().await;
    ids
}

fn printed(id: i64) -> String {
    OfferId::from_raw(id).unwrap().to_string()
}

fn next(page: &Seen) -> Option<String> {
    let (_, rest) = page.text.split_once("rel=\"next\" href=\"")?;
    Some(rest.split('"').next().unwrap().replace("&amp;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_paused_resumed_and_walks_by_an_admins_word_alone() {
    let world = World::new().await;
    let mut admin = Browser::with_token(&world.router, ADMIN);
    let list = admin.get("/console/stages").await;
    for stage in ["expire", "photos", Fragile::ID] {
        list.has(&format!("/console/stages/{stage}/pause"));
    }
    let paused = admin.post(&format!("{STAGE}/pause"), &[]).await;
    assert_eq!((paused.status, paused.location()), (StatusCode::SEE_OTHER, STAGE));
    admin.get(STAGE).await.has("class=\"chip paused\"").has("Resume").has("Nothing of it has run since");
    admin.get("/console").await.has("paused since").has("with problems: 1");
    Browser::with_token(&world.router, SERVICE)
        .get(STAGE)
        .await
        .has("class=\"chip paused\"")
        .lacks(&format!("{STAGE}/resume"))
        .lacks(&format!("{STAGE}/walk"));
    admin.post(&format!("{STAGE}/resume"), &[]).await;
    admin.get(STAGE).await.has("class=\"chip active\"").has("Pause");

    let begun = admin.post(&format!("{STAGE}/walk"), &[("rate", "77")]).await;
    assert_eq!(begun.location(), STAGE);
    let entry = || world.stages.entries().iter().find(|entry| entry.id == Fragile::ID).unwrap().row.clone();
    assert_eq!(entry().walk.unwrap().per_second, 77);
    admin.get(STAGE).await.has("<progress").has("Let it rest").has("Start anew");
    admin.post(&format!("{STAGE}/walk/pause"), &[]).await;
    assert!(entry().walk.unwrap().paused);
    admin.get(STAGE).await.has("Let it go on").has("rests");
    admin.post(&format!("{STAGE}/walk/resume"), &[]).await;
    assert!(!entry().walk.unwrap().paused);
    for bad in ["0", "-1", "soon", "99999999999"] {
        let refused = admin.post(&format!("{STAGE}/walk"), &[("rate", bad)]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
    }
    // The usual rate.
    admin.post(&format!("{STAGE}/walk"), &[("rate", "")]).await;
    assert_eq!(entry().walk.unwrap().per_second, world.stages.settings.walk_per_second);
    let expire = admin.post("/console/stages/expire/walk", &[("rate", "")]).await;
    assert_eq!(expire.status, StatusCode::CONFLICT, "it looks at no offer by itself");
    admin.get("/console/stages/expire").await.has("something else keeps its times").lacks("Start a walk");
    for missing in ["/console/stages/none", "/console/stages/none/failures"] {
        assert_eq!(admin.get(missing).await.status, StatusCode::NOT_FOUND, "{missing}");
    }
    assert_eq!(admin.post("/console/stages/none/pause", &[]).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_read_in_pages_and_answered_one_by_one_and_all() {
    let world = World::new().await;
    let ids = offers(&world, "shop", 120).await;
    for id in &ids {
        world.park(*id, "no luck").await;
    }
    let mut admin = Browser::with_token(&world.router, ADMIN);
    admin.get("/console").await.has("parked offers <strong>120</strong>");
    admin.get("/console/stages").await.has("/console/stages/fragile/failures?state=parked");
    let (mut address, mut seen, mut pages) = (FAILURES.to_owned(), BTreeSet::new(), 0);
    loop {
        let page = admin.get(&address).await;
        page.has("Parked <strong>120</strong>").has("no luck");
        seen.extend(
            ids.iter().copied().filter(|id| page.text.contains(&format!("{FAILURES}/{}/drop", printed(*id)))),
        );
        pages += 1;
        let Some(more) = next(&page) else { break };
        address = more;
    }
    assert_eq!((seen.len(), pages), (120, 3));

    // One goes back into the queue and is mended, another one fails again, a third is dropped.
    let form = |id: i64, verb: &str| format!("{FAILURES}/{}/{verb}", printed(id));
    let fields = [("state", "parked"), ("cursor", "")];
    let done = admin.post(&form(ids[0], "retry"), &fields).await;
    assert_eq!(done.location(), format!("{FAILURES}?state=parked&cursor=&retried=1"));
    admin.get(done.location()).await.has("Tried again: 1").has("Parked <strong>119</strong>");
    world.run_stages().await;
    world.fragile.fails(Some("<b>still no luck</b>"));
    admin.post(&form(ids[1], "retry"), &fields).await;
    world.run_stages().await;
    admin
        .get(&format!("{FAILURES}?state=failing"))
        .await
        .has("Failing <strong>1</strong>")
        .has("&lt;b&gt;still no luck")
        .has("again ");
    admin.get(STAGE).await.has("&lt;b&gt;still no luck").has(&format!("/console/offers/{}", printed(ids[1])));
    assert_eq!(admin.post(&form(ids[2], "drop"), &fields).await.status, StatusCode::SEE_OTHER);
    assert_eq!(admin.post(&form(ids[2], "drop"), &fields).await.status, StatusCode::NOT_FOUND);
    admin.get(FAILURES).await.has("Parked <strong>117</strong>");

    world.fragile.fails(None);
    let all = admin.post(&format!("{FAILURES}/retry"), &[("state", "failing")]).await;
    assert_eq!(all.location(), format!("{FAILURES}?state=failing&cursor=&retried=1"));
    let all = admin.post(&format!("{FAILURES}/drop"), &[("state", "parked")]).await;
    admin.get(all.location()).await.has("Dropped: 117").has("None.").lacks("Retry all");
    world.run_stages().await;
    for state in FailureState::ALL {
        let left = world.stages.failures_in(Fragile::ID, state, None, 10).await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    }
    for bad in ["?state=lost", "?cursor=x"] {
        let refused = admin.get(&format!("{FAILURES}{bad}")).await.status;
        assert!(refused.is_client_error(), "{bad}: {refused}");
    }
    assert_eq!(admin.post(&format!("{FAILURES}/forget"), &[]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(admin.post(&format!("{FAILURES}/12/retry"), &[]).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_tells_why_it_waits() {
    let world = World::new().await;
    let id = offers(&world, SELLER, 1).await[0];
    world.park(id, "no luck").await;
    let page = format!("/console/offers/{}", printed(id));
    let mut admin = Browser::with_token(&world.router, ADMIN);
    admin
        .get(&page)
        .await
        .has("parked: it failed too often")
        .has("no luck")
        .has("tries: 20")
        .has(&format!("{}/retry", printed(id)));
    // The seller sees it too, without what is not theirs.
    Browser::with_token(&world.router, OWN)
        .get(&page)
        .await
        .has("parked: it failed too often")
        .lacks("/console/stages")
        .lacks("/retry");
    admin.post(&format!("{STAGE}/pause"), &[]).await;
    admin.post(&format!("{FAILURES}/{}/retry", printed(id)), &[]).await;
    admin.get(&page).await.has("the stage is paused").has("before it: 0");
    let mut russian = Browser::with_token(&world.router, ADMIN);
    russian.language = "ru";
    russian.get(&page).await.has("этап приостановлен").has("впереди: 0");
    admin.post(&format!("{STAGE}/resume"), &[]).await;
    world.run_stages().await;
    admin.get(&page).await.has("a walk that makes up for changes").lacks("no luck");
}
