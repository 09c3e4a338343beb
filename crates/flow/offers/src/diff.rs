//! What changed between two states of an offer, as paths with small values from → to.

use model::fields::{FIELDS, price_text};
use model::{Attribute, Content, Issue, Offer, Value, status};
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
    for field in &FIELDS {
        let (from, to) = (field.text(before), field.text(after));
        if from != to {
            found.push(change(field.path, from.into_owned(), to.into_owned()));
        }
    }
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

/// With how many offers it rests on, which is part of what it says.
fn predicted(offer: &Offer) -> String {
    match (&offer.predicted_price, offer.predicted_from) {
        (None, _) => String::new(),
        (price, 0) => price_text(price.as_ref()),
        (price, from) => format!("{} ({from})", price_text(price.as_ref())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_the_content_is_told_under_the_names_of_the_table() {
        let price = Some(model::Money { minor: 100, currency: "RUB".into() });
        let after = Offer {
            status: 1,
            ban_reasons: vec!["a".into()],
            ban_text: "a".into(),
            origin: Some(model::Origin { namespace: "a".into(), ..model::Origin::default() }),
            expires_at: 1,
            predicted_price: price,
            photos: vec![model::Photo { url: "a".into(), ..model::Photo::default() }],
            photo_order: vec!["a".into()],
            video_error: Some(Issue { code: "a".into(), ..Issue::default() }),
            ..Offer::default()
        };
        let paths: Vec<_> = diff(&Offer::default(), &after).into_iter().map(|change| change.path).collect();
        assert_eq!(paths, model::fields::BESIDE.map(|(path, _)| path));
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
