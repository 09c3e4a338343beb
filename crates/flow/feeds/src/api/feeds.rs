use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use web::{Access, Page, Result};
use wire::feeds::FeedSettings;

use super::docs::{Reading, Writing};
use super::json::{FeedItem, Missing, NewLoad};
use super::{feed_key, own_feed_key};
use crate::history::{self, FeedView};
use crate::{FeedKey, Feeds, feed};

/// What a feed is to be. What is left out is as if the feed were new.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PutFeed {
    /// Fetched regularly; without it files are uploaded.
    url: Option<String>,
    #[schema(minimum = 1, maximum = 527_040)]
    period_minutes: Option<i64>,
    on_missing: Option<Missing>,
    #[schema(maximum = 100)]
    guard_percent: Option<u32>,
    webhook_url: Option<String>,
    /// Made for you when there is none; the answer shows it once.
    #[schema(max_length = 256)]
    webhook_secret: Option<String>,
    /// Of offers that name none, such as `RUB`.
    #[schema(max_length = 16)]
    currency: Option<String>,
    /// Of offers that do not say where they are.
    #[schema(max_length = 512)]
    address: Option<String>,
}

impl PutFeed {
    fn settings(self, feeds: &Feeds) -> FeedSettings {
        let default = feed::default_settings(feeds);
        FeedSettings {
            url: self.url.unwrap_or_default(),
            period_minutes: self.period_minutes.unwrap_or(default.period_minutes),
            on_missing: wire::feeds::OnMissing::from(self.on_missing.unwrap_or(Missing::Delete)).into(),
            guard_percent: self.guard_percent.unwrap_or(default.guard_percent),
            webhook_url: self.webhook_url.unwrap_or_default(),
            webhook_secret: self.webhook_secret.unwrap_or_default(),
            version: 0,
            currency: self.currency.unwrap_or_default(),
            address: self.address.unwrap_or_default(),
        }
    }
}

/// The feeds of a seller.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds", tag = "feeds",
    responses((status = 200, body = Page<FeedItem>), Reading))]
pub(super) async fn list(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path(seller): Path<String>,
) -> Result<Json<Page<FeedItem>>> {
    access.require_seller(&seller)?;
    let language = web::language(&headers);
    let views = history::feeds_of(&feeds, &seller).await?;
    Ok(Json(Page::whole(views.iter().map(|view| FeedItem::of(view, language)).collect())))
}

/// Makes a feed, or changes its settings.
#[utoipa::path(put, path = "/v1/sellers/{seller}/feeds/{namespace}", tag = "feeds", request_body = PutFeed,
    responses((status = 200, body = FeedItem), Writing))]
pub(super) async fn put(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
    Json(wanted): Json<PutFeed>,
) -> Result<Json<FeedItem>> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    let settings = wanted.settings(&feeds);
    let feed = feed::put(&feeds, &key, settings).await?;
    let secret = feed.settings.as_ref().map(|settings| settings.webhook_secret.clone());
    let loader = history::feed(&feeds, &key).await?.loader;
    let mut item = FeedItem::of(&FeedView { key, feed, loader }, web::language(&headers));
    item.webhook_secret = secret.filter(|secret| !secret.is_empty());
    Ok(Json(item))
}

/// A feed.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}", tag = "feeds",
    responses((status = 200, body = FeedItem), Reading))]
pub(super) async fn show(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
) -> Result<Json<FeedItem>> {
    let key = feed_key(&access, &seller, &namespace)?;
    seen(&feeds, &key, &headers).await
}

async fn seen(feeds: &Feeds, key: &FeedKey, headers: &HeaderMap) -> Result<Json<FeedItem>> {
    let view = history::feed(feeds, key).await?;
    Ok(Json(FeedItem::of(&view, web::language(headers))))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Removal {
    /// What becomes of the offers.
    offers: Missing,
}

/// Removes a feed with its history. Its offers are deleted or become manual, by a last load.
#[utoipa::path(delete, path = "/v1/sellers/{seller}/feeds/{namespace}", tag = "feeds", params(Removal),
    responses((status = 202, body = NewLoad), Writing))]
pub(super) async fn remove(
    State(feeds): State<Feeds>,
    access: Access,
    Path((seller, namespace)): Path<(String, String)>,
    Query(removal): Query<Removal>,
) -> Result<(StatusCode, Json<NewLoad>)> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    let task_id = feed::remove(&feeds, &key, removal.offers.into()).await?;
    Ok((StatusCode::ACCEPTED, Json(NewLoad { task_id: task_id.to_string() })))
}

/// Fetches the feed at the next opportunity.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/fetch", tag = "feeds",
    responses((status = 202, body = FeedItem), Writing))]
pub(super) async fn fetch(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
) -> Result<(StatusCode, Json<FeedItem>)> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    feed::fetch_now(&feeds, &key).await?;
    Ok((StatusCode::ACCEPTED, seen(&feeds, &key, &headers).await?))
}

/// Nothing is fetched or taken while the feed is paused; a load under way goes on.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/pause", tag = "feeds",
    responses((status = 200, body = FeedItem), Writing))]
pub(super) async fn pause(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
) -> Result<Json<FeedItem>> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    feed::set_paused(&feeds, &key, feed::Pause::Paused).await?;
    seen(&feeds, &key, &headers).await
}

/// Ends a pause.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/resume", tag = "feeds",
    responses((status = 200, body = FeedItem), Writing))]
pub(super) async fn resume(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
) -> Result<Json<FeedItem>> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    feed::set_paused(&feeds, &key, feed::Pause::Running).await?;
    seen(&feeds, &key, &headers).await
}
