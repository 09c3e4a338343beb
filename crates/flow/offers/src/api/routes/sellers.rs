//! A seller's cabinet: lists, counts, counters, and acts on many offers at once.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Page, Problem, Result, limit};

use super::offers::Ids;
use super::{Body, Call, OfferJson, Reading, Writing, require_seller};
use crate::api::json::MoneyJson;
use crate::bulk::Done;
use crate::cabinet::Place;
use crate::presets::Preset;
use crate::write::{Verb, by_api};
use crate::{Offers, external};

const USUAL_OFFERS: usize = 50;
const MOST_OFFERS: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(presets))
        .routes(routes!(counters))
        .routes(routes!(withdraw))
        .routes(routes!(activate))
        .routes(routes!(delete))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// `all`, `active`, `inactive`, `expired`, `banned`, `sold`, `from_feed`, `manual` or `with_problems`.
    preset: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// `next_cursor` of the part before.
    cursor: Option<String>,
    /// The seller's own id: finds the offer that a feed made of it.
    external_id: Option<String>,
    /// Of the feed; `default` if left out. Only with `external_id`.
    namespace: Option<String>,
}

/// A seller's offers, newest first, or the one with an id of his own.
#[utoipa::path(get, path = "/v1/sellers/{seller}/offers", tag = "sellers", params(ListQuery), responses(
    (status = 200, body = Page<OfferJson>),
    Reading,
))]
async fn list(
    State(offers): State<Offers>,
    call: Call,
    Path(seller): Path<String>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<OfferJson>>> {
    require_seller(&call.access, "seller", &seller)?;
    if let Some(external_id) = &query.external_id {
        return find(&offers, &call, &seller, external_id, &query).await;
    }
    if query.namespace.is_some() {
        return Err(Problem::field("namespace", "not_alone", "a namespace is searched by external_id"));
    }
    let limit = limit(query.limit, USUAL_OFFERS, MOST_OFFERS)?;
    let name = query.preset.as_deref().unwrap_or(Preset::All.name());
    let preset = Preset::parse(name).ok_or_else(|| {
        let names = Preset::EVERY.map(Preset::name).join(", ");
        Problem::field("preset", "not_an_option", format!("{name:?} is not one of {names}"))
    })?;
    let place = query.cursor.as_deref().map(|cursor| {
        let bad = || Problem::field("cursor", "bad_cursor", "this is not a cursor that this list gave");
        Place::parse(cursor).ok_or_else(bad)
    });
    let page = offers.page(&seller, preset, place.transpose()?, limit).await;
    let (found, next) = page.map_err(|error| call.problem(error))?;
    let items = found.iter().map(|offer| call.show(&offers, offer)).collect();
    Ok(Json(Page { items, next_cursor: next.map(Place::cursor) }))
}

async fn find(
    offers: &Offers,
    call: &Call,
    seller: &str,
    external_id: &str,
    query: &ListQuery,
) -> Result<Json<Page<OfferJson>>> {
    let paged = [("preset", query.preset.is_some()), ("cursor", query.cursor.is_some())];
    if let Some((field, _)) = paged.iter().find(|(_, given)| *given) {
        return Err(Problem::field(field, "not_with_external_id", "an external id finds at most one offer"));
    }
    limit(query.limit, USUAL_OFFERS, MOST_OFFERS)?;
    let namespace = query.namespace.as_deref().unwrap_or(model::names::DEFAULT_NAMESPACE);
    let bad =
        |field: &str, error: &dyn std::fmt::Display| Problem::field(field, "bad_name", error.to_string());
    model::names::check_namespace(namespace).map_err(|error| bad("namespace", &error))?;
    model::names::check_external_id(external_id).map_err(|error| bad("external_id", &error))?;
    let found = external::find(offers, seller, namespace, external_id).await;
    let found = found.map_err(|error| call.problem(error))?;
    Ok(Json(Page::whole(found.iter().map(|offer| call.show(offers, offer)).collect())))
}

/// A ready-made list and its length.
#[derive(Serialize, utoipa::ToSchema)]
struct PresetItem {
    preset: &'static str,
    count: i64,
}

/// The ready-made lists and how many offers each has.
#[utoipa::path(get, path = "/v1/sellers/{seller}/presets", tag = "sellers", responses(
    (status = 200, body = Page<PresetItem>),
    Reading,
))]
async fn presets(
    State(offers): State<Offers>,
    call: Call,
    Path(seller): Path<String>,
) -> Result<Json<Page<PresetItem>>> {
    require_seller(&call.access, "seller", &seller)?;
    let counts = offers.counts(&seller).await.map_err(|error| call.problem(error))?;
    let item = |(preset, count): (Preset, i64)| PresetItem { preset: preset.name(), count };
    Ok(Json(Page::whole(counts.into_iter().map(item).collect())))
}

