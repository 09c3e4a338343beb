use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::program::{Server, answer, dvor, run, until};

#[tokio::test]
async fn each_scope_opens_its_own_rooms() {
    let server = Server::start();
    assert_eq!(server.get("/v1/admin/tokens").await.0, 200, "without a token on loopback all is open");
    let admin = server.token("admin");
    let (service, seller) = (server.token("service"), server.token("seller:north-tools"));
    let rooms = ["/healthz", "/readyz", "/metrics", "/v1/topics", "/v1/admin/tokens", "/v1/admin/cluster"];
    let check = async |token: Option<&str>, expected: [u16; 6]| {
        for (room, status) in rooms.into_iter().zip(expected) {
            let request = server.request(Method::GET, room);
            let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
            assert_eq!(answer(request).await.0.as_u16(), status, "{room} with {token:?}");
        }
    };
    check(None, [200, 200, 401, 401, 401, 401]).await;
    check(Some("dvor_0123_4567"), [200, 200, 401, 401, 401, 401]).await;
    check(Some("nonsense"), [200, 200, 401, 401, 401, 401]).await;
    check(Some(&seller), [200, 200, 403, 403, 403, 403]).await;
    check(Some(&service), [200, 200, 200, 200, 403, 403]).await;
    check(Some(&admin), [200, 200, 200, 200, 200, 200]).await;

    let refused = server.request(Method::GET, "/v1/topics").send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    let stored = server.command(&["table", "scan", "access.tokens", "--json"]).out;
    assert!(stored.contains("north-tools") && !stored.contains("secret"), "{stored}");
}

#[tokio::test]
async fn a_revoked_token_is_refused_and_the_doors_stay_closed() {
    let server = Server::start();
    let admin = server.token("admin");
    assert_eq!(server.get_as(&admin, "/v1/topics").await.0, 200);
    let id = admin.split('_').nth(1).unwrap();
    assert_eq!(server.command(&["token", "revoke", id]).code, 0);
    let began = Instant::now();
    until("the token is refused", async || server.get_as(&admin, "/v1/topics").await.0 == 401).await;
    assert!(began.elapsed() < Duration::from_secs(5), "a revoked token still works");
    assert_eq!(server.get("/v1/topics").await.0, 401);
    server.command(&["token", "revoke", "0000"]).refused(3, &["there is no access token"]);

    let acts = server.command(&["table", "scan", "access.audit", "--json"]).out;
    for act in ["token.create", "token.revoke", "local command", id] {
        assert!(acts.contains(act), "{act} is not in {acts}");
    }
}

#[tokio::test]
async fn a_web_page_gets_nowhere() {
    let server = Server::start();
    let port = server.http.rsplit(':').next().unwrap();
    let call = async |name: &str, value: String| {
        answer(server.request(Method::GET, "/v1/topics").header(name, value)).await.0.as_u16()
    };
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        assert_eq!(call("host", format!("{host}:{port}")).await, 200, "{host}");
    }
    for host in [format!("rebound.example:{port}"), "localhost".to_owned(), "localhost:1".to_owned()] {
        assert_eq!(call("host", host.clone()).await, 403, "{host}");
    }
    assert_eq!(call("origin", format!("http://localhost:{port}")).await, 200);
    for origin in ["http://evil.example", "null", "http://localhost:3000"] {
        assert_eq!(call("origin", origin.to_owned()).await, 403, "{origin}");
    }
    assert_eq!(call("sec-fetch-site", "cross-site".to_owned()).await, 403);
    // A proxy on this machine speaks for others.
    for header in ["x-forwarded-for", "forwarded", "via"] {
        assert_eq!(call(header, "198.51.100.7".to_owned()).await, 403, "{header}");
    }
    // With a token a reverse proxy may use its own name.
    let token = server.token("service");
    let request =
        server.request(Method::GET, "/v1/topics").header("host", "dvor.example").header("via", "1.1 proxy");
    let request = request.bearer_auth(&token);
    assert_eq!(answer(request).await.0, 200);
}

#[tokio::test]
async fn beyond_loopback_a_token_is_needed_first() {
    let data = tempfile::tempdir().unwrap();
    let serve = |http: &str, grpc: &str| {
        run(dvor().args(["serve", "--http", http, "--grpc", grpc, "--data"]).arg(data.path()))
    };
    serve("0.0.0.0:0", "127.0.0.1:0").refused(2, &["--http", "dvor token create"]);
    serve("127.0.0.1:0", "[::]:0").refused(2, &["--grpc", "dvor token create"]);
    assert!(!data.path().join("dvor.json").exists());
    let made = run(dvor().args(["token", "create", "--scope", "admin", "--data"]).arg(data.path()));
    assert_eq!(made.code, 0, "{made:?}");
    let server = Server::start_in(data, |command| {
        command.args(["--http", "0.0.0.0:0", "--grpc", "[::]:0"]);
    });
    assert_eq!(server.get("/healthz").await.0, 200);
    assert_eq!(server.get("/v1/topics").await.0, 401);
    assert_eq!(server.get_as(made.out.trim(), "/v1/topics").await.0, 200);
    assert_eq!(server.command(&["token", "list"]).code, 0);
}

#[tokio::test]
async fn a_token_that_calls_too_often_is_told_to_wait() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__REQUESTS_PER_SECOND", "1").env("DVOR_LIMITS__REQUESTS_BURST", "3");
    });
    let (busy, other) = (server.token("service"), server.token("service"));
    // One call a second and three at once: these would need a minute to be let through.
    let calls = (0..60).map(|_| server.request(Method::GET, "/v1/topics").bearer_auth(&busy).send());
    let answers: Vec<_> = futures::future::join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status() == 200);
    assert!(taken.len() >= 3, "{answers:?}");
    assert!(!refused.is_empty(), "{answers:?}");
    for answer in refused {
        assert_eq!(answer.status(), 429);
        assert_eq!(answer.headers()["retry-after"], "1");
    }
    assert_eq!(server.get_as(&other, "/v1/topics").await.0, 200);
    let made = server.post("/v1/admin/tokens", json!({"name": "n", "scopes": ["admin"]})).await;
    assert_eq!(made.0, 401);
}
