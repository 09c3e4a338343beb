//! An offer: what it says, its photos, what is wrong with it, its stages, its history, the line of the feed that made it,
//! its snippets.

use axum::extract::{Path, State};
use feeds::FeedKey;
use maud::{Markup, html};
use model::fields::{FIELDS, price_text};
use model::{Content, IssueType, Offer, OfferId, message};
use offers::api::json::{
    AttributeJson, ContentJson, EventJson, OfferJson, PhotoJson, Reader, ValueJson, ValuesJson,
};
use offers::{Error, Offers};
use snippets::Shown;

use super::load::{excerpt_of, seen};
use super::{Answer, feed_address, load_address, seller_address, stages};
use crate::frame::{Heading, chip, empty, page};
use crate::visit::{Refusal, Visit};
use crate::words::{error_type, time};
use crate::{Console, words};

/// Events of the history that a page shows.
const EVENTS: usize = 50;
/// The name of the snippets that are made of offers.
const CARDS: &str = "offer";

pub(crate) async fn show(State(console): State<Console>, visit: Visit, Path(id): Path<String>) -> Answer {
    let id: OfferId = id.parse().map_err(|error| visit.offers(Error::BadId(error)))?;
    let offer = console.offers.get(id).await.map_err(|error| visit.offers(error))?;
    if !visit.access.sees_seller(&offer.seller_id) {
        return Err(visit.offers(Error::NoOffer(id)));
    }
    let reader = Reader { catalog: &console.offers.catalog, language: visit.language };
    let item = OfferJson::of(&offer, reader);
    let content = html! {
        div #state data-live {
            p { (chip(&visit, item.status)) @if item.archived { " " span.faint { (visit.say("in the archive", "в архиве")) } } }
            (problems(&console.offers, &visit, id, &item).await?)
        }
        div.columns {
            (photos(&visit, &item.content.photos))
            (facts(&visit, &offer, &item))
        }
        @if let Some(text) = &item.content.description { section { h2 { (visit.say("Description", "Описание")) }
            p.text { bdi { (text) } } } }
        @if !item.content.attributes.is_empty() { (attributes(&visit, &item.content.attributes)) }
        (origin(&console, &visit, &item).await?)
        (stages::of_offer(&console, &visit, &offer, id).await?)
        (super::silver::offer_section(&console, &visit, &offer).await?)
        (events(&console.offers, &visit, id).await?)
        (cards(&console, &visit, &item.id).await?)
    };
    let title = item.content.title.clone().unwrap_or_else(|| item.id.clone());
    let heading = Heading::new(title)
        .below("/console/sellers", visit.say("Sellers", "Продавцы"))
        .below(seller_address(&item.seller_id), &item.seller_id)
        .below(format!("{}/offers", seller_address(&item.seller_id)), visit.say("Offers", "Предложения"))
        .live(3_000);
    Ok(page(&visit, &heading, &content))
}

