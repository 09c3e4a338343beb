//! The console on the HTTP port, with what it needs of the server.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use console::{Doors, PREFIX, Parts};
use snippets::Snippets;
use web::{Access, Result};

use crate::access::{Audited, audited};
use crate::app::App;

/// Everything below `/console`, and the way there.
pub fn routes(app: &App, snippets: Option<Snippets>) -> Router {
    let pages = console::router(Parts {
        feeds: app.feeds.clone(),
        offers: app.offers.clone(),
        stages: app.stages.clone(),
        snippets,
        silver: app.silver.clone(),
        topics: app.topics.clone(),
        cluster: app.cluster.clone(),
        clock: app.clock.clone(),
        doors: Arc::new(Lent(app.clone())),
    });
    pages.route("/", get(async || Redirect::to(PREFIX)))
}

struct Lent(App);

#[async_trait]
impl Doors for Lent {
    async fn verify(&self, token: &str) -> Result<Access> {
        self.0.token_access(token).await
    }

    async fn audit(&self, access: &Access, what: &str, whom: &str) -> Result<()> {
        Ok(audited(&self.0.store, &self.0.clock, access, &Audited { what, whom }).await?)
    }
}
