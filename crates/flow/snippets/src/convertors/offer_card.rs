use bytes::Bytes;
use prost::Message as _;
use serde_json::{Map, Value, json};
use wire::model::{Condition, Money, Offer, PhotoState, Status};
use wire::offers::OfferChange;
use wire::snippets::{CardPhoto, CardPrice, CardWord, OfferCard};

use super::{Convertor, Document};
use crate::Format;
use crate::content::Content;
use crate::error::{Invalid, Refusal};

/// The card of an offer in one language, made of `dvor.offers.v1.OfferChange`. An offer that is gone has no card.
///
/// `snippets/offer_card.jq` makes the same and is the place to begin a card of one's own; this one is shipped because
/// every change of every offer passes here, and the jq program took most of the time of all that follows a change.
pub(crate) struct OfferCards;

impl Convertor for OfferCards {
    fn supports(&self, input: Format, output: Format) -> bool {
        input == Format::Pb && matches!(output, Format::Json | Format::Pb)
    }

    fn speaks(&self, language: &str) -> bool {
        matches!(language, "ru" | "en")
    }

    fn convert(
        &self,
        content: &Content,
        output: Format,
        languages: &[&str],
    ) -> Result<Vec<Document>, Refusal> {
        let change = OfferChange::decode(content.bytes.clone())
            .map_err(|error| Invalid::new(format!("this is not an OfferChange: {error}")))?;
        let offer = change.offer.unwrap_or_default();
        if offer.status() == Status::Deleted || offer.archived {
            return Ok(vec![Document::Delete; languages.len()]);
        }
        let document = |language: &&str| {
            let card = card(&offer, change.version, language);
            Document::Put(match output {
                Format::Pb => card.encode_to_vec().into(),
                _ => to_json(card),
            })
        };
        Ok(languages.iter().map(document).collect())
    }
}

fn card(offer: &Offer, version: i64, language: &str) -> OfferCard {
    let nothing = wire::model::Content::default();
    let content = offer.content.as_ref().unwrap_or(&nothing);
    let (status, condition) = (offer.status(), content.condition());
    let ready =
        model::photo_order::shown(offer).into_iter().filter(|photo| photo.state() == PhotoState::Ready);
    OfferCard {
        seller_id: offer.seller_id.clone(),
        title: content.title.clone(),
        description: content.description.clone(),
        price: content
            .price
            .as_ref()
            .filter(|price| !price.currency.is_empty())
            .map(|price| shown(price, language)),
        condition: (condition != Condition::Unspecified).then(|| CardWord {
            code: condition.as_str_name().to_lowercase(),
            text: condition_word(condition, language).to_owned(),
        }),
        status: Some(CardWord {
            code: status.as_str_name().to_lowercase(),
            text: status_word(status, language).to_owned(),
        }),
        category_id: content.category_id.clone(),
        vendor: content.vendor.clone(),
        place: content.location.as_ref().map(|location| location.name.clone()).unwrap_or_default(),
        url: content.url.clone(),
        photos: ready
            .map(|photo| CardPhoto { hash: photo.hash.clone(), width: photo.width, height: photo.height })
            .collect(),
        version,
    }
}

/// What is empty is left out, but for what every card has.
fn to_json(card: OfferCard) -> Bytes {
    let word = |word: CardWord| json!({"code": word.code, "text": word.text});
    let mut fields = Map::new();
    let texts = [
        ("description", card.description),
        ("category_id", card.category_id),
        ("vendor", card.vendor),
        ("place", card.place),
        ("url", card.url),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.insert(name.to_owned(), Value::String(text));
    }
    fields.insert("seller_id".to_owned(), Value::String(card.seller_id));
    fields.insert("title".to_owned(), Value::String(card.title));
    fields.insert("version".to_owned(), Value::from(card.version));
    if let Some(price) = card.price {
        let price = json!({"amount": price.amount, "currency": price.currency, "text": price.text});
        fields.insert("price".to_owned(), price);
    }
    for (name, found) in [("condition", card.condition), ("status", card.status)] {
        if let Some(found) = found {
            fields.insert(name.to_owned(), word(found));
        }
    }
    if !card.photos.is_empty() {
        let photos = card
            .photos
            .into_iter()
            .map(|photo| json!({"hash": photo.hash, "width": photo.width, "height": photo.height}));
        fields.insert("photos".to_owned(), photos.collect());
    }
    Value::Object(fields).to_string().into()
}

fn condition_word(condition: Condition, language: &str) -> &'static str {
    let (ru, en) = match condition {
        Condition::Unspecified => ("", ""),
        Condition::New => ("новый", "new"),
        Condition::Used => ("б/у", "used"),
        Condition::Refurbished => ("восстановленный", "refurbished"),
    };
    if language == "ru" { ru } else { en }
}

fn status_word(status: Status, language: &str) -> &'static str {
    let (ru, en) = match status {
        Status::Unspecified | Status::Deleted => ("", ""),
        Status::Active => ("в продаже", "on sale"),
        Status::Inactive => ("снято с продажи", "withdrawn"),
        Status::Expired => ("срок истёк", "expired"),
        Status::Banned => ("заблокировано", "banned"),
        Status::SoldHere | Status::SoldElsewhere => ("продано", "sold"),
    };
    if language == "ru" { ru } else { en }
}

