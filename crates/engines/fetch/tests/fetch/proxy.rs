//! Through a proxy: the judged address is asked for, the name is spoken in the tunnel.

use fetch::{Kind, Options, Resolve};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::server::{Piece, Server};
use crate::{bytes, failure, local};

#[derive(Debug)]
struct Fixed(&'static str);

#[async_trait]
impl Resolve for Fixed {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![self.0.parse().unwrap()])
    }
}

/// Takes the tunnel for itself: one head asks for it, the next goes through it.
async fn tunnel() -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
    use tokio::io::AsyncWriteExt as _;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(head) = crate::server::read_head(&mut stream).await else { continue };
            let _ = sender.send(head);
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
            let answer = |head: &str| {
                let length = head.len();
                vec![Piece::text(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{head}"))]
            };
            crate::server::serve(stream, &answer).await;
        }
    });
    (port, heads)
}

#[tokio::test]
async fn the_proxy_is_asked_for_the_address_and_the_name_stays_in_the_tunnel() {
    let (port, mut heads) = tunnel().await;
    let options = Options {
        allowed: Vec::new(),
        proxy: Some(format!("http://me:word@127.0.0.1:{port}").parse().unwrap()),
        resolver: Arc::new(Fixed("9.9.9.9")),
        ..local()
    };
    let inside = String::from_utf8(bytes(options.clone(), "http://shop.example/a").await.unwrap()).unwrap();
    let outside = heads.recv().await.unwrap();
    assert!(outside.starts_with("CONNECT 9.9.9.9:80 HTTP/1.1\r\n"), "{outside}");
    assert!(outside.contains("proxy-authorization: Basic bWU6d29yZA=="), "{outside}");
    assert!(!outside.contains("shop.example"), "{outside}");
    assert!(inside.starts_with("GET /a HTTP/1.1\r\n") && inside.contains("host: shop.example"), "{inside}");
    assert!(!format!("{options:?}").contains("word"), "{options:?}");

    let private = Options { resolver: Arc::new(Fixed("10.0.0.1")), ..options };
    assert_eq!(failure(private, "http://shop.example/a").await, Kind::ForbiddenAddress);
    assert!(heads.try_recv().is_err(), "the proxy was not asked for a private address");
}

#[tokio::test]
async fn a_proxy_that_refuses_makes_the_url_unreachable() {
    let server = Server::start(|_| vec![Piece::text("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")]).await;
    let proxy = Some(format!("http://127.0.0.1:{}", server.port()).parse().unwrap());
    let options = Options { proxy, resolver: Arc::new(Fixed("9.9.9.9")), ..Options::default() };
    assert_eq!(failure(options, "http://shop.example/a").await, Kind::Unreachable);
}
