//! What strangers and sellers may do to the house, asked over its ports.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::feeds::client::{Feed, goods};
use crate::program::{Server, answer};

fn name(problem: &Value) -> &str {
    problem["type"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default()
}

#[tokio::test]
async fn readyz_tells_strangers_only_yes_or_no() {
    let server = Server::start();
    let (status, open) = server.get("/readyz").await;
    assert_eq!((status.as_u16(), open["version"].is_string()), (200, true), "{open}");
    let admin = server.token("admin");
    assert_eq!(server.get("/readyz").await.1, json!({"status": "ok"}));
    assert_eq!(server.get_as("dvor_0123456789abcdef_0", "/readyz").await.1, json!({"status": "ok"}));
    let (_, told) = server.get_as(&admin, "/readyz").await;
    assert!(told["version"].is_string(), "{told}");
}

/// A body is not even read of whoever may not send it: the refusal comes while most of it is still to be sent.
#[tokio::test]
async fn a_scope_is_checked_before_the_body() {
    let server = Server::start();
    let seller = server.token("seller:a");
    for (path, expected) in
        [("/v1/sellers/b/photos", "404"), ("/v1/topics/moderation.opinions/records", "403")]
    {
        let address = server.http.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {seller}\r\ncontent-type: application/json\r\ncontent-length: 4000000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = [0; 12];
        stream.read_exact(&mut line).expect("an answer comes before the body");
        assert_eq!(std::str::from_utf8(&line).unwrap(), format!("HTTP/1.1 {expected}"), "{path}");
    }
}

#[tokio::test]
async fn bodies_in_flight_have_a_budget() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__BODIES_BYTES", "4000000");
    });
    let token = server.token("service");
    let post = async |bytes: usize| {
        let body = json!({"records": [{"key": "k", "value": "x".repeat(bytes)}]});
        answer(server.request(Method::POST, "/v1/topics/none/records").bearer_auth(&token).json(&body)).await
    };
    assert_ne!(post(100_000).await.0, 429);
    let (status, refused) = post(2_000_000).await;
    assert_eq!(
        (status.as_u16(), name(&refused)),
        (429, "bodies_in_flight"),
        "a quarter is a caller's: {refused}"
    );
    assert_ne!(post(100_000).await.0, 429, "what was refused is given back");
}

#[tokio::test]
async fn a_form_of_a_stranger_is_short() {
    let server = Server::start();
    server.token("admin");
    let login = async |bytes: usize| {
        let body = format!("token={}", "x".repeat(bytes));
        let request = server.request(Method::POST, "/console/login");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(login(10).await, 403, "it has no CSRF token");
    assert_eq!(login(70_000).await, 413);
}

#[tokio::test]
async fn numbers_and_texts_of_a_feed_are_bounded() {
    let server = Server::start();
    let put = async |body: Value| {
        answer(server.request(Method::PUT, "/v1/sellers/shop/feeds/default").json(&body)).await
    };
    for (field, value) in [
        ("period_minutes", json!(4_611_686_018_427_387_904_i64)),
        ("period_minutes", json!(0)),
        ("guard_percent", json!(101)),
        ("webhook_secret", json!("x".repeat(257))),
        ("currency", json!("x".repeat(17))),
        ("address", json!("x".repeat(513))),
    ] {
        let (status, refused) = put(json!({field: value})).await;
        assert_eq!((status.as_u16(), &refused["errors"][0]["field"]), (422, &json!(field)), "{refused}");
    }
    let longest = json!({"period_minutes": 527_040, "webhook_secret": "x".repeat(256), "currency": "RUB"});
    assert_eq!(put(longest).await.0, 200);
}

#[tokio::test]
async fn fetches_and_reruns_have_quotas() {
    let server = Server::start_with(|command| {
        command.env("DVOR_FEEDS__FETCHES_PER_HOUR", "2").env("DVOR_FEEDS__RERUNS_PER_HOUR", "1");
    });
    let feed = "/v1/sellers/shop/feeds/default";
    let url = json!({"url": "http://192.0.2.1/feed.xml"});
    assert_eq!(answer(server.request(Method::PUT, feed).json(&url)).await.0, 200);
    let fetch = async || server.post(&format!("{feed}/fetch"), Value::Null).await;
    assert_eq!([fetch().await.0.as_u16(), fetch().await.0.as_u16()], [202, 202]);
    let (status, refused) = fetch().await;
    assert_eq!((status.as_u16(), name(&refused)), (429, "quota_fetches"), "{refused}");

    Feed::of(&server, "files").load(&goods([(1, 100)])).await;
    let rerun = async || server.post("/v1/sellers/shop/feeds/files/tasks/1/rerun", Value::Null).await;
    assert_eq!(rerun().await.0, 202);
    let (status, refused) = rerun().await;
    assert_eq!((status.as_u16(), name(&refused)), (429, "quota_reruns"), "{refused}");
}

#[tokio::test]
async fn a_feed_that_a_service_collected_is_not_its_sellers_to_change() {
    let server = Server::start();
    let (service, seller) = (server.token("service"), server.token("seller:shop"));
    let feed = "/v1/sellers/shop/feeds/parsed:site";
    let call = async |token: &str, method: Method, path: &str| {
        let body = json!({"guard_percent": 10});
        answer(server.request(method, path).bearer_auth(token).json(&body)).await.0.as_u16()
    };
    assert_eq!(call(&seller, Method::PUT, feed).await, 403);
    assert_eq!(call(&service, Method::PUT, feed).await, 200);
    for verb in ["pause", "resume", "fetch"] {
        assert_eq!(call(&seller, Method::POST, &format!("{feed}/{verb}")).await, 403, "{verb}");
    }
    assert_eq!(call(&seller, Method::DELETE, &format!("{feed}?offers=delete")).await, 403);
    assert_eq!(server.get_as(&seller, feed).await.0, 200, "they may look at it");
}

/// Uploads are refused while there is still room for what matters.
#[tokio::test]
async fn a_token_can_be_revoked_when_there_is_no_room_for_files() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__FILES_RESERVE_BYTES", (1_u64 << 60).to_string());
    });
    let (admin, seller) = (server.token("admin"), server.token("seller:shop"));
    let upload = server.request(Method::POST, "/v1/sellers/shop/feeds/default/uploads").bearer_auth(&seller);
    let (status, refused) = answer(upload.body("<feed version=\"1\"/>")).await;
    assert_eq!((status.as_u16(), name(&refused)), (507, "storage_full"), "{refused}");
    let id = seller.split('_').nth(1).unwrap();
    let revoke = server.request(Method::DELETE, &format!("/v1/admin/tokens/{id}")).bearer_auth(&admin);
    assert!(answer(revoke).await.0.is_success());
}

#[tokio::test]
async fn a_backup_is_for_nobody_else() {
    let server = Server::start();
    let file = server.data.path().join("monday.backup");
    let made = server.command(&["backup", file.to_str().unwrap()]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}
