use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use crate::resolve::{Resolve, SystemResolver};
use crate::{Error, Kind, Proxy, Result};

/// What a fetcher may reach, and how much and how long it takes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Networks that may be reached though they are not public.
    pub allowed: Vec<IpNet>,
    /// Ports of public addresses that may be reached; none: all.
    pub ports: Vec<u16>,
    /// All connections go through it, if there is one.
    pub proxy: Option<Proxy>,
    pub max_redirects: usize,
    /// Most bytes of a body, as they come.
    pub max_bytes: u64,
    /// For one try to connect, TLS included.
    pub connect_timeout: Duration,
    /// Between two pieces of an answer.
    pub idle_timeout: Duration,
    /// From the first look-up to the last byte.
    pub total_timeout: Duration,
    pub user_agent: String,
    pub resolver: Arc<dyn Resolve>,
    /// Which certificates are believed; the system's authorities when not given.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            ports: Vec::new(),
            proxy: None,
            max_redirects: 5,
            max_bytes: 64 << 20,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(5),
            user_agent: concat!("dvor/", env!("CARGO_PKG_VERSION")).to_owned(),
            resolver: Arc::new(SystemResolver),
            tls: None,
        }
    }
}

impl Options {
    pub(crate) fn tls_config(&self) -> Result<Arc<rustls::ClientConfig>> {
        if let Some(config) = &self.tls {
            return Ok(config.clone());
        }
        use rustls_platform_verifier::BuilderVerifierExt as _;
        let unusable =
            |error: rustls::Error| Error::new(Kind::Options, format!("TLS cannot be set up: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_platform_verifier()
            .map_err(unusable)?
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}
