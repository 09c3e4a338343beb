//! Drafts. A seller's draft is his alone; an anonymous one belongs to whoever knows its id.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Problem, Result};

use super::{
    Body, Call, IdempotencyKey, OfferJson, Reading, Writing, etag, idempotency_key, if_match, require_seller,
};
use crate::api::json::{ContentJson, DraftJson};
use crate::changes::printed;
use crate::drafts::current::Holder;
use crate::drafts::owner::ANONYMOUS;
use crate::drafts::{Draft, Found, Owner, no_draft};
use crate::write::{Expected, by_api};
use crate::{Error, Offers};

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(current))
        .routes(routes!(show, replace, delete))
        .routes(routes!(publish))
}

/// A draft to begin.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, which is read in two steps")]
struct NewDraft {
    /// The seller; without one the draft is a visitor's.
    owner: Option<String>,
    /// The visitor's secret, 32 hexadecimal digits; a new one is made without it.
    anonymous: Option<String>,
    #[schema(inline)]
    #[serde(flatten)]
    content: ContentJson,
}

/// Begins a draft. An owner who has one already is answered 409.
#[utoipa::path(post, path = "/v1/drafts", tag = "drafts", request_body = NewDraft, responses(
    (status = 201, body = DraftJson, headers(("etag" = String), ("location" = String))),
    Writing,
))]
async fn create(
    State(offers): State<Offers>,
    call: Call,
    Body(mut body): Body<Map<String, Value>>,
) -> Result<Response> {
    let mut text = |field: &str| match body.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Problem::field(field, "wrong_type", format!("{field} is a text"))),
    };
    let holder = holder(&call, text("owner")?.as_deref(), text("anonymous")?.as_deref())?;
    if holder.seller.is_some() && holder.anonymous.is_some() {
        return Err(Problem::field("anonymous", "not_with_owner", "a draft has one owner"));
    }
    let owner = holder.seller.or(holder.anonymous).unwrap_or_else(Owner::stranger);
    let content = ContentJson::parse(body)?;
    let content = content.write().map_err(|issues| call.problem(Error::Invalid(issues)))?;
    let draft = offers.create_draft(&owner, content).await.map_err(|error| call.problem(error))?;
    let location = [(header::LOCATION, format!("/v1/drafts/{}", draft.id))];
    Ok((StatusCode::CREATED, etag(draft.row.version), location, shown(&offers, &call, &draft))
        .into_response())
}

/// Who asks for the current draft.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct CurrentDraft {
    /// The seller who is logged in.
    #[serde(default)]
    owner: Option<String>,
    /// The secret under which the visitor wrote before; 32 hexadecimal digits.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    anonymous: Option<String>,
    /// The category that the draft should have.
    #[serde(default)]
    category: Option<String>,
}

/// The current draft of a person, who may have one as a seller and one from before the login.
///
/// A wanted category that neither has resets one of them; a draft that fits becomes the seller's; of two that fit the
/// newest wins, and the other is erased.
#[utoipa::path(post, path = "/v1/drafts/current", tag = "drafts", request_body = CurrentDraft, responses(
    (status = 200, body = DraftJson, headers(("etag" = String))),
    Writing,
))]
async fn current(
    State(offers): State<Offers>,
    call: Call,
    Body(asked): Body<CurrentDraft>,
) -> Result<Response> {
    let holder = holder(&call, asked.owner.as_deref(), asked.anonymous.as_deref())?;
    let category = asked.category.as_deref();
    if let Some(unknown) = category.filter(|category| offers.catalog.category(category).is_none()) {
        let issue = model::Issue {
            code: "category_unknown".to_owned(),
            field: "category".to_owned(),
            value: unknown.chars().take(100).collect(),
            ..model::Issue::default()
        };
        return Err(call.problem(Error::Invalid(vec![issue])));
    }
    let draft = offers.settle_current_draft(&holder, category).await;
    let draft = draft.map_err(|error| call.problem(error))?;
    Ok((etag(draft.row.version), shown(&offers, &call, &draft)).into_response())
}

fn holder(call: &Call, seller: Option<&str>, secret: Option<&str>) -> Result<Holder> {
    if let Some(seller) = seller {
        require_seller(&call.access, "owner", seller)?;
        if seller.starts_with(ANONYMOUS) {
            let detail = "the name of a seller who writes drafts does not begin so";
            return Err(Problem::field("owner", "bad_seller", detail));
        }
    }
    let anonymous = secret.map(|secret| {
        let bad =
            || Problem::field("anonymous", "bad_secret", "a visitor's secret has 32 hexadecimal digits");
        Owner::anonymous(secret).ok_or_else(bad)
    });
    Ok(Holder {
        seller: seller.map(|seller| Owner::Seller(seller.to_owned())),
        anonymous: anonymous.transpose()?,
    })
}

/// A draft. An id from before a move leads to where it is now.
#[utoipa::path(get, path = "/v1/drafts/{id}", tag = "drafts", responses(
    (status = 200, body = DraftJson, headers(("etag" = String))),
    Reading,
))]
async fn show(State(offers): State<Offers>, call: Call, Path(id): Path<String>) -> Result<Response> {
    let draft = visible(&offers, &call, &id).await?;
    Ok((etag(draft.row.version), shown(&offers, &call, &draft)).into_response())
}

