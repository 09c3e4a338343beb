use anyhow::Result;
use kit::Tasks;
use snippets::{Registry, Snippets};
use tokio::signal::unix::{SignalKind, signal};

use super::api::Taken;
use crate::access::Door;
use crate::app::App;
use crate::cli::exit::{self, Failure};
use crate::http::{self, Abandoned, SnippetsPort};

/// Serves snippets on their own port, makes them from topics, and reads their configuration anew on SIGHUP.
pub async fn start(app: &App, port: Taken, tasks: &Tasks) -> Result<Snippets> {
    let settings = app.config.snippets_settings.clone();
    let opened = Snippets::open(&app.base, settings, Registry::shipped());
    let snippets = opened.await.map_err(|error| match error {
        snippets::Error::Config(error) => Failure::of(exit::USAGE, format!("snippets: {error}")),
        snippets::Error::Engine(error) => anyhow::Error::new(error),
        error => anyhow::Error::new(error),
    })?;
    // Nobody else has set it: the role is started once.
    let _ = app.snippets.set(snippets.clone());
    snippets.start(tasks);
    let mut hangups = signal(SignalKind::hangup())?;
    let (reloaded, shutdown) = (snippets.clone(), tasks.shutdown().clone());
    tasks.spawn("snippets reload", async move {
        loop {
            tokio::select! {
                () = shutdown.called() => return,
                _ = hangups.recv() => {}
            }
            if let Err(error) = reloaded.reload().await {
                tracing::error!("the snippets' configuration was refused, the old one stays: {error}");
            }
        }
    });
    let own = SnippetsPort::new(Door { app: app.clone(), address: port.1 }, snippets.clone());
    let calls = move |request| own.clone().answer(request);
    let (limits, shutdown) = (app.config.limits.clone(), tasks.shutdown().clone());
    tasks.spawn("snippets port", http::serve(port.0, calls, Abandoned::Finished, limits, shutdown));
    Ok(snippets)
}
