//! Free ports, and whether something answers on one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Below the range from which the kernel takes ports for outgoing connections: while a test has a server
/// stopped, nobody else can get its port, and a client that keeps trying cannot connect to itself.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn free_port() -> Result<u16> {
    // Runs side by side start looking at different places.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    let offset = (nanos ^ std::process::id()) as u16 % PORTS.len() as u16;
    (0..PORTS.len() as u16)
        .map(|step| PORTS.start + (offset + step) % PORTS.len() as u16)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no free port on the loopback address")
}

/// GET / with any status but a server error.
pub(super) fn http_answers(port: u16) -> bool {
    let request = b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n";
    exchange(port, request, 12).is_ok_and(|head| head.starts_with(b"HTTP/1.") && head.get(9) == Some(&b'2'))
}

/// A metadata request (version 0, all topics) to which the broker names itself: from then on it serves.
pub(super) fn kafka_answers(port: u16) -> bool {
    #[rustfmt::skip]
    let request = [
        0, 0, 0, 14,            // length of the rest
        0, 3, 0, 0,             // metadata, version 0
        0, 0, 0, 7,             // correlation id
        0xff, 0xff,             // no client id
        0, 0, 0, 0,             // no topic named: all
    ];
    // Length, correlation id, number of brokers.
    exchange(port, &request, 12).is_ok_and(|head| head[4..8] == [0, 0, 0, 7] && head[8..12] == [0, 0, 0, 1])
}

fn exchange(port: u16, request: &[u8], answer_bytes: usize) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(request)?;
    let mut answer = vec![0; answer_bytes];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answering(answer: &'static [u8]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 18]).unwrap();
            stream.write_all(answer).unwrap();
        });
        port
    }

    #[test]
    fn a_broker_that_knows_no_broker_is_not_ready() {
        assert!(kafka_answers(answering(&[0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 1])));
        assert!(!kafka_answers(answering(&[0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 0])));
        assert!(!kafka_answers(free_port().unwrap()));
    }

    #[test]
    fn an_http_error_is_not_ready() {
        assert!(http_answers(answering(b"HTTP/1.1 200 OK\r\n")));
        assert!(!http_answers(answering(b"HTTP/1.1 503 Busy\r\n")));
    }
}