/// A ban, failed photos, a video that is gone, and what the last load said.
async fn problems(offers: &Offers, visit: &Visit, id: OfferId, item: &OfferJson) -> Result<Markup, Refusal> {
    let from_feed = offers.feed_problems(id).await.map_err(|error| visit.offers(error))?;
    let issues = from_feed.map(|found| found.issues).unwrap_or_default();
    let failed: Vec<_> = item.content.photos.iter().filter(|photo| photo.error.is_some()).collect();
    let video = item.video_error.as_ref();
    if item.status != "banned" && issues.is_empty() && failed.is_empty() && video.is_none() {
        return Ok(html! {});
    }
    Ok(html! {
        div.notice.bad {
            h2 { (visit.say("Problems", "Проблемы")) }
            ul {
                @if item.status == "banned" {
                    li {
                        span.chip.error { (error_type(visit, "banned")) } " "
                        bdi { (item.ban_text.as_deref().unwrap_or_default()) } " "
                        span.faint { bdi { (item.ban_reasons.join(", ")) } }
                    }
                }
                @for issue in &issues {
                    li {
                        span.chip.error { (error_type(visit, feeds::report::type_name(issue.r#type()))) } " "
                        bdi { (message::render(issue, visit.language)) }
                    }
                }
                @for photo in failed {
                    li {
                        span.chip.error { (error_type(visit, feeds::report::type_name(IssueType::Photo))) } " "
                        @if let Some(error) = &photo.error { bdi { (error.message) } } " "
                        bdi.faint.address { (photo.url) }
                    }
                }
                @if let Some(error) = video {
                    li {
                        span.chip.error { (error_type(visit, feeds::report::type_name(IssueType::Video))) } " "
                        bdi { (error.message) } " "
                        bdi.faint.address { (item.content.video_url.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    })
}

fn photos(visit: &Visit, photos: &[PhotoJson]) -> Markup {
    html! {
        section.photos #photos data-live aria-label=(visit.say("Photos", "Фотографии")) {
            @if photos.is_empty() { (empty(visit.say("No photos.", "Фотографий нет."))) }
            @for (place, photo) in photos.iter().enumerate() {
                @match (photo.sizes.get("800"), photo.sizes.get("400")) {
                    (Some(large), Some(small)) => a href=(large.url) {
                        img src=(small.url) width=(small.width) height=(small.height)
                            alt=(format!("{} {}", visit.say("Photo", "Фото"), place + 1));
                    },
                    (_, Some(small)) => img src=(small.url) width=(small.width) height=(small.height)
                        alt=(format!("{} {}", visit.say("Photo", "Фото"), place + 1));,
                    _ => span.no-photo { (chip(visit, photo.state.as_deref().unwrap_or("waiting"))) },
                }
            }
        }
    }
}

/// With how many like offers it rests on.
fn predicted(visit: &Visit, item: &OfferJson) -> Option<String> {
    let price = item.predicted_price.as_ref()?;
    let from = item.predicted_from.unwrap_or_default();
    let rests_on = visit.say("like offers", "похожих предложений");
    Some(format!("{} {} ({rests_on}: {from})", price.amount, price.currency))
}

fn facts(visit: &Visit, offer: &Offer, item: &OfferJson) -> Markup {
    let ContentJson { category, condition, location, contacts, .. } = &item.content;
    let none = Content::default();
    let content = offer.content.as_ref().unwrap_or(&none);
    let plain = FIELDS.iter().filter_map(|field| {
        let (en, ru) = field.label?;
        let value = field.text(content).into_owned();
        // A number that is not known is 0.
        Some((visit.say(en, ru), Some(value).filter(|value| value != "0")))
    });
    let path = category.as_ref().map(|category| category.path.join(" / "));
    let place =
        location.as_ref().and_then(|location| location.name.clone().or_else(|| location.address.clone()));
    let condition = condition.map(|condition| words::condition(visit, condition).to_owned());
    let fact = |name: &str, value: Option<String>| {
        html! {
            @if let Some(value) = value.filter(|value| !value.is_empty()) { div { dt { (name) } dd { bdi { (value) } } } }
        }
    };
    html! {
        dl.facts {
            (fact(visit.say("Price", "Цена"), Some(price_text(content.price.as_ref()))))
            (fact(visit.say("Predicted price", "Прогноз цены"), predicted(visit, item)))
            (fact(visit.say("Category", "Категория"), path))
            (fact(visit.say("Condition", "Состояние"), condition))
            (fact(visit.say("Place", "Место"), place))
            @for (name, value) in plain { (fact(name, value)) }
            (fact(visit.say("Contact", "Контакт"), contacts.as_ref().and_then(|contacts| contacts.name.clone())))
            (fact(visit.say("Number", "Номер"), Some(item.id.clone())))
            (fact(visit.say("Version", "Версия"), Some(item.version.to_string())))
            div { dt { (visit.say("Made", "Создано")) } dd { (time(item.created_at)) } }
            div { dt { (visit.say("Changed", "Изменено")) } dd { (time(item.updated_at)) } }
            @if let Some(at) = item.expires_at { div { dt { (visit.say("Expires", "Истекает")) } dd { (time(at)) } } }
        }
    }
}

fn attributes(visit: &Visit, attributes: &[AttributeJson]) -> Markup {
    let one = |value: &ValueJson| match value {
        ValueJson::Flag(true) => visit.say("yes", "да").to_owned(),
        ValueJson::Flag(false) => visit.say("no", "нет").to_owned(),
        ValueJson::Number(number) => number.to_string(),
        ValueJson::Text(text) => text.clone(),
    };
    let value = |attribute: &AttributeJson| {
        let plain = match &attribute.value {
            ValuesJson::One(value) => one(value),
            ValuesJson::Several(values) => values.iter().map(one).collect::<Vec<_>>().join(", "),
        };
        let unit = attribute.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        attribute.label.clone().unwrap_or(plain) + &unit
    };
    html! {
        section {
            h2 { (visit.say("Attributes", "Характеристики")) }
            dl.facts {
                @for attribute in attributes {
                    div { dt { bdi { (attribute.name.as_deref().unwrap_or(&attribute.id)) } } dd { bdi { (value(attribute)) } } }
                }
            }
        }
    }
}

/// The feed, the load and the line that the offer was made of.
async fn origin(console: &Console, visit: &Visit, item: &OfferJson) -> Result<Markup, Refusal> {
    let from = &item.origin;
    let (Some(namespace), Some(task_id)) = (&from.namespace, from.task_id) else {
        return Ok(html! { p.faint { (visit.say("Made by hand.", "Создано вручную.")) } });
    };
    let key = FeedKey { seller: item.seller_id.clone(), namespace: namespace.clone() };
    let line = from.line.unwrap_or(0);
    let task = task_id.to_string();
    // The load may be forgotten, and of a collected feed the seller sees no line.
    let excerpt = if line > 0 { seen(console, visit, &key, task_id, line).await.ok() } else { None };
    Ok(html! {
        section aria-labelledby="origin" {
            h2 #origin { (visit.say("Where it comes from", "Откуда взято")) }
            dl.facts {
                div { dt { (visit.say("Feed", "Фид")) } dd { a href=(feed_address(&key)) { (namespace) } } }
                div { dt { (visit.say("Id there", "Идентификатор в фиде")) }
                    dd { bdi { (from.external_id.as_deref().unwrap_or_default()) } } }
                div { dt { (visit.say("Last changed by load", "Изменено загрузкой")) }
                    dd { a href=(load_address(&key, &task)) { "№" (task) }
                        @if line > 0 { ", " a href=(format!("{}?line={line}#line", load_address(&key, &task))) {
                            (visit.say("line", "строка")) " " (line) } } } }
            }
            @if let Some(excerpt) = &excerpt { (excerpt_of(visit, line, excerpt)) }
        }
    })
}

async fn events(offers: &Offers, visit: &Visit, id: OfferId) -> Result<Markup, Refusal> {
    // An archived offer has no history in the tables.
    let events = match offers.events(id, None, EVENTS).await {
        Err(Error::NoOffer(_)) => Vec::new(),
        events => events.map_err(|error| visit.offers(error))?,
    };
    let events: Vec<_> = events.into_iter().map(EventJson::of).collect();
    Ok(html! {
        section aria-labelledby="history" {
            h2 #history { (visit.say("History", "История")) }
            div #events data-live { div.scroll tabindex="0" { table {
                thead { tr {
                    th { (visit.say("When", "Когда")) }
                    th { (visit.say("Who", "Кто")) }
                    th { (visit.say("Why", "Почему")) }
                    th { (visit.say("What", "Что")) }
                } }
                tbody {
                    @for event in &events {
                        tr {
                            td { (time(event.at)) br; span.faint { "v" (event.version) } }
                            td { (words::who(visit, event.who.kind)) " " bdi.faint { (event.who.name.as_deref().filter(|name| *name != event.who.kind).unwrap_or_default()) } }
                            td { code { (event.reason) } " " (chip(visit, event.status)) }
                            td {
                                @for field in &event.fields {
                                    div { code { (field.path) } " "
                                        bdi { (field.from.as_deref().unwrap_or("—")) } " → " bdi { (field.to.as_deref().unwrap_or("—")) } }
                                }
                            }
                        }
                    }
                }
            } } }
        }
    })
}

async fn cards(console: &Console, visit: &Visit, id: &str) -> Result<Markup, Refusal> {
    let Some(snippets) = &console.snippets else { return Ok(html! {}) };
    // Another configuration may have no such group.
    let found = match snippets.documents(CARDS, id).await {
        Err(snippets::Error::BadRequest(_)) => return Ok(html! {}),
        found => found.map_err(|error| visit.refused(error))?,
    };
    Ok(html! {
        section aria-labelledby="snippets" {
            h2 #snippets { (visit.say("Snippets", "Сниппеты")) }
            div #cards data-live {
                @if found.is_empty() { (empty(visit.say("None.", "Нет."))) }
                @for shown in &found { (document(visit, shown)) }
            }
        }
    })
}

/// A document under its name.
pub(super) fn document(visit: &Visit, shown: &Shown) -> Markup {
    let pretty = serde_json::from_str::<serde_json::Value>(&shown.content)
        .ok()
        .filter(|_| shown.format == snippets::Format::Json)
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    html! {
        article.card.document {
            header {
                h3 { code { (shown.name) } @if !shown.language.is_empty() { " " span.chip { (shown.language) } } }
                span.faint { (shown.format)
                    @if let Some(at) = shown.expires_at { ", " (visit.say("until ", "до ")) (time(at)) } }
            }
            pre tabindex="0" { code { bdi { (pretty.as_deref().unwrap_or(&shown.content)) } } }
        }
    }
}
