//! Who gets in, and what everybody else is told.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use feeds::FeedKey;

use crate::browser::Browser;
use crate::world::{ADMIN, OTHER, OWN, SELLER, SERVICE, World};

fn seller_address() -> String {
    let encoded = percent_encoding::utf8_percent_encode(SELLER, percent_encoding::NON_ALPHANUMERIC);
    format!("/console/sellers/{encoded}")
}

/// Pages of one seller; what is in them is the business of other tests.
fn seller_pages(offer: &str) -> Vec<String> {
    let seller = seller_address();
    vec![
        seller.clone(),
        format!("{seller}/offers"),
        format!("{seller}/offers?preset=active"),
        format!("{seller}/feeds/default"),
        format!("{seller}/feeds/default/loads/1"),
        format!("{seller}/feeds/default/loads/1?line=2"),
        format!("{seller}/feeds/default/loads/1/errors.xlsx"),
        format!("{seller}/feeds/default/loads/1/errors.csv"),
        format!("/console/offers/{offer}"),
    ]
}

fn seller_forms() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let seller = seller_address();
    let feed = format!("{seller}/feeds/default");
    let settings =
        vec![("url", ""), ("period_minutes", "60"), ("on_missing", "delete"), ("guard_percent", "50")];
    vec![
        (format!("{seller}/feeds"), vec![("namespace", "new"), ("url", "https://shop.example/feed.xml")]),
        (format!("{feed}/settings"), settings),
        (format!("{feed}/fetch"), vec![]),
        (format!("{feed}/pause"), vec![]),
        (format!("{feed}/resume"), vec![]),
        (format!("{feed}/uploads"), vec![]),
        (format!("{feed}/loads/1/confirm"), vec![]),
        (format!("{feed}/loads/1/reject"), vec![]),
        (format!("{feed}/loads/1/rerun"), vec![]),
        (format!("{feed}/loads/1/cancel"), vec![]),
    ]
}

const SERVICE_PAGES: [&str; 15] = [
    "/console/stages",
    "/console/stages/photos",
    "/console/stages/photos/failures?state=failing",
    "/console/snippets",
    "/console/snippets?name=offer",
    "/console/topics",
    "/console/topics/offers.changes",
    "/console/silver",
    "/console/silver/failures",
    "/console/silver/migrations",
    "/console/silver/shipments",
    "/console/silver/rules",
    "/console/silver/settings",
    "/console/silver/settings/gold.rules",
    "/console/businesses",
];

fn service_forms() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let letter = vec![("group", "g"), ("incarnation", "i"), ("partition", "0"), ("offset", "0")];
    vec![
        (
            "/console/snippets/put".to_owned(),
            vec![("name", "offer/card"), ("key", "k"), ("format", "JSON"), ("content", "{}")],
        ),
        ("/console/snippets/letters/retry".to_owned(), vec![("id", "x")]),
        ("/console/snippets/letters/drop".to_owned(), vec![("id", "x")]),
        ("/console/topics/offers.changes/letters/retry".to_owned(), letter.clone()),
        ("/console/topics/offers.changes/letters/drop".to_owned(), letter),
        ("/console/silver/failures/retry".to_owned(), vec![("id", "7:x")]),
        ("/console/silver/failures/drop".to_owned(), vec![("id", "7:x")]),
        ("/console/silver/failures/all/retry".to_owned(), vec![]),
        ("/console/silver/failures/all/drop".to_owned(), vec![]),
        (
            "/console/silver/migrations".to_owned(),
            vec![("request_id", "r"), ("source", "7"), ("target", "8"), ("shop_sku", "x")],
        ),
        ("/console/silver/rules/preview".to_owned(), vec![("value", "{}"), ("version", "0")]),
        ("/console/silver/rules/apply".to_owned(), vec![("value", "{}"), ("version", "0")]),
        ("/console/silver/settings/gold.rules".to_owned(), vec![("value", "{}"), ("version", "0")]),
        (
            "/console/businesses/map".to_owned(),
            vec![("business", "7"), ("shop", "1"), ("seller", "x"), ("colour", "BLUE")],
        ),
        ("/console/businesses/7/shops/1/unmap".to_owned(), vec![]),
    ]
}

