//! Nothing leads to an address that is not public.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fetch::{Kind, Options, Resolve};

use crate::server::{Piece, Server};
use crate::{bytes, failure, local};

#[tokio::test]
async fn no_notation_of_a_private_address_is_connected_to() {
    let server = Server::start(|_| vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]).await;
    let port = server.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7F.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "１２７.０.０.１",
        "127。0。0。1",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "100.100.100.200",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "[fd00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[ff02::1]",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        let kind = failure(Options::default(), &format!("http://{host}:{port}/")).await;
        assert_eq!(kind, Kind::ForbiddenAddress, "{host}");
    }
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_url() {
    let inner = Server::start(|_| vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]).await;
    for (to, kind) in [
        (format!("http://127.0.0.2:{}/", inner.port()), Kind::ForbiddenAddress),
        (format!("http://[::ffff:127.0.0.2]:{}/", inner.port()), Kind::ForbiddenAddress),
        (format!("//2130706434:{}/", inner.port()), Kind::ForbiddenAddress),
        ("http://169.254.169.254/latest/meta-data/".into(), Kind::ForbiddenAddress),
        ("file:///etc/passwd".into(), Kind::BadUrl),
        ("ftp://127.0.0.1/".into(), Kind::BadUrl),
        ("http://".into(), Kind::BadUrl),
    ] {
        let location = to.clone();
        let server = Server::start(move |_| vec![Piece::redirect(&location)]).await;
        // Only the redirecting server's own address is open.
        let options = Options { allowed: vec!["127.0.0.1/32".parse().unwrap()], ..local() };
        assert_eq!(failure(options, &server.url("/")).await, kind, "{to}");
    }
    assert_eq!(inner.asked(), 0);
}

/// Answers each question with the next list.
#[derive(Debug)]
struct Changing {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolve for Changing {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers[at.min(self.answers.len() - 1)].clone())
    }
}

fn changing(answers: &[&[&str]]) -> Arc<Changing> {
    let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
    Arc::new(Changing { answers: answers.iter().map(parse).collect(), asked: AtomicUsize::new(0) })
}

/// Rebinding: the first answer is harmless, the second is not. There is no second question.
#[tokio::test]
async fn a_name_is_looked_up_once_and_its_judged_address_connected_to() {
    let server = Server::start(|head| {
        assert!(head.to_lowercase().contains("host: shop.example"), "{head}");
        vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
    })
    .await;
    let resolver = changing(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let options =
        Options { allowed: vec!["127.0.0.1/32".parse().unwrap()], resolver: resolver.clone(), ..local() };
    let url = format!("http://shop.example:{}/", server.port());
    assert_eq!(bytes(options.clone(), &url).await.unwrap(), b"ok");
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);
    assert_eq!(failure(options, &url).await, Kind::ForbiddenAddress, "the name now leads elsewhere");
}

#[tokio::test]
async fn of_several_addresses_only_permitted_ones_are_tried() {
    let server = Server::start(|_| vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]).await;
    let allowed = vec!["127.0.0.1/32".parse().unwrap()];
    let with =
        |answers: &[&[&str]]| Options { allowed: allowed.clone(), resolver: changing(answers), ..local() };
    let url = format!("http://shop.example:{}/", server.port());
    let mixed = with(&[&["10.0.0.1", "::1", "::ffff:127.0.0.1"]]);
    assert_eq!(bytes(mixed, &url).await.unwrap(), b"ok");
    assert_eq!(
        failure(with(&[&["10.0.0.1", "fd00::1", "64:ff9b::7f00:1"]]), &url).await,
        Kind::ForbiddenAddress
    );
    assert_eq!(failure(with(&[&[]]), &url).await, Kind::Unreachable);
    assert_eq!(server.asked(), 1);
}

/// Urls of sellers are no way to knock at every port of the internet. The proxy is none: nothing leaves the machine.
#[tokio::test]
async fn only_the_ports_that_are_allowed_are_reached() {
    let proxy = Some("http://127.0.0.1:9".parse().unwrap());
    let options = Options { ports: vec![80, 443], proxy, ..Options::default() };
    for (url, expected) in [
        ("http://8.8.8.8:25/", Kind::ForbiddenAddress),
        ("https://8.8.8.8:22/", Kind::ForbiddenAddress),
        ("http://8.8.8.8/", Kind::Unreachable),
        ("https://8.8.8.8/", Kind::Unreachable),
    ] {
        assert_eq!(failure(options.clone(), url).await, expected, "{url}");
    }
    // A network that was opened is open on every port.
    let server = Server::start(|_| vec![Piece::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]).await;
    let own = Options { ports: vec![80], ..local() };
    assert_eq!(bytes(own, &server.url("/")).await.unwrap(), b"ok");
}
