//! Bodies that are too long, too slow or too short, and redirects without end.

use std::time::Duration;

use fetch::{Kind, Options};

use crate::server::{Piece, Server};
use crate::{failure, local};

const OK: &str = "HTTP/1.1 200 OK\r\n";

async fn check(script: impl Fn() -> Vec<Piece> + Send + Sync + 'static, options: Options, kind: Kind) {
    let server = Server::start(move |_| script()).await;
    assert_eq!(failure(options, &server.url("/x?key=secret")).await, kind);
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    let small = || Options { max_bytes: 100_000, ..local() };
    let endless = || vec![Piece::text(OK), Piece::text("\r\n"), Piece::Forever(vec![7; 4096])];
    check(endless, small(), Kind::TooLarge).await;
    let chunked = || {
        let chunk = [b"1000\r\n".as_slice(), &[7; 4096], b"\r\n"].concat();
        vec![Piece::text(OK), Piece::text("Transfer-Encoding: chunked\r\n\r\n"), Piece::Forever(chunk)]
    };
    check(chunked, small(), Kind::TooLarge).await;
    let announced = || vec![Piece::text(OK), Piece::text("Content-Length: 100001\r\n\r\n"), Piece::Hang];
    check(announced, small(), Kind::TooLarge).await;
}

#[tokio::test]
async fn an_endless_head_is_no_answer() {
    check(|| vec![Piece::text(OK), Piece::Forever(b"a: b\r\n".to_vec())], local(), Kind::Unreachable).await;
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_an_error() {
    let short = || vec![Piece::text(OK), Piece::text("Content-Length: 10\r\n\r\n123456789")];
    check(short, local(), Kind::Truncated).await;
    let chunked = || vec![Piece::text(OK), Piece::text("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")];
    check(chunked, local(), Kind::Truncated).await;
}

#[tokio::test]
async fn silence_ends_by_the_idle_limit() {
    let impatient = || Options { idle_timeout: Duration::from_millis(50), ..local() };
    check(|| vec![Piece::Hang], impatient(), Kind::IdleTimeout).await;
    let half = || vec![Piece::text(OK), Piece::text("Content-Length: 10\r\n\r\n12345"), Piece::Hang];
    check(half, impatient(), Kind::IdleTimeout).await;
}

#[tokio::test]
async fn what_comes_without_end_ends_by_the_total_limit() {
    let hurried = || Options { total_timeout: Duration::from_millis(80), max_bytes: u64::MAX, ..local() };
    let endless = || vec![Piece::text(OK), Piece::text("\r\n"), Piece::Forever(vec![7; 512])];
    check(endless, hurried(), Kind::TotalTimeout).await;
    check(|| vec![Piece::Hang], hurried(), Kind::TotalTimeout).await;
}

#[tokio::test]
async fn redirects_end() {
    let server = Server::start(|_| vec![Piece::redirect("/again")]).await;
    assert_eq!(failure(local(), &server.url("/")).await, Kind::TooManyRedirects);
    assert_eq!(server.asked(), 6, "the first request and five redirects");
    let nowhere = || vec![Piece::text("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n")];
    check(nowhere, local(), Kind::BadStatus(301)).await;
}

#[tokio::test]
async fn other_statuses_are_told() {
    for status in [201, 204, 206, 400, 401, 404, 410, 429, 503] {
        let script = move || vec![Piece::text(&format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"))];
        check(script, local(), Kind::BadStatus(status)).await;
    }
}
