//! Master data: what its pages say, and what their forms do.

use axum::http::StatusCode;
use silver::failures::Filter;
use silver::settings;
use silver::ssku::Key;
use wire::united::{
    Colour, DataSource, Offer, OfferContent, OfferMeta, OriginalSpecification, PartnerContent, PreciseWeight,
    StringValue, UnitedOffer, UpdateMeta,
};

use crate::browser::{Browser, Seen};
use crate::world::{ADMIN, SELLER, SERVICE, World, eventually};

const SKU: &str = "a/b\"><script>alert(5)</script>";
const NAME: &str = "Молоток <img src=x onerror=alert(6)>";

fn part(colour: Colour, name: &str, weight_mg: i64, at: i64) -> Offer {
    let meta = Some(UpdateMeta { source: Some(DataSource::PartnerFeed.into()), timestamp: Some(at) });
    let original = OriginalSpecification {
        name: Some(StringValue { meta, value: Some(name.to_owned()) }),
        weight: Some(PreciseWeight { meta, value_mg: Some(weight_mg) }),
        ..OriginalSpecification::default()
    };
    let partner = PartnerContent { original: Some(original), original_terms: None };
    Offer {
        meta: Some(OfferMeta { rgb: Some(colour.into()), ..OfferMeta::default() }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        ..Offer::default()
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn ssku_address(sku: &str) -> String {
    format!("/console/silver/sskus/7/{}", encoded(sku))
}

/// A business with an SSKU of which two shops say different things.
async fn furnished(sku: &str) -> World {
    let world = World::new().await;
    let service = [
        (1, part(Colour::Blue, NAME, 620_000, 2_000_000)),
        (2, part(Colour::Dbs, "Молоток 2", 650_000, 1_000_000)),
    ];
    world.silver.united.put(7, sku, UnitedOffer { basic: None, service: service.into() }).await.unwrap();
    gold(&world, sku, |_| true).await;
    world
}

async fn gold(world: &World, sku: &str, wanted: impl Fn(&wire::silver::GoldRow) -> bool) {
    let key = Key { business: 7, shop_sku: sku.to_owned() };
    eventually(async || {
        let view = world.silver.view(&key).await.unwrap();
        let made = view.gold.as_ref().is_some_and(&wanted) && !view.waits_for_gold;
        if made { Ok(()) } else { Err(format!("{view:?}")) }
    })
    .await;
}

async fn until(browser: &mut Browser, page: &str, wanted: impl Fn(&Seen) -> bool) -> Seen {
    eventually(async || {
        let seen = browser.get(page).await;
        if wanted(&seen) { Ok(seen) } else { Err(seen.text) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssku_tells_why_each_value_won_and_hostile_words_are_harmless() {
    let world = furnished(SKU).await;
    let mut browser = Browser::at_home(&world.router);
    let found = browser.get(&format!("/console/silver/find?business=7&sku={}", encoded(SKU))).await;
    assert_eq!((found.status, found.location()), (StatusCode::SEE_OTHER, ssku_address(SKU).as_str()));
    assert_eq!(
        browser.get(&format!("/console/find?q={}", encoded(&format!("7:{SKU}")))).await.location(),
        ssku_address(SKU)
    );
    for (language, why, weight, step) in [
        ("en", "its source goes before the others", "620\u{a0}g", "Detect changes"),
        ("ru", "источник важнее остальных", "620\u{a0}г", "Поиск изменений"),
    ] {
        browser.language = language;
        let page = browser.get(&ssku_address(SKU)).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        // The winner and the one who lost, with the reason, and what the steps would do now.
        page.has(why).has(weight).has("Молоток 2").has("SUPPLIER").has("DBS").has(step);
        page.has("&lt;img src=x onerror=alert(6)&gt;").lacks("<img src=x").lacks("<script>alert");
        assert_eq!(page.text.matches("<script").count(), 1);
    }
    browser.language = "en";
    browser.get("/console/businesses/7").await.has("&lt;script&gt;alert(5)").lacks("<script>alert");
    for missing in ["/console/silver/sskus/7/nothing", "/console/silver/sskus/x/y", "/console/businesses/0"] {
        assert_eq!(browser.get(missing).await.status, StatusCode::NOT_FOUND, "{missing}");
    }
    // The funnel has counted it.
    let home = until(&mut browser, "/console/silver", |seen| seen.text.contains("changed <strong>")).await;
    home.has("First filter").has("Detect changes");
    browser.get("/console/silver/shipments").await.has("content.partner.original.weight").has("trigger");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_tried_before_they_hold() {
    let world = furnished("hammer").await;
    let (mut service, mut admin) =
        (Browser::with_token(&world.router, SERVICE), Browser::with_token(&world.router, ADMIN));
    let page = service.get("/console/silver/rules").await;
    page.has("SUPPLIER before DBS, the newest").has("An admin applies them.");
    let rules = r#"{"parameters": {"weight": {"sources": [], "choose": "max"}}}"#;
    let fields = [("value", rules), ("version", "0")];
    let tried = service.post("/console/silver/rules/preview", &fields).await;
    assert_eq!(tried.status, StatusCode::OK, "{}", tried.text);
    tried.has("What would change").has("620\u{a0}g").has("650\u{a0}g").has("it is the greatest");
    assert_eq!(service.post("/console/silver/rules/apply", &fields).await.status, StatusCode::FORBIDDEN);
    let before = settings::get(&world.silver.united.store, settings::GOLD_RULES).await.unwrap();
    assert_eq!(before.version, 0, "a preview changed the rules");

    for (bad, place) in [
        (r#"{"parameters": {"name": {"choose": "max"}}}"#, "parameters.name"),
        (r#"{"parameters": {"<b>x": {}}}"#, "parameters.&lt;b&gt;x"),
        ("{", "EOF while parsing"),
    ] {
        for form in ["preview", "apply"] {
            let said = admin
                .post(&format!("/console/silver/rules/{form}"), &[("value", bad), ("version", "0")])
                .await;
            assert_eq!(said.status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
            said.has(place).has("role=\"alert\"").lacks("<b>x");
        }
    }
    let applied = admin.post("/console/silver/rules/apply", &fields).await;
    assert_eq!(applied.location(), "/console/silver/rules?applied=1", "{}", applied.text);
    admin.get("/console/silver/rules").await.has("parameters.weight").has("the greatest");
    // Who has seen an older version changes nothing.
    let late = admin.post("/console/silver/rules/apply", &[("value", "{}"), ("version", "0")]).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    late.has("somebody changed the setting meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_has_its_history() {
    let world = World::new().await;
    let mut admin = Browser::with_token(&world.router, ADMIN);
    let address = "/console/silver/settings/silver.dbs_business_ranges";
    admin.get(address).await.has("It was never changed.").has("never set: the default");
    let bad = admin.post(address, &[("value", "[[5, 1]]"), ("version", "0")]).await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
    // The mistake is told with its place, and what was written stays.
    bad.has("<bdi>[0]</bdi>").has("a range ends before it begins").has(">[[5, 1]]</textarea>");
    for (version, value) in [("0", "[[1, 5]]"), ("1", "[[1, 5], [9, 9]]")] {
        let saved = admin.post(address, &[("value", value), ("version", version)]).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text);
    }
    let page = admin.get(address).await;
    page.has("[[1,5],[9,9]]").has("[[1,5]]").has(ADMIN).has("?from=1");
    let old = admin.get(&format!("{address}?from=1")).await;
    assert!(
        old.text.split("</textarea>").next().unwrap().ends_with("[\n  [\n    1,\n    5\n  ]\n]"),
        "{}",
        old.text
    );
    assert_eq!(admin.get("/console/silver/settings/silver.unknown").await.status, StatusCode::NOT_FOUND);
    let unknown =
        admin.post("/console/silver/settings/silver.unknown", &[("value", "1"), ("version", "0")]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let mut service = Browser::with_token(&world.router, SERVICE);
    assert_eq!(
        service.post(address, &[("value", "[]"), ("version", "2")]).await.status,
        StatusCode::FORBIDDEN
    );
    service
        .get("/console/silver/settings")
        .await
        .has("silver.dbs_mode")
        .has("gold.rules")
        .has("BLUE_AND_DBS");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_tried_again_or_dropped_one_or_all() {
    let world = World::new().await;
    for (business, sku) in [(7, SKU), (7, "other"), (8, "third")] {
        let bad = UnitedOffer { basic: None, service: [(1, part(Colour::Blue, "x", -5, 1))].into() };
        world.silver.united.put(business, sku, bad).await.unwrap();
    }
    let owed = async || world.silver.failures(&Filter::default(), None, 10).await.unwrap();
    eventually(async || if owed().await.len() == 3 { Ok(()) } else { Err("not yet".to_owned()) }).await;
    let mut service = Browser::with_token(&world.router, SERVICE);
    let page = service.get("/console/silver/failures").await;
    page.has("-5 is not a weight").has("alert(5)").lacks("<script>alert").has("Retry all (3)");
    service.get("/console").await.has("SSKUs that are not imported").has("failures: 3");
    service.get(&ssku_address(SKU)).await.has("It is not imported").has("It cannot be converted");
    service.get("/console/silver/failures?business=8").await.has("third").lacks("other").has("Retry all (1)");
    service
        .get("/console/silver/failures?business=nobody")
        .await
        .lacks("third")
        .has("None: everything is imported.");

    let id = format!("7:{SKU}");
    let back = ssku_address(SKU);
    let dropped = service.post("/console/silver/failures/drop", &[("id", &id), ("back", &back)]).await;
    assert_eq!((dropped.status, dropped.location()), (StatusCode::SEE_OTHER, back.as_str()));
    assert_eq!(owed().await.len(), 2);
    let retried = service
        .post("/console/silver/failures/retry", &[("id", "7:other"), ("back", "//evil.example")])
        .await;
    assert_eq!(retried.location(), "/console/silver/failures");
    // The cause is still there: it fails again.
    eventually(async || {
        let found = owed().await;
        let again = found.iter().any(|(key, debt)| key.shop_sku == "other" && debt.tries > 0);
        if again { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    let all = [("business", "8"), ("reason", "not a weight")];
    service.post("/console/silver/failures/all/drop", &all).await;
    let left: Vec<_> = owed().await.into_iter().map(|(key, _)| key.shop_sku).collect();
    assert_eq!(left, ["other"]);
    // The cause is gone: nothing is owed any more.
    let good = UnitedOffer { basic: None, service: [(1, part(Colour::Blue, "x", 5, 2))].into() };
    world.silver.united.put(7, "other", good).await.unwrap();
    service.post("/console/silver/failures/all/retry", &[("business", ""), ("reason", "")]).await;
    until(&mut service, "/console/silver/failures", |seen| {
        seen.text.contains("None: everything is imported.")
    })
    .await;
    assert_eq!(
        service.post("/console/silver/failures/burn", &[("id", "7:other")]).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        service.post("/console/silver/failures/retry", &[("id", "x")]).await.status,
        StatusCode::NOT_FOUND
    );
}

/// A seller is mapped, their offer leads to its SSKU and back; the SSKU moves, and the way goes on to its new home.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_leads_to_its_ssku_and_back() {
    let (world, _) = World::furnished().await;
    let mut service = Browser::with_token(&world.router, SERVICE);
    let mapping = [("business", "7"), ("shop", "1"), ("seller", SELLER), ("colour", "BLUE")];
    let mapped = service.post("/console/businesses/map", &mapping).await;
    assert_eq!(mapped.location(), "/console/businesses/7", "{}", mapped.text);
    service.get("/console/businesses").await.has("a/b&quot;&gt;&lt;script&gt;").lacks("<script>alert");
    gold(&world, "d-3", |_| true).await;
    let offer = offers::external::find(&world.offers, SELLER, "default", "d-3").await.unwrap().unwrap();
    let offer = format!("/console/offers/{}", offers::changes::printed(offer.id));
    service.get(&offer).await.has("Master data").has(&ssku_address("d-3")).has(">made</a>");
    service.get(&ssku_address("d-3")).await.has(&offer);
    Browser::with_token(&world.router, crate::world::OWN).get(&offer).await.lacks("Master data");

    let asked = [("request_id", "m-1"), ("source", "7"), ("target", "9"), ("shop_sku", "d-3")];
    let moved = service.post("/console/silver/migrations", &asked).await;
    assert_eq!(moved.location(), "/console/silver/migrations?business=9", "{}", moved.text);
    until(&mut service, "/console/silver/migrations?business=9", |seen| seen.text.contains("chip succeeded"))
        .await;
    let target = "/console/silver/sskus/9/d%2D3";
    service.get(&ssku_address("d-3")).await.has("This offer has moved to").has(target);
    service.get(&offer).await.has(target).has("moved from 7");
    service.get(target).await.has(&offer);
    let same = [("request_id", "m-2"), ("source", "9"), ("target", "9"), ("shop_sku", "<b>d")];
    let refused = service.post("/console/silver/migrations", &same).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    refused.has("an offer moves from one business to another").has("value=\"&lt;b&gt;d\"").lacks("<b>d");

    service.post("/console/businesses/7/shops/1/unmap", &[]).await;
    service.get("/console/businesses/7").await.has("unmapped");
    let nobody = [("business", "7"), ("shop", "0"), ("seller", "x"), ("colour", "PINK")];
    assert_eq!(
        service.post("/console/businesses/map", &nobody).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}
