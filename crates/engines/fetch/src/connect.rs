//! From a url's host to a connection: look up once, judge, connect to what was judged.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Host;

use crate::error::causes;
use crate::target::Target;
use crate::{Error, Kind, Options, Result, address};

/// Most addresses of one host that are tried.
const MAX_TRIES: usize = 4;

pub(crate) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

pub(crate) async fn connect(
    target: &Target,
    options: &Options,
    tls: &Result<Arc<rustls::ClientConfig>>,
) -> Result<Box<dyn Connection>> {
    let mut failure = String::new();
    for address in permitted(target, options).await?.into_iter().take(MAX_TRIES) {
        let address = SocketAddr::new(address, target.port());
        match tokio::time::timeout(options.connect_timeout, open(target, address, options, tls)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = format!("no connection within {} s", options.connect_timeout.as_secs_f64()),
        }
    }
    Err(Error::new(Kind::Unreachable, format!("{target} cannot be reached: {failure}")))
}

/// The addresses of the host that may be connected to, at least one.
async fn permitted(target: &Target, options: &Options) -> Result<Vec<IpAddr>> {
    let found = match target.host() {
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![address.into()],
        Host::Domain(name) => options.resolver.resolve(name).await.map_err(|error| {
            Error::new(Kind::Unreachable, format!("the host of {target} is not known: {error}"))
        })?,
    };
    if found.is_empty() {
        return Err(Error::new(Kind::Unreachable, format!("the host of {target} has no address")));
    }
    // Mapped addresses are connected to as what they were judged as.
    let permitted: Vec<IpAddr> = found
        .into_iter()
        .map(|found| found.to_canonical())
        .filter(|found| address::is_permitted(*found, &options.allowed))
        .collect();
    if permitted.is_empty() {
        // The address itself is not told: it would describe our network to a stranger.
        let message = format!("{target} does not lead to a public address");
        return Err(Error::new(Kind::ForbiddenAddress, message));
    }
    let port = target.port();
    if options.ports.is_empty() || options.ports.contains(&port) {
        return Ok(permitted);
    }
    // Networks of our own may be reached on every port.
    let own = |address: &IpAddr| options.allowed.iter().any(|network| network.contains(address));
    let permitted: Vec<IpAddr> = permitted.into_iter().filter(own).collect();
    if permitted.is_empty() {
        let message = format!("{target}: port {port} is none that urls may name");
        return Err(Error::new(Kind::ForbiddenAddress, message));
    }
    Ok(permitted)
}

async fn open(
    target: &Target,
    address: SocketAddr,
    options: &Options,
    tls: &Result<Arc<rustls::ClientConfig>>,
) -> Result<Box<dyn Connection>, String> {
    let stream: Box<dyn Connection> = match &options.proxy {
        Some(proxy) => Box::new(proxy.tunnel(address).await?),
        None => {
            let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            // Requests are one small packet.
            let _ = stream.set_nodelay(true);
            Box::new(stream)
        }
    };
    if !target.is_tls() {
        return Ok(stream);
    }
    let name = match target.host() {
        Host::Domain(name) => {
            ServerName::try_from(name.trim_end_matches('.').to_owned()).map_err(|error| error.to_string())?
        }
        Host::Ipv4(address) => ServerName::IpAddress(IpAddr::from(address).into()),
        Host::Ipv6(address) => ServerName::IpAddress(IpAddr::from(address).into()),
    };
    let tls = tls.as_ref().map_err(ToString::to_string)?;
    let connection = TlsConnector::from(tls.clone()).connect(name, stream).await;
    connection.map(|stream| Box::new(stream) as _).map_err(|error| format!("TLS failed: {}", causes(&error)))
}
