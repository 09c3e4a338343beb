//! What the routes answer.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use photos::tables::PHOTO_URLS;
use store::Range;
use tower::ServiceExt as _;
use web::{Access, Scope};

use crate::images::{drawing, encoded, jpeg};
use crate::world::{SELLER, World, request, state};

fn router(world: &World) -> Router {
    let photos = world.photos();
    let (router, _) = photos::api::http::routes(100_000).split_for_parts();
    router.with_state(photos)
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
    let response = router(world).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
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
    let (status, _, body) = call(&world, "POST", &path, original.clone(), ("accept", "*/*")).await;
    assert_eq!(status, StatusCode::CREATED);
    let answer: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["width"], &answer["height"]), (&500.into(), &400.into()));
    let (hash, url) = (answer["hash"].as_str().unwrap(), answer["url"].as_str().unwrap().to_owned());

    let (status, headers, body) = get(&world, &url).await;
    assert_eq!((status, body), (StatusCode::OK, original));
    assert_eq!(headers["content-type"], "image/png");
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
