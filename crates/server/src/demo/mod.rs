//! What `dvor demo` shows: three sellers whose goods come in by every format, and something that happens every few seconds.
//!
//! Nothing here is known to the systems: [`shop`] is an HTTP server on loopback, such as sellers have, with feeds
//! ([`files`]) and photos ([`picture`]) made of the sample [`goods`]; [`sellers`] says what each of the sellers does with
//! Dvor, by the same functions as the API, [`businesses`] whose shops have their goods, [`stage`] a stage of another
//! program; [`life`] lets time pass.

mod businesses;
mod files;
mod goods;
mod life;
mod picture;
mod sellers;
mod shop;
mod stage;

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kit::Tasks;

use crate::app::App;
use crate::config::Config;

pub use businesses::CHOSEN;
pub use sellers::HELD;

/// Lets downloads reach the sellers' server on this machine, which also knows their videos, and feeds be fetched more often
/// than in earnest. Gives the port of that server.
pub fn prepare(config: &mut Config) -> Result<TcpListener> {
    let shop = TcpListener::bind("127.0.0.1:0").context("a port for the sample sellers' server")?;
    let address = shop.local_addr().context("its address")?;
    let provider = format!("127.0.0.1 = http://{address}/oembed");
    config.video_providers.push(provider.parse().map_err(anyhow::Error::msg)?);
    config.downloads.allowed.push(fetch::IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    config.feeds.min_period = Duration::from_secs(60);
    Ok(shop)
}

/// Opens the sellers' server, brings their feeds in, and starts to let things happen.
pub async fn start(app: &App, shop: TcpListener, tasks: &Tasks) -> Result<()> {
    stage::open(app, tasks).await?;
    let shop = shop::open(shop, tasks)?;
    sellers::settle(&app.feeds, &shop).await?;
    businesses::settle(app).await?;
    tasks.spawn("demo migration", businesses::migrate(app.clone(), tasks.shutdown().clone()));
    tasks.spawn("demo", life::go_on(app.clone(), shop, tasks.shutdown().clone()));
    Ok(())
}