/// Replaces the content of a draft whole. `If-Match` is heeded when it is there.
#[utoipa::path(put, path = "/v1/drafts/{id}", tag = "drafts", request_body = ContentJson, responses(
    (status = 200, body = DraftJson, headers(("etag" = String))),
    Writing,
))]
async fn replace(
    State(offers): State<Offers>,
    call: Call,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(fields): Body<Map<String, Value>>,
) -> Result<Response> {
    finish_moves(&offers, &call, &id).await?;
    let draft = visible(&offers, &call, &id).await?;
    let content = ContentJson::parse(fields)?;
    let content = content.write().map_err(|issues| call.problem(Error::Invalid(issues)))?;
    let expected = if_match(&headers)?.unwrap_or(Expected::Any);
    let draft = offers.replace_draft(&draft, content, expected).await;
    let draft = draft.map_err(|error| call.problem(error))?;
    Ok((etag(draft.row.version), shown(&offers, &call, &draft)).into_response())
}

/// Erases a draft.
#[utoipa::path(delete, path = "/v1/drafts/{id}", tag = "drafts", responses(
    (status = 204, description = "It is gone"),
    Writing,
))]
async fn delete(State(offers): State<Offers>, call: Call, Path(id): Path<String>) -> Result<StatusCode> {
    let draft = visible(&offers, &call, &id).await?;
    offers.delete_draft(&draft).await.map_err(|error| call.problem(error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// To whom an anonymous draft goes.
#[derive(Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Publish {
    /// The seller; needed for a visitor's draft.
    #[serde(default)]
    owner: Option<String>,
}

/// Publishes a draft. Asked again it gives the same offer, for 30 days.
#[utoipa::path(post, path = "/v1/drafts/{id}/publish", tag = "drafts", request_body = Publish,
    params(IdempotencyKey), responses(
        (status = 201, body = OfferJson, headers(("etag" = String), ("location" = String))),
        Writing,
    ))]
async fn publish(
    State(offers): State<Offers>,
    call: Call,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(asked): Body<Publish>,
) -> Result<Response> {
    let request = format!("{id}\n{}", asked.owner.as_deref().unwrap_or_default());
    let key =
        idempotency_key(&headers, "publish", request.as_bytes()).map_err(|error| call.problem(error))?;
    let owner = holder(&call, asked.owner.as_deref(), None)?.seller;
    finish_moves(&offers, &call, &id).await?;
    let found = offers.find_draft(&id).await.map_err(|error| call.problem(error))?;
    let seller = match &found {
        Found::Draft(draft) => seller_for(&call, draft, owner)?,
        Found::Published(offer_id) => {
            call.offer(&offers, &printed(*offer_id)).await.map_err(|_| call.problem(no_draft(&id)))?;
            String::new()
        }
    };
    let actor = by_api(call.access.who(), "publish");
    let offer = offers.publish_draft(found, &seller, &actor, key.as_ref()).await;
    let offer = offer.map_err(|error| call.problem(error))?;
    let location = [(header::LOCATION, format!("/v1/offers/{}", printed(offer.id)))];
    let body = Json(call.show(&offers, &offer));
    Ok((StatusCode::CREATED, etag(offer.version), location, body).into_response())
}

fn seller_for(call: &Call, draft: &Draft, asked: Option<Owner>) -> Result<String> {
    match (draft.owner(), asked) {
        (Owner::Seller(seller), asked) => {
            require_visible(call, draft)?;
            match asked {
                Some(Owner::Seller(other)) if other != seller => {
                    Err(Problem::field("owner", "not_the_owner", "the draft is another seller's"))
                }
                _ => Ok(seller),
            }
        }
        (Owner::Anonymous(_), Some(Owner::Seller(seller))) => Ok(seller),
        (Owner::Anonymous(_), _) => {
            Err(Problem::field("owner", "required", "a visitor's draft is published as a seller's: name him"))
        }
    }
}

/// A write of the target owner finishes his moves first.
async fn finish_moves(offers: &Offers, call: &Call, id: &str) -> Result<()> {
    if let Ok(Found::Draft(draft)) = offers.find_draft(id).await
        && !draft.owner().is_anonymous()
        && require_visible(call, &draft).is_ok()
    {
        offers.finish_intents(&draft.owner()).await.map_err(|error| call.problem(error))?;
    }
    Ok(())
}

async fn visible(offers: &Offers, call: &Call, id: &str) -> Result<Draft> {
    match offers.find_draft(id).await.map_err(|error| call.problem(error))? {
        Found::Draft(draft) => {
            require_visible(call, &draft)?;
            Ok(*draft)
        }
        Found::Published(_) => Err(call.problem(no_draft(id))),
    }
}

fn require_visible(call: &Call, draft: &Draft) -> Result<()> {
    match draft.owner() {
        Owner::Seller(seller) if !call.access.sees_seller(&seller) => Err(call.problem(no_draft(&draft.id))),
        _ => Ok(()),
    }
}

fn shown(offers: &Offers, call: &Call, draft: &Draft) -> Json<DraftJson> {
    Json(DraftJson::of(draft, call.reader(offers)))
}
