//! What people see: pages about sellers, feeds, loads, offers, stages, snippets, master data, topics and processes.
//!
//! The pages are made here, on the server, and work without JavaScript for reading; `static/console.js` adds progress that
//! moves, drag and drop, and times in the reader's own zone. Nothing is fetched from outside, nothing is written inline:
//! the content security policy forbids both.
//!
//! - A page asks the read functions of the flow crates and never their tables; a form calls the same verbs as the API.
//! - **Who sees what** is [`web::Access`], asked by every page as by every route of the API. A session is a cookie with the
//!   access token itself, which only the console reads, so revoking the token ends the session; there is nothing to store
//!   and nothing to expire on the server. Where the door is open (loopback, no token ever made) everybody is let in.
//! - **Every request that is not a GET** needs the page's CSRF token, checked in one place ([`session`]) before any page
//!   is reached. It is derived from the session's cookie, so it needs no storage either.
//! - Texts are given in both languages where they are used (`visit.say("…", "…")`), so that none can be forgotten.
//! - What sellers wrote is put in by maud, which escapes it, inside of `bdi`, which keeps its direction to itself.
//!
//! Not here: listening, verifying tokens, audit. The server lends those ([`Doors`]).

mod assets;
mod charts;
pub mod decode;
mod failures;
mod frame;
mod pages;
mod rates;
mod session;
mod visit;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::middleware::from_fn_with_state;
use cluster::Cluster;
use feeds::Feeds;
use kit::Clock;
use offers::Offers;
use silver::Silver;
use snippets::Snippets;
use stages::Stages;
use topics::Topics;
use web::{Access, Result};

pub use session::{CSRF_HEADER, SESSION_COOKIE};

/// Everything of the console lies below it.
pub const PREFIX: &str = "/console";

/// What the server lends to the console.
#[async_trait]
pub trait Doors: Send + Sync {
    /// What an access token allows.
    async fn verify(&self, token: &str) -> Result<Access>;

    /// Notes what an admin is about to do.
    async fn audit(&self, access: &Access, what: &str, whom: &str) -> Result<()>;
}

/// What the pages stand on.
pub struct Parts {
    pub feeds: Feeds,
    pub offers: Offers,
    pub stages: Stages,
    /// `None` in a process without the role.
    pub snippets: Option<Snippets>,
    pub silver: Silver,
    pub topics: Topics,
    pub cluster: Cluster,
    pub clock: Clock,
    pub doors: Arc<dyn Doors>,
}

/// The state of all pages. Clones share it.
#[derive(Clone)]
pub(crate) struct Console(Arc<Inner>);

pub(crate) struct Inner {
    parts: Parts,
    rates: rates::Rates,
}

impl std::ops::Deref for Console {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0.parts
    }
}

impl Console {
    pub(crate) fn rates(&self) -> &rates::Rates {
        &self.0.rates
    }
}

/// The routes of the console, to be put behind the server's door. That lets them pass without an [`Access`] where a token
/// is needed; the session brings it.
pub fn router(parts: Parts) -> Router {
    let console = Console(Arc::new(Inner { parts, rates: rates::Rates::default() }));
    pages::routes()
        .layer(from_fn_with_state(console.clone(), session::admit))
        .merge(assets::routes())
        .layer(axum::middleware::from_fn(frame::headers))
        .with_state(console)
}
