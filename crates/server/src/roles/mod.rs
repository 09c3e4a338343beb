//! What a process can do. Each role is one file with a function that starts its work; a new role is a new file, a name in
//! [`Role`] and a line in [`start`].

pub mod api;
mod feed_loader;
mod feed_processor;
mod files;
mod offers_scheduler;
mod photos;
mod relay;
mod silver;
mod snippets;
mod stages;
mod united;

use std::fmt;

use anyhow::{Result, bail};
use kit::Tasks;

use crate::app::App;
use crate::config::closest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Serves HTTP and gRPC.
    Api,
    /// Carries the outboxes of all systems to the topics, and clears files away that nobody holds.
    Relay,
    /// Serves snippets on their own port, and makes them from topics.
    Snippets,
    /// Loads, moderates, expires and archives offers.
    OffersScheduler,
    /// Fetches and keeps the photos of offers.
    Photos,
    /// Runs stages on offers that changed, or whose time has come.
    Stages,
    /// Fetches the feeds that have a url.
    FeedLoader,
    /// Makes loads into batches for the offers, reads their results, tells of them and forgets them.
    FeedProcessor,
    /// Makes united offers of the offers of mapped sellers, ships what changed, and moves offers between businesses.
    United,
    /// Imports what united ships, makes gold of it and tells ERP.
    Silver,
}

impl Role {
    pub const ALL: [Self; 10] = [
        Self::Api,
        Self::Relay,
        Self::Snippets,
        Self::OffersScheduler,
        Self::Photos,
        Self::Stages,
        Self::FeedLoader,
        Self::FeedProcessor,
        Self::United,
        Self::Silver,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Relay => "relay",
            Self::Snippets => "snippets",
            Self::OffersScheduler => "offers-scheduler",
            Self::Photos => "photos",
            Self::Stages => "stages",
            Self::FeedLoader => "feed-loader",
            Self::FeedProcessor => "feed-processor",
            Self::United => "united",
            Self::Silver => "silver",
        }
    }
}

/// Starts the work of all roles of this process.
pub async fn start(app: &App, ports: Ports, tasks: &Tasks) -> Result<()> {
    stages::watch_registry(app, tasks);
    silver::watch(app, tasks);
    if app.config.roles.has(Role::Relay) {
        relay::start(app, tasks);
        files::start(app, tasks).await?;
    }
    let snippets = match ports.snippets {
        Some(port) => Some(snippets::start(app, port, tasks).await?),
        None => None,
    };
    if app.config.roles.has(Role::OffersScheduler) {
        offers_scheduler::start(app, tasks).await?;
    }
    if app.config.roles.has(Role::Photos) {
        photos::start(app, tasks).await?;
    }
    if app.config.roles.has(Role::Stages) {
        stages::start(app, tasks).await?;
    }
    if app.config.roles.has(Role::FeedLoader) {
        feed_loader::start(app, tasks);
    }
    if app.config.roles.has(Role::FeedProcessor) {
        feed_processor::start(app, tasks).await?;
    }
    if app.config.roles.has(Role::United) {
        united::start(app, tasks).await?;
    }
    if app.config.roles.has(Role::Silver) {
        silver::start(app, tasks).await?;
    }
    // The ports come last: whoever finds them open finds everything behind them.
    api::start(app, ports.http, ports.grpc, snippets, tasks).await
}

/// The addresses that a process listens on.
pub struct Ports {
    pub http: api::Taken,
    pub grpc: api::Taken,
    /// Only with the role `snippets`.
    pub snippets: Option<api::Taken>,
}

/// The roles of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(Vec<Role>);

impl Roles {
    pub fn parse(names: &[String]) -> Result<Self> {
        if names.is_empty() {
            bail!("a process needs at least one role, or \"all\"");
        }
        if names.iter().any(|name| name == "all") {
            return Ok(Self(Role::ALL.to_vec()));
        }
        let mut roles = Vec::new();
        for name in names {
            let Some(role) = Role::ALL.into_iter().find(|role| role.name() == name) else {
                let known = Role::ALL.map(Role::name);
                match closest(name, known, 0.7) {
                    Some(like) => bail!("there is no role {name:?}; did you mean {like:?}?"),
                    None => bail!("there is no role {name:?}; the roles are all, {}", known.join(", ")),
                }
            };
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Ok(Self(roles))
    }

    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    pub fn is_all(&self) -> bool {
        Role::ALL.into_iter().all(|role| self.has(role))
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|role| role.name()).collect::<Vec<_>>().join(", "))
    }
}
