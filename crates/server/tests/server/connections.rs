//! Callers that hold connections and do nothing with them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::program::{Server, until};

/// Longer than the limit for headers on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(server: &Server) -> TcpStream {
    let address: SocketAddr = server.http.strip_prefix("http://").unwrap().parse().unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What comes until the server closes the connection.
fn until_closed(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection stays open: {error}"),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Nothing, the beginning of either protocol, and half a head: none of them may stay.
#[test]
fn a_connection_that_never_calls_is_closed() {
    let server = Server::start();
    let begun =
        ["", "P", "PRI * HTTP/2.0\r\n\r\nSM", "GET /healthz HTT", "GET /healthz HTTP/1.1\r\nhost: x\r\n"];
    let waiting: Vec<_> = begun
        .map(|text| {
            let mut stream = connect(&server);
            stream.write_all(text.as_bytes()).unwrap();
            std::thread::spawn(move || until_closed(stream))
        })
        .into_iter()
        .collect();
    for closed in waiting {
        closed.join().expect("it is closed");
    }
}

#[test]
fn a_head_over_32_kib_is_refused() {
    let server = Server::start();
    let ask = |bytes: usize| {
        let mut stream = connect(&server);
        let host = server.http.strip_prefix("http://").unwrap();
        let filler = "a".repeat(bytes);
        let head =
            format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx: {filler}\r\n\r\n");
        // The server may answer and close before all of it is sent.
        let _ = stream.write_all(head.as_bytes());
        until_closed(stream)
    };
    let taken = ask(30 << 10);
    assert!(taken.starts_with("HTTP/1.1 200"), "{taken}");
    let refused = ask(1 << 20);
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 431"), "{refused}");
}

#[tokio::test]
async fn one_address_does_not_take_all_places() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__CONNECTIONS_PER_ADDRESS", "8");
    });
    let held: Vec<_> = (0..8).map(|_| connect(&server)).collect();
    // The ninth is closed at once, long before the limit of silence.
    let mut ninth = connect(&server);
    let mut byte = [0];
    assert!(matches!(ninth.read(&mut byte), Ok(0) | Err(_)), "it has a place");
    drop(held);
    until("the places are given back", async || {
        let answer = server.request(reqwest::Method::GET, "/healthz").send().await;
        answer.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
}
