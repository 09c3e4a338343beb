use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::future::RouteFuture;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use kit::Shutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tower::Service as _;

use super::crowd::Crowd;
use crate::cli::exit::{self, Failure};
use crate::config::{Limits, Listen};

/// A client that is slower than this with its headers is let go; so is one that never begins.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(15);
/// Largest head of a request.
const MAX_HEADER_BYTES: u32 = 32 << 10;
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// An idle connection is asked after this whether its other end is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// A client that takes nothing of its answer for this long is let go.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// After an error that is not one connection's own (no file descriptors), before the next try.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What becomes of a call whose caller went away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Abandoned {
    /// It is dropped where it stands. To notice takes a buffer for every call under way.
    Dropped,
    /// It is finished: all are short.
    Finished,
}

/// Where a call comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Takes an address; `flag` is the one that changes it.
pub async fn bind(listen: Listen, flag: &str) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(listen.0).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Failure::of(
            exit::UNAVAILABLE,
            format!(
                "port {} of {} is in use by another process: stop it, or choose another address with {flag} \
                 (port 0 takes a free one)",
                listen.0.port(),
                listen.0.ip()
            ),
        ),
        _ => Failure::of(exit::FAILED, format!("{flag} {listen} cannot be listened on: {error}")),
    })?;
    let address = listener.local_addr().context("the address of a listener")?;
    Ok((listener, address))
}

/// The calls of a router.
pub fn routed(router: Router) -> impl Fn(Request) -> RouteFuture<Infallible> + Clone {
    move |request| router.clone().call(request)
}

/// Serves connections until the shutdown is called, and then finishes the calls under way, with the given patience.
pub async fn serve<C, A>(
    listener: TcpListener,
    calls: C,
    abandoned: Abandoned,
    limits: Limits,
    shutdown: Shutdown,
) where
    C: Fn(Request) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Response, Infallible>> + Send + 'static,
{
    let graceful = GracefulShutdown::new();
    let (server, room) = (Arc::new(protocols(abandoned)), Arc::new(Semaphore::new(limits.connections)));
    let crowd = Crowd::new(limits.connections_per_address, limits.trusted_proxies.clone());
    loop {
        // When all connections are taken, new ones wait in the system's queue.
        let next = async { (room.clone().acquire_owned().await, listener.accept().await) };
        let (place, accepted) = tokio::select! {
            () = shutdown.called() => break,
            next = next => next,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(guest) = crowd.enter(peer.ip()) else {
            tracing::debug!(%peer, "a connection is refused: its address has too many");
            continue;
        };
        tune(&stream);
        let (server, calls, watcher) = (server.clone(), calls.clone(), graceful.watcher());
        tokio::spawn(async move {
            let called = Arc::new(Notify::new());
            let first_call = called.clone();
            let service =
                hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                    called.notify_one();
                    let mut request = request.map(axum::body::Body::new);
                    request.extensions_mut().insert(Peer(peer));
                    calls(request)
                });
            let connection = server.serve_connection(TokioIo::new(stream), service);
            let served = watcher.watch(connection.into_owned());
            tokio::select! {
                served = served => if let Err(error) = served {
                    tracing::debug!("a connection ended: {error}");
                },
                () = silence(&first_call) => tracing::debug!(%peer, "a connection never called and is closed"),
            }
            drop((place, guest));
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.shutdown, graceful.shutdown()).await.is_err() {
        tracing::warn!("some calls had not ended after {:?} and are cut off", limits.shutdown);
    }
}

/// How both versions of the protocol are spoken.
fn protocols(abandoned: Abandoned) -> auto::Builder<TokioExecutor> {
    let finished = abandoned == Abandoned::Finished;
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES as usize)
        .half_close(finished)
        // Short calls have short answers: to send one in two pieces takes longer than to put them together.
        .writev(!finished);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .max_header_list_size(MAX_HEADER_BYTES);
    server
}

/// Ends when no call came in time. The server's own limit begins only with the first byte of a known protocol.
async fn silence(first_call: &Notify) {
    if tokio::time::timeout(HEADERS_TIMEOUT, first_call.notified()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

/// A socket that refuses works all the same.
fn tune(stream: &TcpStream) {
    // Small answers should not wait for more to send.
    let _ = stream.set_nodelay(true);
    let socket = socket2::SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(KEEP_ALIVE));
    // Also ends a connection whose other end is there and reads nothing.
    let _ = socket.set_tcp_user_timeout(Some(WRITE_TIMEOUT));
}
