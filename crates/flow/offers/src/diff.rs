//! What changed between two states of an offer, as paths with small values from → to.

use model::{Attribute, Content, Issue, Location, Money, Offer, Value, money, status};
use wire::model::value::Kind;
use wire::offers::FieldChange;

/// Longer values are named, not shown.
const MAX_SHOWN_BYTES: usize = 200;

/// The changed fields that people and services care for; times and row-keeping are not among them.
pub fn diff(before: &Offer, after: &Offer) -> Vec<FieldChange> {
    let mut found = Vec::new();
    let mut text = |path: &str, from: String, to: String| {
        if from != to {
            found.push(change(path, from, to));
        }
    };
    text("status", status::name(before.status()).into(), status::name(after.status()).into());
    text("ban_reasons", before.ban_reasons.join(", "), after.ban_reasons.join(", "));
    text("ban_text", before.ban_text.clone(), after.ban_text.clone());
    text("origin", origin(before), origin(after));
    text("expires_at", moment(before.expires_at), moment(after.expires_at));
    text("predicted_price", predicted(before), predicted(after));
    text("photos", photos(before), photos(after));
    text("photo_order", before.photo_order.join(" "), after.photo_order.join(" "));
    text("video_error", error(before.video_error.as_ref()), error(after.video_error.as_ref()));
    let empty = Content::default();
    contents(before.content.as_ref().unwrap_or(&empty), after.content.as_ref().unwrap_or(&empty), &mut found);
    found
}

/// The same for what the seller wrote alone.
pub fn diff_contents(before: &Content, after: &Content) -> Vec<FieldChange> {
    let mut found = Vec::new();
    contents(before, after, &mut found);
    found
}

fn contents(before: &Content, after: &Content, found: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    let mut text = |path: &str, from: String, to: String| {
        if from != to {
            found.push(change(path, from, to));
        }
    };
    text("category_id", before.category_id.clone(), after.category_id.clone());
    text("title", before.title.clone(), after.title.clone());
    text("description", before.description.clone(), after.description.clone());
    text("price", price(before.price.as_ref()), price(after.price.as_ref()));
    let condition = |content: &Content| content.condition().as_str_name().to_lowercase();
    text("condition", condition(before), condition(after));
    text("photo_urls", before.photo_urls.join(" "), after.photo_urls.join(" "));
    text("video_url", before.video_url.clone(), after.video_url.clone());
    text("location", location(before.location.as_ref()), location(after.location.as_ref()));
    text("contacts", contacts(before), contacts(after));
    text("vendor", before.vendor.clone(), after.vendor.clone());
    text("barcode", before.barcode.clone(), after.barcode.clone());
    text("weight_grams", before.weight_grams.to_string(), after.weight_grams.to_string());
    text("dimensions", dimensions(before), dimensions(after));
    text("url", before.url.clone(), after.url.clone());
    attributes(&before.attributes, &after.attributes, found);
}

fn attributes(before: &[Attribute], after: &[Attribute], found: &mut Vec<FieldChange>) {
    let of = |list: &[Attribute], id: &str| list.iter().find(|attribute| attribute.id == id).map(written);
    for attribute in after {
        let from = of(before, &attribute.id).unwrap_or_default();
        let to = written(attribute);
        if from != to {
            found.push(change(&format!("attributes.{}", attribute.id), from, to));
        }
    }
    for gone in before.iter().filter(|old| !after.iter().any(|new| new.id == old.id)) {
        found.push(change(&format!("attributes.{}", gone.id), written(gone), String::new()));
    }
}

fn change(path: &str, from: String, to: String) -> FieldChange {
    let shown = |text: String| (text.len() <= MAX_SHOWN_BYTES).then_some(text);
    FieldChange { path: path.to_owned(), from: shown(from), to: shown(to) }
}

