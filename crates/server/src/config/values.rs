use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};

use super::settings::redact;

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

impl FromStr for Listen {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        numeric
            .as_deref()
            .unwrap_or(text)
            .parse()
            .map(Self)
            .map_err(|_| anyhow!("{text:?} is not an address such as 127.0.0.1:7080"))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Auto,
    Human,
    Json,
}

impl FromStr for LogFormat {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => bail!("{text:?} is not auto, human or json"),
        }
    }
}

/// A word alone must be a level: taken as the name of a module, it would silence everything else.
pub(super) fn check_level(level: String) -> Result<String> {
    let is_named =
        |part: &str| part.contains('=') || part.trim().parse::<tracing::level_filters::LevelFilter>().is_ok();
    let parses = tracing_subscriber::EnvFilter::builder().parse(&level).is_ok();
    if !parses || !level.split(',').all(is_named) {
        bail!(
            "{level:?} is not off, error, warn, info, debug or trace, alone or as MODULE=LEVEL, joined by commas"
        );
    }
    Ok(level)
}

/// The address of a collector, if one is named. TLS is left to a collector on this machine.
pub(super) fn check_collector(text: String) -> Result<Option<String>> {
    match text.strip_prefix("http://") {
        Some(host) if !host.is_empty() => Ok(Some(text)),
        None if text.is_empty() => Ok(None),
        _ => bail!("{:?} is not an address such as http://127.0.0.1:4317", redact(&text)),
    }
}

/// Networks: addresses and how many of their first bits are fixed.
pub(super) fn networks(texts: Vec<String>) -> Result<Vec<fetch::IpNet>> {
    let network =
        |text: String| text.parse().map_err(|_| anyhow!("{text:?} is not a network such as 10.1.0.0/16"));
    texts.into_iter().map(network).collect()
}

/// The proxy of downloads, if one is named. It may hold a password, so it is not repeated.
pub(super) fn proxy(text: &str) -> Result<Option<fetch::Proxy>> {
    if text.is_empty() { Ok(None) } else { Ok(Some(text.parse()?)) }
}

pub(super) fn photo_format(text: &str) -> Result<photos::Format> {
    match text {
        "jpeg" => Ok(photos::Format::Jpeg),
        "webp" => Ok(photos::Format::WebP),
        _ => bail!("{text:?} is not jpeg or webp"),
    }
}
