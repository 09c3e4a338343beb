//! Downloads from a server of our own, that behaves as badly as told.

#![allow(clippy::unwrap_used)]

mod forbidden;
mod limits;
mod proxy;
mod server;
mod tls;

use std::time::Duration;

use fetch::{Answer, Conditional, Fetcher, Kind, Options};
use server::{Piece, Server};

/// Reaches the loopback, where the tests' servers are.
pub(crate) fn local() -> Options {
    Options {
        allowed: vec!["127.0.0.0/8".parse().unwrap()],
        total_timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_secs(10),
        ..Options::default()
    }
}

pub(crate) async fn bytes(options: Options, url: &str) -> fetch::Result<Vec<u8>> {
    match Fetcher::new(options).get(url, &Conditional::default()).await? {
        Answer::Body(download) => download.into_bytes().await,
        Answer::NotModified => panic!("nothing was known"),
    }
}

pub(crate) async fn failure(options: Options, url: &str) -> Kind {
    let error = bytes(options, url).await.expect_err(url);
    assert!(!error.to_string().contains("secret"), "{error}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    error.kind()
}

#[tokio::test]
async fn a_body_arrives_with_its_hash_and_validators() {
    let server = Server::start(|_| {
        vec![Piece::text(
            "HTTP/1.1 200 OK\r\nETag: \"7\"\r\nLast-Modified: Mon\r\nContent-Length: 5\r\n\r\nhello",
        )]
    })
    .await;
    let fetcher = Fetcher::new(local());
    let url = server.url("/x");
    let Answer::Body(mut download) = fetcher.get(&url, &Conditional::default()).await.unwrap() else {
        panic!("a body")
    };
    let mut kept = Vec::new();
    let fetched = download.write_to(&mut kept).await.unwrap();
    assert_eq!((kept.as_slice(), fetched.bytes, fetched.hash), (&b"hello"[..], 5, blake3::hash(b"hello")));
    assert_eq!(download.validators.etag.as_deref(), Some("\"7\""));
    assert_eq!(download.validators.last_modified.as_deref(), Some("Mon"));
}

#[tokio::test]
async fn what_is_known_is_not_sent_again() {
    let server = Server::start(|head| {
        let known = head.contains("if-none-match: \"7\"") && head.contains("if-modified-since: Mon");
        let answer = if known { "304 Not Modified" } else { "500 Oh" };
        vec![Piece::text(&format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n"))]
    })
    .await;
    let known = Conditional { etag: Some("\"7\"".into()), last_modified: Some("Mon".into()) };
    let answer = Fetcher::new(local()).get(&server.url("/"), &known).await.unwrap();
    assert!(matches!(answer, Answer::NotModified));
    assert_eq!(failure(local(), &server.url("/")).await, Kind::BadStatus(500));
}

#[tokio::test]
async fn an_unasked_for_304_is_a_bad_status() {
    let server = Server::start(|_| vec![Piece::text("HTTP/1.1 304 Not Modified\r\n\r\n")]).await;
    assert_eq!(failure(local(), &server.url("/")).await, Kind::BadStatus(304));
}

#[tokio::test]
async fn credentials_go_to_their_own_host_and_into_no_error() {
    let server = Server::start(|head| {
        let sent = head.contains("authorization: Basic dXNlcjpzZWNyZXQ=");
        if let Some(rest) = head.strip_prefix("GET /away?to=") {
            return vec![Piece::redirect(rest.split(' ').next().unwrap_or_default())];
        }
        vec![Piece::text(&format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{sent}",
            sent.to_string().len()
        ))]
    })
    .await;
    let with = |path: &str| server.url(path).replacen("http://", "http://user:secret@", 1);
    assert_eq!(bytes(local(), &with("/")).await.unwrap(), b"true");
    assert_eq!(bytes(local(), &with("/away?to=/home")).await.unwrap(), b"true", "the same origin");
    let other = Server::start(|head| {
        let sent = head.to_lowercase().contains("authorization");
        vec![Piece::text(&format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{sent}",
            sent.to_string().len()
        ))]
    })
    .await;
    let away = with(&format!("/away?to={}", other.url("/")));
    assert_eq!(bytes(local(), &away).await.unwrap(), b"false", "another origin");

    let gone = with("/").replace(&server.port().to_string(), "1");
    assert_eq!(failure(local(), &gone).await, Kind::Unreachable);
    assert_eq!(failure(Options::default(), &with("/?key=secret")).await, Kind::ForbiddenAddress);
}

#[tokio::test]
async fn a_server_that_does_not_speak_http_is_unreachable() {
    let server = Server::start(|_| vec![Piece::text("+OK redis ready\r\n")]).await;
    assert_eq!(failure(local(), &server.url("/")).await, Kind::Unreachable);
}