/// An attribute's values as one text.
pub fn written(attribute: &Attribute) -> String {
    let value = |value: &Value| match &value.kind {
        None => String::new(),
        Some(Kind::Text(text) | Kind::Option(text)) => text.clone(),
        Some(Kind::Number(number)) => number.to_string(),
        Some(Kind::Flag(flag)) => flag.to_string(),
    };
    let values: Vec<_> = attribute.values.iter().map(value).collect();
    let unit = if attribute.unit.is_empty() { String::new() } else { format!(" {}", attribute.unit) };
    format!("{}{unit}", values.join(", "))
}

fn price(price: Option<&Money>) -> String {
    price.map(|price| format!("{} {}", money::amount(price), price.currency)).unwrap_or_default()
}

/// With how many offers it rests on, which is part of what it says.
fn predicted(offer: &Offer) -> String {
    match (&offer.predicted_price, offer.predicted_from) {
        (None, _) => String::new(),
        (price_of, 0) => price(price_of.as_ref()),
        (price_of, from) => format!("{} ({from})", price(price_of.as_ref())),
    }
}

fn error(error: Option<&Issue>) -> String {
    error.map(|error| format!("{} {}", error.code, error.value).trim().to_owned()).unwrap_or_default()
}

fn moment(micros: i64) -> String {
    if micros == 0 { String::new() } else { kit::Timestamp(micros).to_string() }
}

fn origin(offer: &Offer) -> String {
    match &offer.origin {
        Some(origin) if !origin.namespace.is_empty() => {
            format!("feed {} {}", origin.namespace, origin.external_id)
        }
        _ => "manual".to_owned(),
    }
}

fn photos(offer: &Offer) -> String {
    let states: Vec<_> = offer
        .photos
        .iter()
        .map(|photo| format!("{} {}", photo.state().as_str_name().to_lowercase(), photo.url))
        .collect();
    states.join(", ")
}

fn location(location: Option<&Location>) -> String {
    let Some(Location { lat, lon, address, geo_id, name }) = location else { return String::new() };
    let coordinates = match (lat, lon) {
        (Some(lat), Some(lon)) => format!("{lat},{lon}"),
        _ => String::new(),
    };
    [address, name, geo_id, &coordinates]
        .into_iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join("; ")
}

fn contacts(content: &Content) -> String {
    let Some(contacts) = &content.contacts else { return String::new() };
    format!("{} {} {}", contacts.name, contacts.phones.join(", "), contacts.email).trim().to_owned()
}

fn dimensions(content: &Content) -> String {
    content
        .dimensions
        .as_ref()
        .map(|size| format!("{} × {} × {} mm", size.length_mm, size.width_mm, size.height_mm))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_content_is_compared() {
        // All fields set, so that a new field of the message must be added to this test and to `contents`.
        let full = Content {
            category_id: "a".into(),
            catalog_version: 1,
            title: "a".into(),
            description: "a".into(),
            price: Some(Money { minor: 100, currency: "RUB".into() }),
            condition: 1,
            attributes: vec![Attribute { id: "color".into(), ..Attribute::default() }],
            photo_urls: vec!["a".into()],
            video_url: "a".into(),
            location: Some(Location { address: "a".into(), ..Location::default() }),
            contacts: Some(model::Contacts { name: "a".into(), ..model::Contacts::default() }),
            vendor: "a".into(),
            barcode: "a".into(),
            weight_grams: 1,
            dimensions: Some(model::Dimensions::default()),
            url: "a".into(),
        };
        let mut paths: Vec<_> =
            diff_contents(&Content::default(), &full).into_iter().map(|change| change.path).collect();
        // An attribute without values reads as nothing, so it is no change of words; nor is the catalog's version, which
        // would make a new catalog a change of every offer.
        paths.sort();
        assert_eq!(paths.len(), 14, "{paths:?}");
        assert!(diff_contents(&full, &full).is_empty());
    }

    #[test]
    fn long_values_are_named_only() {
        let of = |title: String| Content { title, ..Content::default() };
        let changes = diff_contents(&of("a".repeat(201)), &of("b".into()));
        assert_eq!(
            (changes[0].path.as_str(), &changes[0].from, changes[0].to.as_deref()),
            ("title", &None, Some("b"))
        );
    }
}
