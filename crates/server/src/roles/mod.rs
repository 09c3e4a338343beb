//! What a process can do: the names of the roles, and one list of calls that starts them. The work of a role is its flow
//! crate's `start`; what belongs to no flow crate has a file here.

pub mod api;
mod files;
mod snippets;

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
    let has = |role| app.config.roles.has(role);
    // Every process that can write offers knows what stages want to hear of.
    app.stages.watch(tasks);
    if has(Role::Api) || has(Role::United) || has(Role::Silver) {
        app.silver.watch(tasks);
    }
    if has(Role::Relay) {
        tasks.spawn("relay", topics::relay::run(app.topics.clone(), tasks.shutdown().clone()));
        files::start(app, tasks).await?;
    }
    let snippets = match ports.snippets {
        Some(port) => Some(snippets::start(app, port, tasks).await?),
        None => None,
    };
    if has(Role::OffersScheduler) {
        app.offers.start(tasks).await?;
    }
    if has(Role::Photos) {
        app.photos.start(tasks).await?;
    }
    if has(Role::Stages) {
        app.stages.start(&app.config.plugins, tasks).await?;
    }
    if has(Role::FeedLoader) {
        app.feeds.start_loader(tasks);
    }
    if has(Role::FeedProcessor) {
        app.feeds.start_processor(tasks).await?;
    }
    if has(Role::United) {
        app.united.start(tasks).await?;
    }
    if has(Role::Silver) {
        app.silver.start(tasks).await?;
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
