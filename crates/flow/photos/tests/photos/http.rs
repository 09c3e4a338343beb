//! What the routes answer.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use photos::Photos;
use photos::tables::PHOTO_URLS;
use store::Range;
use tower::ServiceExt as _;
use web::{Access, Scope};

use crate::images::{drawing, encoded, jpeg};
use crate::world::{SELLER, World, releasing, request, state};

fn router(world: &World) -> Router {
    let photos = world.photos();
    let (router, _) = photos::api::routes(100_000).split_for_parts();
    router.with_state(photos)
}

fn with(world: &World, settings: photos::Settings) -> Photos {
    let mut photos = world.photos();
    photos.settings = settings.into();
    photos
}

async fn call(
    world: &World,
    method: &str,
    path: &str,
    body: Vec<u8>,
    header: (&str, &str),
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header.0, header.1)
        .body(Body::from(body))
        .unwrap();
    request.extensions_mut().insert(Access::new("test", vec![Scope::Seller(SELLER.to_owned())]));
    answer(router(world), request).await
}

async fn answer(router: Router, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
    let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
    (parts.status, parts.headers, to_bytes(body, usize::MAX).await.unwrap().to_vec())
}

async fn get(world: &World, path: &str) -> (StatusCode, HeaderMap, Vec<u8>) {
    call(world, "GET", path, Vec::new(), ("accept", "*/*")).await
}

#[tokio::test]
async fn an_upload_is_served_in_all_sizes_and_known_to_requests() {
    let world = World::new().await;
    let original = encoded(drawing(500, 400, 1), image::ImageFormat::Png);
    let path = format!("/v1/sellers/{SELLER}/photos");
    let (status, _, body) = call(&world, "POST", &path, original, ("accept", "*/*")).await;
    assert_eq!(status, StatusCode::CREATED);
    let answer: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["width"], &answer["height"]), (&500.into(), &400.into()));
    let (hash, url) = (answer["hash"].as_str().unwrap(), answer["url"].as_str().unwrap().to_owned());

    let (status, headers, _) = get(&world, &url).await;
    assert_eq!(status, StatusCode::OK, "the url of an upload shows it");
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    for (size, width) in [("100", 100), ("400", 400), ("800", 500), ("1600", 500)] {
        let (status, headers, body) = get(&world, &format!("/photos/{hash}/{size}")).await;
        assert_eq!((status, &headers["content-type"]), (StatusCode::OK, &"image/jpeg".parse().unwrap()));
        assert_eq!(image::load_from_memory(&body).unwrap().width(), width);
        let etag = headers["etag"].to_str().unwrap();
        let again =
            call(&world, "GET", &format!("/photos/{hash}/{size}"), Vec::new(), ("if-none-match", etag)).await;
        assert_eq!((again.0, again.2.len()), (StatusCode::NOT_MODIFIED, 0));
    }

    world.receive(&request("r1", 7, &[&url])).await;
    let results = world.deliver().await;
    assert_eq!((state(&results[0].photos[0]), results[0].photos[0].hash.as_str()), ("ready", hash));
    world.check_settled("uploaded").await;
}

#[tokio::test]
async fn an_original_is_for_services_unless_the_settings_open_it() {
    let world = World::new().await;
    let brought = encoded(drawing(500, 400, 1), image::ImageFormat::Png);
    let uploaded = photos::upload(&world.photos(), SELLER, brought.clone()).await.unwrap();
    let look = async |access: Option<Scope>, settings: photos::Settings| {
        let photos = with(&world, settings);
        let (router, _) = photos::api::routes(100_000).split_for_parts();
        let mut request =
            Request::get(format!("/photos/{}/original", uploaded.hash)).body(Body::empty()).unwrap();
        if let Some(scope) = access {
            request.extensions_mut().insert(Access::new("test", vec![scope]));
        }
        answer(router.with_state(photos), request).await
    };
    let closed = photos::Settings::default;
    assert_eq!(look(None, closed()).await.0, StatusCode::NOT_FOUND);
    assert_eq!(look(Some(Scope::Seller(SELLER.to_owned())), closed()).await.0, StatusCode::NOT_FOUND);
    let (status, headers, body) = look(Some(Scope::Service), closed()).await;
    assert_eq!((status, body == brought), (StatusCode::OK, true));
    assert_eq!(headers["cache-control"], "private, max-age=31536000, immutable");
    let (status, headers, body) = look(None, photos::Settings { public_originals: true, ..closed() }).await;
    assert_eq!((status, body == brought), (StatusCode::OK, true));
    assert_eq!(headers["content-type"], "image/png");
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
}

