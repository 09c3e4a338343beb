//! Downloads from the outside world, by addresses that strangers wrote.
//!
//! ```text
//! let fetcher = Fetcher::new(Options { max_bytes: 8 << 30, ..Options::default() });
//! match fetcher.get("https://user:word@shop.example/feed.xml", &Conditional::default()).await? {
//!     Answer::NotModified => …,
//!     Answer::Body(mut download) => files.receive(&mut download, limits).await, // then download.error()
//! }
//! ```
//!
//! A seller's url can name anything that this machine can reach: the cloud's metadata, a database without a password, a
//! router. So an address is looked up once, **the addresses found are judged, and the connection is made to one of
//! those** ([`address`]); there is no second look-up whose answer could differ. Every redirect begins anew at the
//! judging. Numbers written in any notation are addresses before they are judged, since the url parser normalises
//! them, and an IPv4 address inside of an IPv6 one is judged as what it is.
//!
//! What holds:
//! - only `http` and `https`; only public addresses, and networks that the operator allowed;
//! - at most `max_redirects`, `max_bytes` as they come over the wire, `idle_timeout` without a byte, `total_timeout`
//!   for everything; nothing is unpacked here, so a bomb has no effect here;
//! - a body shorter than announced is an error ([`Kind::Truncated`]), never a short file;
//! - user and password of a url go to its own host only, and stand in no error, no log and no `Debug`; neither does the
//!   query, which often holds a key.
//!
//! With a proxy the same is true: the name is resolved here, judged here, and the proxy is asked (`CONNECT`) for the
//! address, while TLS and `Host` keep the name. The proxy sees an address only, and should forbid private ranges too,
//! since its network is not ours.
//!
//! Each download has a connection of its own, over HTTP/1.1: a pool would have to remember under which judgement a
//! connection was made. Not done here: retries (callers know their patience), robots.txt, cookies, unpacking.

pub mod address;
mod connect;
mod download;
mod error;
mod get;
mod options;
mod post;
mod proxy;
mod resolve;
mod target;

pub use download::{Download, Fetched};
pub use error::{Error, Kind, Result};
pub use get::{Answer, Conditional, Fetcher};
pub use ipnet::IpNet;
pub use options::Options;
pub use proxy::Proxy;
pub use resolve::{Resolve, SystemResolver};
pub use target::shown;