/// 1299050 minor units of RUB: 12990.50, «12 990,50 ₽».
fn shown(money: &Money, language: &str) -> CardPrice {
    let amount = model::money::amount(money);
    let (whole, cents) = amount.split_once('.').unwrap_or((&amount, ""));
    let mut text = String::with_capacity(amount.len() + 8);
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    if cents.contains(|digit| digit != '0') {
        text.push(if language == "ru" { ',' } else { '.' });
        text.push_str(cents);
    }
    text.push(' ');
    text.push_str(sign(&money.currency));
    CardPrice { amount, currency: money.currency.clone(), text }
}

fn sign(currency: &str) -> &str {
    match currency {
        "RUB" => "₽",
        "USD" => "$",
        "EUR" => "€",
        "GBP" => "£",
        "KZT" => "₸",
        "BYN" => "Br",
        "UAH" => "₴",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wire::model::{Location, Photo};

    use super::*;
    use crate::config::Assets;
    use crate::convertors::Jq;
    use crate::registry::Making;

    fn change(minor: i64, currency: &str, status: Status, condition: Condition) -> Content {
        let photo = |state: PhotoState, hash: &str| Photo {
            url: format!("u/{hash}"),
            state: state.into(),
            hash: hash.to_owned(),
            width: 40,
            ..Photo::default()
        };
        let content = wire::model::Content {
            title: "Лампа «Заря»".to_owned(),
            description: if minor % 2 == 0 { "a\n\"b\"".to_owned() } else { String::new() },
            price: Some(Money { minor, currency: currency.to_owned() }),
            condition: condition.into(),
            vendor: "Заря".to_owned(),
            location: Some(Location { name: "Тверь".to_owned(), ..Location::default() }),
            ..wire::model::Content::default()
        };
        let offer = Offer {
            seller_id: "north".to_owned(),
            status: status.into(),
            content: Some(content),
            photos: vec![
                photo(PhotoState::Ready, "ab"),
                photo(PhotoState::Failed, "cd"),
                photo(PhotoState::Ready, "ef"),
                photo(PhotoState::Ready, "01"),
            ],
            photo_order: if minor % 2 == 0 { vec!["u/01".to_owned(), "gone".to_owned()] } else { Vec::new() },
            ..Offer::default()
        };
        let change = OfferChange { offer: Some(offer), version: 7, ..OfferChange::default() };
        Content::new(change.encode_to_vec().into(), Format::Pb)
    }

    #[test]
    fn the_jq_program_makes_the_same_card() {
        let assets = Arc::new(Assets::Folder("../../../snippets".into()));
        let making = |output_message| Making {
            parameter: "offer_card.jq",
            assets: &assets,
            descriptor_set: Some("dvor/snippets/v1/offer_card.proto"),
            input_message: Some("dvor.offers.v1.OfferChange"),
            output_message,
        };
        let jq = Jq::load(&making(Some("dvor.snippets.v1.OfferCard")), &Arc::default()).unwrap();
        let prices = [(0, "RUB"), (5, "USD"), (99, "EUR"), (100_000, "RUB"), (1_299_050, "RUB")];
        let more = [(123_456_789, "JPY"), (1_234_567, "KWD"), (77, "XXX"), (1, "")];
        for (minor, currency) in prices.into_iter().chain(more) {
            for status in (0..=7).map(|status| Status::try_from(status).unwrap()) {
                let condition = Condition::try_from(minor as i32 % 4).unwrap_or_default();
                let content = change(minor, currency, status, condition);
                let mut expected = jq.convert(&content, Format::Json, &["ru", "en"]).unwrap();
                let mut found = OfferCards.convert(&content, Format::Json, &["ru", "en"]).unwrap();
                if status == Status::Unspecified {
                    // There it has the code as its word, and here none: no stored offer has it.
                    for documents in [&mut expected, &mut found] {
                        *documents = documents.iter().map(without_status).collect();
                    }
                }
                assert_eq!(text(&found), text(&expected), "{minor} {currency} {status:?}");
                if status != Status::Unspecified {
                    let expected = jq.convert(&content, Format::Pb, &["en"]).unwrap();
                    let found = OfferCards.convert(&content, Format::Pb, &["en"]).unwrap();
                    assert_eq!(found, expected, "{minor} {currency} {status:?}");
                }
            }
        }
    }

    fn without_status(document: &Document) -> Document {
        let Document::Put(bytes) = document else { return document.clone() };
        let mut card: Value = serde_json::from_slice(bytes).unwrap();
        card.as_object_mut().unwrap().remove("status");
        Document::Put(card.to_string().into())
    }

    fn text(documents: &[Document]) -> Vec<String> {
        let text = |document: &Document| match document {
            Document::Put(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Document::Delete => "gone".to_owned(),
        };
        documents.iter().map(text).collect()
    }
}
