//! Where the goods are.

use geo::{Answer, Place};
use model::limits::MAX_ADDRESS_CHARS;
use model::{Issue, Location};

use super::{Knowledge, Settings};
use crate::issue;
use crate::offer::FeedOffer;

/// Coordinates decide, else the address.
pub(super) fn location(
    offer: &FeedOffer,
    knowledge: &Knowledge,
    settings: &Settings,
    issues: &mut Vec<Issue>,
) -> Option<Location> {
    let address = super::html::line(&offer.address);
    let mut address = super::limited(address, "location", MAX_ADDRESS_CHARS, issues);
    if let Some((lat, lon)) = coordinates(offer, issues) {
        if let Some((place, _)) = knowledge.places.nearest(lat, lon) {
            return Some(Location { lat: Some(lat), lon: Some(lon), address, ..at(place) });
        }
        issues.push(issue::warning("bad_coordinates", "location", &format!("{lat}, {lon}")));
    }
    if address.is_empty() {
        address = super::limited(settings.address.clone(), "location", MAX_ADDRESS_CHARS, issues);
    }
    if address.is_empty() {
        issues.push(issue::warning("geo_missing", "location", ""));
        return None;
    }
    match knowledge.places.find_text(&address) {
        Answer::Found(place) => Some(Location { address, ..at(place) }),
        Answer::Ambiguous(places) => {
            let names: Vec<String> = places.iter().take(3).map(|place| described(place, knowledge)).collect();
            let mut issue =
                issue::with(issue::error("geo_ambiguous", "location", &address), &[&names.join("; ")]);
            issue.suggestion = names.into_iter().next().unwrap_or_default();
            issues.push(issue);
            None
        }
        Answer::NotFound { suggestions } => {
            let mut issue = issue::error("geo_unknown", "location", &address);
            let names: Vec<&str> = suggestions.iter().take(3).map(|place| name(place)).collect();
            issue.suggestion = names.join(", ");
            issues.push(issue);
            None
        }
    }
}

fn coordinates(offer: &FeedOffer, issues: &mut Vec<Issue>) -> Option<(f64, f64)> {
    if offer.lat.is_empty() && offer.lon.is_empty() {
        return None;
    }
    let number = |text: &str| text.trim().replace(',', ".").parse::<f64>().ok();
    let (lat, lon) = (number(&offer.lat), number(&offer.lon));
    match (lat, lon) {
        // Null Island is where programs put what they do not know.
        (Some(lat), Some(lon)) if lat.abs() <= 90.0 && lon.abs() <= 180.0 && (lat, lon) != (0.0, 0.0) => {
            Some((lat, lon))
        }
        _ => {
            let written = format!("{}, {}", offer.lat, offer.lon);
            issues.push(issue::warning("bad_coordinates", "location", &written));
            None
        }
    }
}

fn at(place: &Place) -> Location {
    Location { geo_id: place.id.to_string(), name: name(place).to_owned(), ..Location::default() }
}

fn name(place: &Place) -> &str {
    if place.name_ru.is_empty() { &place.name } else { &place.name_ru }
}

fn described(place: &Place, knowledge: &Knowledge) -> String {
    match knowledge.places.region(&place.region) {
        Some(region) if !region.name_ru.is_empty() => format!("{}, {}", name(place), region.name_ru),
        Some(region) => format!("{}, {}", name(place), region.name),
        None => name(place).to_owned(),
    }
}
