//! What `dvor demo` shows: three sellers whose goods come in by every format, and something that happens every few seconds.
//!
//! Nothing here is known to the systems: [`shop`] is an HTTP server on loopback, such as sellers have, with feeds
//! ([`files`]) and photos ([`picture`]) made of the sample [`goods`]; [`sellers`] says what each of the sellers does with
//! Dvor, by the same functions as the API; [`life`] lets time pass.

mod files;
mod goods;
mod life;
mod picture;
mod sellers;
mod shop;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::Result;
use kit::Tasks;

use crate::app::App;
use crate::config::Config;

pub use sellers::HELD;

/// Lets downloads reach the sellers' server on this machine, and feeds be fetched more often than in earnest.
pub fn prepare(config: &mut Config) {
    config.downloads.allowed.push(fetch::IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    config.feeds.min_period = Duration::from_secs(60);
}

/// Opens the sellers' server, brings their feeds in, and starts to let things happen.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    let shop = shop::open(tasks).await?;
    sellers::settle(&app.feeds, &shop).await?;
    tasks.spawn("demo", life::go_on(app.clone(), shop, tasks.shutdown().clone()));
    Ok(())
}