/// Numbers kept for a seller.
#[derive(Serialize, utoipa::ToSchema)]
struct CountersItem {
    active: i64,
    expired: i64,
    banned: i64,
    /// Offers that ever were sold here, each once.
    sold: i64,
    /// Their prices at that moment, one sum for each currency.
    money_earned: Vec<MoneyJson>,
}

/// The seller's counters.
#[utoipa::path(get, path = "/v1/sellers/{seller}/counters", tag = "sellers", responses(
    (status = 200, body = CountersItem),
    Reading,
))]
async fn counters(
    State(offers): State<Offers>,
    call: Call,
    Path(seller): Path<String>,
) -> Result<Json<CountersItem>> {
    require_seller(&call.access, "seller", &seller)?;
    let counters = offers.counters(&seller).await.map_err(|error| call.problem(error))?;
    let money = |(currency, minor): (String, i64)| MoneyJson::of(&model::Money { minor, currency });
    Ok(Json(CountersItem {
        active: counters.active,
        expired: counters.expired,
        banned: counters.banned,
        sold: counters.sold,
        money_earned: counters.money_earned.into_iter().map(money).collect(),
    }))
}

/// What became of one of many.
#[derive(Serialize, utoipa::ToSchema)]
struct BulkItem {
    id: String,
    /// `done`, or `refused` with an error.
    result: &'static str,
    /// As it is now, where it was done.
    status: Option<&'static str>,
    version: Option<i64>,
    error: Option<BulkError>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct BulkError {
    /// A stable name: `not_found`, `illegal_move`.
    code: String,
    message: String,
}

/// Withdraws up to 500 offers.
#[utoipa::path(post, path = "/v1/sellers/{seller}/offers/withdraw", tag = "sellers", request_body = Ids, responses(
    (status = 200, body = Page<BulkItem>), Writing,
))]
async fn withdraw(
    offers: State<Offers>,
    call: Call,
    seller: Path<String>,
    Body(ids): Body<Ids>,
) -> Result<Json<Page<BulkItem>>> {
    bulk(&offers, &call, &seller, &ids, Verb::Withdraw).await
}

/// Activates up to 500 offers.
#[utoipa::path(post, path = "/v1/sellers/{seller}/offers/activate", tag = "sellers", request_body = Ids, responses(
    (status = 200, body = Page<BulkItem>), Writing,
))]
async fn activate(
    offers: State<Offers>,
    call: Call,
    seller: Path<String>,
    Body(ids): Body<Ids>,
) -> Result<Json<Page<BulkItem>>> {
    bulk(&offers, &call, &seller, &ids, Verb::Activate).await
}

/// Deletes up to 500 offers.
#[utoipa::path(post, path = "/v1/sellers/{seller}/offers/delete", tag = "sellers", request_body = Ids, responses(
    (status = 200, body = Page<BulkItem>), Writing,
))]
async fn delete(
    offers: State<Offers>,
    call: Call,
    seller: Path<String>,
    Body(ids): Body<Ids>,
) -> Result<Json<Page<BulkItem>>> {
    bulk(&offers, &call, &seller, &ids, Verb::Delete).await
}

async fn bulk(
    offers: &Offers,
    call: &Call,
    seller: &str,
    ids: &Ids,
    verb: Verb,
) -> Result<Json<Page<BulkItem>>> {
    require_seller(&call.access, "seller", seller)?;
    let actor = by_api(call.access.who(), verb.reason());
    let done = offers.act_on_many(seller, &ids.parse()?, verb, &actor).await;
    let done = done.map_err(|error| call.problem(error))?;
    Ok(Json(Page::whole(done.into_iter().map(|done| item(call, done)).collect())))
}

fn item(call: &Call, done: Done) -> BulkItem {
    let Done { id, outcome } = done;
    let id = id.to_string();
    match outcome {
        Ok(offer) => BulkItem {
            id,
            result: "done",
            status: Some(model::status::name(offer.status())),
            version: Some(offer.version),
            error: None,
        },
        Err(error) => {
            let problem = call.problem(error);
            let code = problem.name.unwrap_or(problem.code.name()).to_owned();
            let error = Some(BulkError { code, message: problem.detail });
            BulkItem { id, result: "refused", status: None, version: None, error }
        }
    }
}
