use std::fmt;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Turns a host's name into addresses. Asked once per connection; what it answers is judged and then connected to.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's look-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
