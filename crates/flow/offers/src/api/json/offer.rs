use kit::Timestamp;
use model::{Offer, photo_order, status};
use serde::Serialize;
use wire::offers::{Actor, actor};

use super::{ContentJson, MediaErrorJson, MoneyJson, Reader};
use crate::changes::printed;
use crate::presets::is_from_feed;
use crate::write::Event;

/// An offer.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct OfferJson {
    pub id: String,
    pub seller_id: String,
    pub origin: OriginJson,
    /// Grows with every change; the ETag holds it.
    pub version: i64,
    #[schema(value_type = StatusJson)]
    pub status: &'static str,
    pub catalog_version: u32,
    #[serde(flatten)]
    pub content: ContentJson,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    pub ban_reasons: Vec<String>,
    /// What the seller is told of the ban.
    pub ban_text: Option<String>,
    pub predicted_price: Option<MoneyJson>,
    /// How many like offers it rests on.
    pub predicted_from: Option<u32>,
    /// Urls of photos in the order in which they are shown, where it is not the seller's own.
    pub photo_order: Vec<String>,
    /// What is wrong with the linked video.
    pub video_error: Option<MediaErrorJson>,
    /// It has left the tables for the archive and cannot be changed.
    pub archived: bool,
}

/// The names of `model::status`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum StatusJson {
    Active,
    Inactive,
    Expired,
    Banned,
    SoldHere,
    SoldElsewhere,
    Deleted,
}

/// Where an offer comes from.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct OriginJson {
    /// `manual` or `feed`.
    pub kind: &'static str,
    pub namespace: Option<String>,
    /// The seller's own id.
    pub external_id: Option<String>,
    /// The last load that changed the offer, and its line in the file.
    pub task_id: Option<i64>,
    pub line: Option<i64>,
}

impl OfferJson {
    pub fn of(offer: &Offer, reader: Reader<'_>) -> Self {
        let empty = model::Content::default();
        let content = offer.content.as_ref().unwrap_or(&empty);
        let mut shown = ContentJson::read(content, &offer.photos, reader);
        photo_order::sort(&mut shown.photos, &offer.photo_order, |photo| &photo.url);
        Self {
            id: printed(offer.id),
            seller_id: offer.seller_id.clone(),
            origin: origin(offer),
            version: offer.version,
            status: status::name(offer.status()),
            catalog_version: content.catalog_version,
            content: shown,
            created_at: Timestamp(offer.created_at),
            updated_at: Timestamp(offer.updated_at),
            expires_at: (offer.expires_at != 0).then_some(Timestamp(offer.expires_at)),
            ban_reasons: offer.ban_reasons.clone(),
            ban_text: (!offer.ban_text.is_empty()).then(|| offer.ban_text.clone()),
            predicted_price: offer.predicted_price.as_ref().map(MoneyJson::of),
            predicted_from: (offer.predicted_from != 0).then_some(offer.predicted_from),
            photo_order: offer.photo_order.clone(),
            video_error: offer.video_error.as_ref().map(|error| MediaErrorJson::of(error, reader)),
            archived: offer.archived,
        }
    }
}

fn origin(offer: &Offer) -> OriginJson {
    if !is_from_feed(offer) {
        return OriginJson { kind: "manual", namespace: None, external_id: None, task_id: None, line: None };
    }
    let origin = offer.origin.clone().unwrap_or_default();
    OriginJson {
        kind: "feed",
        namespace: Some(origin.namespace),
        external_id: Some(origin.external_id),
        task_id: (origin.task_id != 0).then_some(origin.task_id),
        line: (origin.line != 0).then_some(origin.line),
    }
}

/// An entry of an offer's history.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct EventJson {
    pub version: i64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The offer's status after it.
    #[schema(value_type = super::offer::StatusJson)]
    pub status: &'static str,
    pub who: WhoJson,
    /// Why, as `withdraw`, `missing_in_feed`, `ban`.
    pub reason: String,
    pub fields: Vec<FieldChangeJson>,
}

#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct WhoJson {
    /// `api`, `feed`, `stage`, `moderation`, `photos` or `system`.
    pub kind: &'static str,
    pub name: Option<String>,
    /// Of a feed: the load.
    pub task_id: Option<i64>,
}

/// A changed field. Long values are named only.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct FieldChangeJson {
    pub path: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

impl EventJson {
    pub fn of(event: Event) -> Self {
        let Event { version, row } = event;
        let status = status::name(row.status());
        let actor = row.actor.unwrap_or_default();
        let field = |field: wire::offers::FieldChange| FieldChangeJson {
            path: field.path,
            from: field.from,
            to: field.to,
        };
        Self {
            version,
            at: Timestamp(row.at),
            status,
            who: who(&actor),
            reason: actor.reason,
            fields: row.fields.into_iter().map(field).collect(),
        }
    }
}

fn who(actor: &Actor) -> WhoJson {
    let kind = match actor.kind() {
        actor::Kind::Unspecified | actor::Kind::System => "system",
        actor::Kind::Api => "api",
        actor::Kind::Feed => "feed",
        actor::Kind::Stage => "stage",
        actor::Kind::Moderation => "moderation",
        actor::Kind::Photos => "photos",
    };
    WhoJson {
        kind,
        name: (!actor.who.is_empty()).then(|| actor.who.clone()),
        task_id: (actor.task_id != 0).then_some(actor.task_id),
    }
}

#[cfg(test)]
mod tests {
    use model::{Content, Issue, Money, Photo};

    use super::*;

    #[test]
    fn photos_are_shown_in_their_order_and_what_stages_know_stands_beside() {
        let urls = ["a", "b", "c"].map(str::to_owned);
        let photo = |url: &String| Photo { url: url.clone(), ..Photo::default() };
        let offer = Offer {
            photos: urls.iter().map(photo).collect(),
            content: Some(Content { photo_urls: urls.to_vec(), ..Content::default() }),
            photo_order: vec!["c".to_owned(), "a".to_owned()],
            predicted_price: Some(Money { minor: 1_250, currency: "RUB".to_owned() }),
            predicted_from: 7,
            video_error: Some(Issue { code: "video_gone".to_owned(), ..Issue::default() }),
            ..Offer::default()
        };
        let reader = Reader { catalog: &catalog::Catalog::shipped(), language: web::Language::English };
        let json = serde_json::to_value(OfferJson::of(&offer, reader)).unwrap();
        let shown: Vec<_> = json["photos"].as_array().unwrap().iter().map(|photo| &photo["url"]).collect();
        assert_eq!(shown, ["c", "a", "b"]);
        assert_eq!(json["photo_order"], serde_json::json!(["c", "a"]));
        assert_eq!(
            (&json["predicted_price"]["amount"], &json["predicted_from"]),
            (&"12.50".into(), &7.into())
        );
        assert_eq!(json["video_error"]["message"], "the linked video is no longer there");
    }
}