fn admin_forms() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let stage = "/console/stages/fragile";
    let failed = vec![("state", "parked")];
    vec![
        (format!("{stage}/pause"), vec![]),
        (format!("{stage}/resume"), vec![]),
        (format!("{stage}/walk"), vec![("rate", "5")]),
        (format!("{stage}/walk/pause"), vec![]),
        (format!("{stage}/walk/resume"), vec![]),
        (format!("{stage}/failures/retry"), failed.clone()),
        (format!("{stage}/failures/drop"), failed.clone()),
        (format!("{stage}/failures/1234/retry"), failed.clone()),
        (format!("{stage}/failures/1234/drop"), failed),
    ]
}

async fn world_with_offer() -> (World, FeedKey, String) {
    let (world, key) = World::furnished().await;
    let (offers, _) = world.offers.page(SELLER, offers::Preset::All, None, 1).await.unwrap();
    (world, key, offers::changes::printed(offers[0].id))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_seller_finds_nothing_and_changes_nothing() {
    let (world, key, offer) = world_with_offer().await;
    let before = feeds::history::feed(&world.feeds, &key).await.unwrap().feed;
    let mut other = Browser::with_token(&world.router, OTHER);
    for page in seller_pages(&offer) {
        let seen = other.get(&page).await;
        assert_eq!(seen.status, StatusCode::NOT_FOUND, "{page}");
        seen.lacks("Дрель");
    }
    for (form, fields) in seller_forms() {
        assert_eq!(other.post(&form, &fields).await.status, StatusCode::NOT_FOUND, "{form}");
    }
    for page in SERVICE_PAGES {
        assert_eq!(other.get(page).await.status, StatusCode::FORBIDDEN, "{page}");
    }
    for (form, fields) in service_forms().into_iter().chain(admin_forms()) {
        assert_eq!(other.post(&form, &fields).await.status, StatusCode::FORBIDDEN, "{form}");
    }
    assert_eq!(other.get("/console/cluster").await.status, StatusCode::FORBIDDEN);
    assert_eq!(other.get("/console").await.location(), "/console/sellers");
    assert_eq!(other.get("/console/sellers").await.location(), "/console/sellers/other");
    assert_eq!(
        other.get(&format!("/console/find?q={offer}")).await.location(),
        format!("/console/offers/{offer}")
    );
    let after = feeds::history::feed(&world.feeds, &key).await.unwrap().feed;
    assert_eq!(before, after, "a form of a stranger took effect");

    let mut own = Browser::with_token(&world.router, OWN);
    for page in seller_pages(&offer) {
        assert_eq!(own.get(&page).await.status, StatusCode::OK, "{page}");
    }
    let mut service = Browser::with_token(&world.router, SERVICE);
    for page in SERVICE_PAGES {
        assert_eq!(service.get(page).await.status, StatusCode::OK, "{page}");
    }
    assert_eq!(service.get("/console/cluster").await.status, StatusCode::FORBIDDEN);
    for (form, fields) in admin_forms() {
        assert_eq!(service.post(&form, &fields).await.status, StatusCode::FORBIDDEN, "{form}");
    }
    let (retry, fields) = &service_forms()[3];
    assert_eq!(
        service.post(retry, fields).await.status,
        StatusCode::FORBIDDEN,
        "letters of topics are an admin's"
    );
    let mut admin = Browser::with_token(&world.router, ADMIN);
    assert_eq!(admin.get("/console/cluster").await.status, StatusCode::OK);
    assert_eq!(admin.post(retry, fields).await.status, StatusCode::NOT_FOUND, "there is no such letter");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_form_without_its_token() {
    let (world, key, _) = world_with_offer().await;
    let before = feeds::history::feed(&world.feeds, &key).await.unwrap().feed;
    let everyday = [
        ("/console/login".to_owned(), vec![("token", ADMIN)]),
        ("/console/logout".to_owned(), vec![]),
        ("/console/language".to_owned(), vec![("language", "ru")]),
    ];
    let forms: Vec<_> =
        everyday.into_iter().chain(seller_forms()).chain(service_forms()).chain(admin_forms()).collect();
    let foreign = Browser::with_token(&world.router, OTHER).get("/console/find?q=").await.csrf();
    for mut browser in [
        Browser::with_token(&world.router, ADMIN),
        Browser::at_home(&world.router),
        Browser::stranger(&world.router),
    ] {
        for (form, fields) in &forms {
            let without = browser.post_raw(form, fields).await;
            assert_eq!(without.status, StatusCode::FORBIDDEN, "{form}");
            without.has("token");
            assert!(
                without
                    .headers
                    .get_all(header::SET_COOKIE)
                    .iter()
                    .all(|line| !line.to_str().unwrap().contains("dvor_session"))
            );
            for wrong in ["", "0", foreign.as_str()] {
                let fields = [fields.as_slice(), &[("csrf", wrong)]].concat();
                assert_eq!(
                    browser.post_raw(form, &fields).await.status,
                    StatusCode::FORBIDDEN,
                    "{form} {wrong}"
                );
                let header = [(console::CSRF_HEADER, wrong)];
                let sent = browser.send(Method::POST, form, &header, Body::from("x")).await;
                assert_eq!(sent.status, StatusCode::FORBIDDEN, "{form} {wrong}");
            }
            // A body of another kind cannot hide a form.
            let kind = [("content-type", "text/plain")];
            let sent = browser.send(Method::POST, form, &kind, Body::from("csrf=x")).await;
            assert_eq!(sent.status, StatusCode::FORBIDDEN, "{form}");
        }
    }
    let after = feeds::history::feed(&world.feeds, &key).await.unwrap().feed;
    assert_eq!(before, after, "a form without its token took effect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_asked_for_a_token() {
    let (world, _, offer) = world_with_offer().await;
    let mut stranger = Browser::stranger(&world.router);
    for page in seller_pages(&offer)
        .iter()
        .map(String::as_str)
        .chain(SERVICE_PAGES)
        .chain(["/console", "/console/nowhere"])
    {
        let seen = stranger.get(page).await;
        assert_eq!(seen.status, StatusCode::SEE_OTHER, "{page}");
        assert!(seen.location().starts_with("/console/login?next="), "{page}");
        seen.lacks("Дрель");
    }
    for (form, fields) in seller_forms().into_iter().chain(service_forms()).chain(admin_forms()) {
        assert_eq!(stranger.post(&form, &fields).await.status, StatusCode::UNAUTHORIZED, "{form}");
    }
    let revoked = Browser::with_token(&world.router, "dvor_9_revoked").get("/console").await;
    assert_eq!(revoked.status, StatusCode::SEE_OTHER);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_and_ends() {
    let world = World::new().await;
    let mut browser = Browser::stranger(&world.router);
    let wrong = browser.post("/console/login", &[("token", "dvor_1_wrong")]).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    wrong.has("not known").lacks("dvor_1_wrong");

    let entered = browser.post("/console/login", &[("token", ADMIN), ("next", "/console/topics")]).await;
    assert_eq!((entered.status, entered.location()), (StatusCode::SEE_OTHER, "/console/topics"));
    let cookie = entered.headers[header::SET_COOKIE].to_str().unwrap();
    for word in ["dvor_session=", "HttpOnly", "SameSite=Lax", "Path=/console", "Max-Age="] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains("Secure"));
    assert_eq!(browser.get("/console/topics").await.status, StatusCode::OK);
    // Logged in, the login leads on.
    assert_eq!(browser.get("/console/login?next=/console/cluster").await.location(), "/console/cluster");

    let left = browser.post("/console/logout", &[]).await;
    assert_eq!(left.location(), "/console/login");
    assert_eq!(browser.get("/console/topics").await.status, StatusCode::SEE_OTHER);

    // Behind TLS the cookie does not travel without it; nobody is sent to another site.
    let page = browser.get("/console/login").await;
    let body = format!("token={ADMIN}&next=https%3A%2F%2Fevil.example&csrf={}", page.csrf());
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("x-forwarded-proto", "https")];
    let entered = browser.send(Method::POST, "/console/login", &headers, Body::from(body)).await;
    assert_eq!(entered.location(), "/console");
    assert!(entered.headers[header::SET_COOKIE].to_str().unwrap().contains("; Secure"));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_load_nothing_from_elsewhere() {
    let world = World::new().await;
    let mut browser = Browser::at_home(&world.router);
    let page = browser.get("/console").await;
    let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers[header::CACHE_CONTROL], "no-store");
    page.lacks("style=\"").lacks("onclick").lacks("http://").lacks("https://");
    for part in page.text.split(['"']).filter(|part| part.starts_with("/console/static/")) {
        let file = browser.get(part).await;
        assert_eq!(file.status, StatusCode::OK, "{part}");
        assert!(file.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert!(!file.text.is_empty());
    }
    assert_eq!(browser.get("/console/static/000000000000/secret").await.status, StatusCode::NOT_FOUND);
    let nowhere = browser.get("/console/nowhere").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
    nowhere.has("<html");
}
