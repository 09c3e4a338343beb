//! `dvor feed list|show|errors|watch`: what became of loads.

use anyhow::Result;
use clap::Args;
use feeds::api::{FeedItem, LoadItem};
use serde_json::Value;
use web::Page;

use super::backend::{Backend, segment};
use super::exit::{self, Failure};
use super::feed_upload::{finish, watch};
use super::{Common, items, print_columns, print_json};

/// List a seller's feeds with their last loads
#[derive(Args)]
#[command(after_help = "Example:\n  dvor feed list north-tools")]
pub struct List {
    seller: String,
}

/// A feed of a seller, and one load of it.
#[derive(Args)]
pub struct Which {
    seller: String,
    /// The load's number; the last one if left out
    #[arg(long, value_name = "NUMBER")]
    load: Option<String>,
    #[arg(long, default_value = "default")]
    namespace: String,
}

impl List {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let feeds = format!("/v1/sellers/{}/feeds", segment(&self.seller));
        let asked = self.ask(&backend, common, &feeds).await;
        backend.close().await?;
        asked
    }

    async fn ask(&self, backend: &Backend, common: &Common, feeds: &str) -> Result<()> {
        let page: Page<FeedItem> = backend.get(feeds, &[]).await?;
        if common.json {
            return print_json(&page);
        }
        let mut rows = Vec::new();
        for feed in page.items {
            let loads: Page<LoadItem> = backend
                .get(&format!("{feeds}/{}/tasks", segment(&feed.namespace)), &[("limit", "1".into())])
                .await?;
            let last = loads.items.first();
            rows.push(vec![
                feed.namespace,
                feed.url.unwrap_or_else(|| "uploads".to_owned()),
                if feed.paused { "paused".to_owned() } else { String::new() },
                last.map(|load| load.task_id.clone()).unwrap_or_default(),
                last.map(|load| load.status.clone()).unwrap_or_default(),
                feed.next_fetch_at.map(|at| at.to_string()).unwrap_or_default(),
                feed.error.map(|error| error.message).unwrap_or_default(),
            ]);
        }
        print_columns(&["FEED", "FROM", "PAUSED", "LAST LOAD", "STATUS", "NEXT FETCH", "LAST ERROR"], &rows)
    }
}

impl Which {
    /// Shows a feed with its newest loads, or one load.
    pub async fn show(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.show_by(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn show_by(&self, backend: &Backend, json: bool) -> Result<()> {
        if self.load.is_some() {
            let load: LoadItem = backend.get(&self.path(backend).await?, &[]).await?;
            return if json { print_json(&load) } else { super::print(&super::feed_upload::report(&load)) };
        }
        let feed: FeedItem = backend.get(&self.feed(), &[]).await?;
        let loads: Page<LoadItem> =
            backend.get(&format!("{}/tasks", self.feed()), &[("limit", "20".into())]).await?;
        if json {
            return print_json(&serde_json::json!({ "feed": feed, "loads": loads.items }));
        }
        let row = |load: &LoadItem| {
            let found = &load.statistics;
            let numbers = [found.total, found.created, found.updated, found.deleted, found.rejected];
            let mut row = vec![load.task_id.clone(), load.created_at.to_string(), load.status.clone()];
            row.extend(numbers.iter().map(i64::to_string));
            row.push(load.error.as_ref().map(|error| error.message.clone()).unwrap_or_default());
            row
        };
        let rows: Vec<_> = loads.items.iter().map(row).collect();
        let headings =
            ["LOAD", "BEGAN", "STATUS", "OFFERS", "CREATED", "UPDATED", "DELETED", "REJECTED", "ERROR"];
        print_columns(&headings, &rows)
    }

    /// Lists what is wrong with a load's offers.
    pub async fn errors(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.errors_by(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn errors_by(&self, backend: &Backend, json: bool) -> Result<()> {
        let path = format!("{}/errors", self.path(backend).await?);
        let mut query = Vec::new();
        loop {
            let page: Value = backend.get(&path, &query).await?;
            if json {
                // One error per line: a list may be long.
                for error in page["items"].as_array().into_iter().flatten() {
                    super::print(&error.to_string())?;
                }
            } else {
                let rows = items(
                    &page,
                    &["line", "external_id", "level", "field", "value", "message", "suggestion"],
                );
                print_columns(&["LINE", "ID", "LEVEL", "FIELD", "VALUE", "MESSAGE", "SUGGESTION"], &rows)?;
            }
            let Some(cursor) = page["next_cursor"].as_str() else { return Ok(()) };
            query = vec![("cursor", cursor.to_owned())];
        }
    }

    /// Follows a load to its end.
    pub async fn watch(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.watch_by(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn watch_by(&self, backend: &Backend, json: bool) -> Result<()> {
        let load = watch(backend, &self.path(backend).await?).await?;
        finish(&self.feed(), &load, json)
    }

    fn feed(&self) -> String {
        format!("/v1/sellers/{}/feeds/{}", segment(&self.seller), segment(&self.namespace))
    }

    /// Of the load that is meant.
    async fn path(&self, backend: &Backend) -> Result<String> {
        let feed = self.feed();
        let number = match &self.load {
            Some(number) => number.clone(),
            None => {
                let loads: Page<LoadItem> =
                    backend.get(&format!("{feed}/tasks"), &[("limit", "1".into())]).await?;
                let none = || {
                    let detail = format!("the feed {} of {} has no load yet", self.namespace, self.seller);
                    Failure::of(exit::NOT_FOUND, detail)
                };
                loads.items.into_iter().next().ok_or_else(none)?.task_id
            }
        };
        Ok(format!("{feed}/tasks/{}", segment(&number)))
    }
}
