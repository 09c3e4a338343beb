//! One url on the way: where to connect, what to ask, and how to speak of it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::{Error, Kind, Result};

/// Longest url that is followed.
const MAX_URL_BYTES: usize = 8_192;

#[derive(Clone)]
pub(crate) struct Target {
    url: Url,
    /// `Basic …`, of the url's user and password.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_URL_BYTES {
            return Err(Error::new(Kind::BadUrl, format!("the url has more than {MAX_URL_BYTES} bytes")));
        }
        let url = Url::parse(text.trim())
            .map_err(|error| Error::new(Kind::BadUrl, format!("the url cannot be read: {error}")))?;
        Self::of(url)
    }

    fn of(mut url: Url) -> Result<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            return Err(Error::new(Kind::BadUrl, format!("only http and https are fetched, not {scheme}")));
        }
        if url.host().is_none() || url.port_or_known_default().is_none_or(|port| port == 0) {
            return Err(Error::new(Kind::BadUrl, "the url has no host or no port"));
        }
        let authorization = basic(&url);
        // From here on nothing that prints the url can print these.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        Ok(Self { url, authorization })
    }

    /// Where a redirect leads. The user and password go on only to the same origin.
    pub(crate) fn follow(&self, location: &str) -> Result<Self> {
        let next = self.url.join(location).map_err(|error| {
            Error::new(Kind::BadUrl, format!("{self} leads to a url that cannot be read: {error}"))
        })?;
        if next.as_str().len() > MAX_URL_BYTES {
            return Err(Error::new(
                Kind::BadUrl,
                format!("{self} leads to a url of more than {MAX_URL_BYTES} bytes"),
            ));
        }
        let mut next = Self::of(next)?;
        if next.authorization.is_none() && next.url.origin() == self.url.origin() {
            next.authorization.clone_from(&self.authorization);
        }
        Ok(next)
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn host(&self) -> Host<&str> {
        self.url.host().unwrap_or(Host::Domain(""))
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// The value of the header `Host`.
    pub(crate) fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Path and query, as the request line has them.
    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }
}

/// Without user, password and what the query says.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, authority, path) = (self.url.scheme(), self.authority(), self.url.path());
        write!(f, "{scheme}://{authority}{path}{}", if self.url.query().is_some() { "?…" } else { "" })
    }
}

/// A url as it may be shown and logged: without user, password and what the query says.
pub fn shown(url: &str) -> String {
    Target::parse(url).map_or_else(|_| "an unreadable url".to_owned(), |target| target.to_string())
}

/// User and password of a url as a header, if it has any.
pub(crate) fn basic(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let password = url.password().unwrap_or_default();
    let pair = percent_decode_str(url.username()).chain(*b":").chain(percent_decode_str(password));
    let text = format!("Basic {}", BASE64_STANDARD.encode(pair.collect::<Vec<u8>>()));
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_notations_are_the_address_they_mean() {
        for text in [
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://１２７.０.０.１/",
            "http://127.0.0.1./",
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.host(), Host::<&str>::Ipv4([127, 0, 0, 1].into()), "{text}");
        }
    }

    #[test]
    fn only_http_and_https_are_urls() {
        for text in [
            "file:///etc/passwd",
            "ftp://a/b",
            "gopher://a:70/x",
            "data:text/plain,x",
            "javascript:1",
            "",
            "a",
            "//a/b",
            "http://",
            "http://:80/",
            "http://a:99999/",
            "http://a b/",
            "http://a:0/",
            "unix:/x",
        ] {
            assert_eq!(Target::parse(text).err().map(|error| error.kind()), Some(Kind::BadUrl), "{text}");
        }
    }

    #[test]
    fn credentials_and_queries_are_not_shown() {
        let target = Target::parse("https://us%40er:se:cret@shop.example:8443/a/b.xml?key=secret#x").unwrap();
        assert_eq!(target.to_string(), "https://shop.example:8443/a/b.xml?…");
        assert_eq!(target.path(), "/a/b.xml?key=secret");
        let sent = target.authorization.clone().unwrap();
        assert_eq!(sent.to_str().unwrap(), "Basic dXNAZXI6c2U6Y3JldA==");
        assert!(sent.is_sensitive());
        assert!(target.follow("/c").unwrap().authorization.is_some());
        assert!(target.follow("https://other.example/").unwrap().authorization.is_none());
        assert!(target.follow("http://shop.example:8443/").unwrap().authorization.is_none());
        assert!(target.follow("file:///etc/passwd").is_err());
    }
}