#[tokio::test]
async fn uploads_have_a_quota_that_a_new_hour_fills() {
    let world = World::new().await;
    let settings = photos::Settings { uploads_per_hour: 3, ..photos::Settings::default() };
    let photos = with(&world, settings);
    let upload = async |seller, bytes| photos::upload(&photos, seller, bytes).await;
    upload(SELLER, jpeg(60, 40, 1)).await.unwrap();
    // What is refused has cost a decoder's time.
    upload(SELLER, b"\xff\xd8\xff".to_vec()).await.unwrap_err();
    upload(SELLER, jpeg(60, 40, 1)).await.unwrap();
    let refused = web::Problem::from(upload(SELLER, jpeg(60, 40, 2)).await.unwrap_err());
    assert_eq!((refused.code, refused.name), (web::Code::TooManyRequests, Some("quota_uploads")));
    upload("another", jpeg(60, 40, 2)).await.unwrap();
    world.clock.advance(std::time::Duration::from_hours(1));
    upload(SELLER, jpeg(60, 40, 2)).await.unwrap();

    let settings = photos::Settings { upload_bytes_per_hour: 100, ..photos::Settings::default() };
    let photos = with(&world, settings);
    let refused = web::Problem::from(photos::upload(&photos, "third", jpeg(60, 40, 1)).await.unwrap_err());
    assert_eq!(refused.name, Some("quota_bytes"));
    world.sweep().await;
    world.check_settled("quotas").await;
}

#[tokio::test]
async fn an_upload_that_nobody_names_goes_and_a_used_one_stays() {
    let world = World::new().await;
    let (unused, again) = (jpeg(60, 40, 1), jpeg(60, 40, 3));
    let photos = world.photos();
    photos::upload(&photos, SELLER, unused).await.unwrap();
    let used = photos::upload(&photos, SELLER, jpeg(60, 40, 5)).await.unwrap();
    let again_url = photos::upload(&photos, SELLER, again.clone()).await.unwrap().url;
    world.receive(&request("r1", 7, &[&used.url])).await;
    world.deliver().await;
    let day = std::time::Duration::from_hours(24);
    let look = async |days: u32, expected: &[&str]| {
        world.clock.advance(day * days);
        let now = world.clock.now();
        cluster::work::run_due(&photos::Unused(world.photos()), &[World::shard()], now).await.unwrap();
        world.deliver().await;
        world.sweep().await;
        let rows = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
        let mut urls: Vec<_> = rows.into_iter().map(|(_, _, row)| row.url).collect();
        let mut expected: Vec<_> = expected.iter().map(|url| (*url).to_owned()).collect();
        urls.sort();
        expected.sort();
        assert_eq!(urls, expected);
        world.check_settled("collected").await;
    };
    world.clock.advance(day * 20);
    photos::upload(&photos, SELLER, again).await.unwrap();
    look(11, &[&used.url, &again_url]).await;
    look(20, &[&used.url]).await;
    // It goes with its last offer.
    world.receive(&releasing(7, &[&used.url])).await;
    look(0, &[]).await;
}

#[tokio::test]
async fn strange_addresses_are_not_found() {
    let world = World::new().await;
    let uploaded = photos::upload(&world.photos(), SELLER, jpeg(60, 40, 1)).await.unwrap();
    let (hash, zeros) = (uploaded.hash, "0".repeat(64));
    let upper = hash.to_uppercase();
    for path in [
        format!("/photos/{hash}/0"),
        format!("/photos/{hash}/101"),
        format!("/photos/{hash}/+100"),
        format!("/photos/{hash}/0100"),
        format!("/photos/{hash}/4294967396"),
        format!("/photos/{hash}/ORIGINAL"),
        format!("/photos/{hash}/..%2f..%2fetc"),
        format!("/photos/{zeros}/100"),
        format!("/photos/{upper}/100"),
        "/photos/..%2f..%2fetc%2fpasswd/100".to_owned(),
        "/photos/%00/100".to_owned(),
        "/photos/x/100".to_owned(),
    ] {
        assert_eq!(get(&world, &path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(get(&world, &format!("/photos/{hash}/100")).await.0, StatusCode::OK);
}

#[tokio::test]
async fn uploads_are_checked_like_downloads_and_belong_to_their_seller() {
    let world = World::new().await;
    let own = format!("/v1/sellers/{SELLER}/photos");
    let post = async |path: &str, body| call(&world, "POST", path, body, ("accept", "*/*")).await;
    let (status, _, body) = post(&own, b"<html>".to_vec()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(String::from_utf8(body).unwrap().contains("photo_not_an_image"));
    assert_eq!(post(&own, vec![0; 100_001]).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(post("/v1/sellers/other/photos", jpeg(60, 40, 1)).await.0, StatusCode::NOT_FOUND);
    let rows = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
    assert!(rows.is_empty());
}

#[tokio::test]
async fn errors_are_told_in_pages_and_in_the_readers_language() {
    let world = World::new().await;
    let urls: Vec<String> = (0..5).map(|number| world.gallery.url(&format!("{number}.jpg"))).collect();
    world.receive(&request("r1", 7, &urls.iter().collect::<Vec<_>>())).await;
    world.work().await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/sellers/{SELLER}/photo-errors?limit=2{cursor}");
        let (status, _, body) = call(&world, "GET", &path, Vec::new(), ("accept-language", "ru")).await;
        assert_eq!(status, StatusCode::OK);
        let page: serde_json::Value = serde_json::from_slice(&body).unwrap();
        for item in page["items"].as_array().unwrap() {
            assert_eq!(
                (&item["code"], &item["message"]),
                (&"photo_not_found".into(), &"сервер фотографии ответил 404".into())
            );
            seen.push(item["url"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    seen.sort();
    assert_eq!(seen, urls);
    assert_eq!(
        get(&world, &format!("/v1/sellers/{SELLER}/photo-errors?cursor=zz")).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(get(&world, "/v1/sellers/other/photo-errors").await.0, StatusCode::NOT_FOUND);
}
