//! The fields that every category has.

use model::fields::{FIELDS, Form};
use model::limits::{
    MAX_ADDRESS_CHARS, MAX_CONTACT_NAME_CHARS, MAX_EMAIL_CHARS, MAX_GEO_ID_CHARS, MAX_GRAMS, MAX_MM,
    MAX_NUMBER, MAX_PHONES, MAX_PHOTOS, MAX_PLACE_CHARS, MAX_URL_CHARS,
};
use model::{Contacts, Content, Dimensions, Issue, IssueType, Location, Money, money, photo_url};
use wire::model::value::Kind;

use super::{issue, with, with_value};

pub(super) fn check(content: &Content, issues: &mut Vec<Issue>) {
    if content.title.trim().is_empty() {
        issues.push(issue("title", "required"));
    }
    for field in &FIELDS {
        match &field.form {
            Form::Line { max_chars, get } => line(field.path, get(content), *max_chars, issues),
            Form::Text { max_chars, get } => text(field.path, get(content), *max_chars, issues),
            Form::Link { get } => url(field.path, get(content), issues),
            Form::Number { max, get } => range(field.path, get(content), *max, issues),
            Form::Special(_) => special(field.path, content, issues),
            // The catalog says what is wrong with an attribute.
            Form::Attributes | Form::Untold => {}
        }
    }
}

/// What has parts or rules of its own.
fn special(path: &str, content: &Content, issues: &mut Vec<Issue>) {
    match path {
        "price" => content.price.iter().for_each(|price| check_price(price, issues)),
        "photo_urls" => photos(&content.photo_urls, issues),
        "location" => content.location.iter().for_each(|location| place(location, issues)),
        "contacts" => content.contacts.iter().for_each(|contacts| check_contacts(contacts, issues)),
        "dimensions" => dimensions(content, issues),
        _ => {}
    }
}

/// Numbers that nobody means, of a content that need not be finished.
pub(super) fn numbers(content: &Content, issues: &mut Vec<Issue>) {
    range("weight_grams", content.weight_grams, MAX_GRAMS, issues);
    dimensions(content, issues);
    if let Some(Location { lat, lon, .. }) = &content.location {
        let beyond = |degrees: &Option<f64>, most: f64| {
            degrees.is_some_and(|found| found.is_nan() || found.abs() > most)
        };
        if beyond(lat, 90.0) || beyond(lon, 180.0) {
            issues.push(issue("location", "bad_coordinates"));
        }
    }
    for attribute in &content.attributes {
        let numbers = attribute.values.iter().filter_map(|value| match value.kind {
            Some(Kind::Number(number)) => Some(number),
            _ => None,
        });
        for number in numbers.filter(|number| number.is_nan() || number.abs() > MAX_NUMBER) {
            let field = format!("attributes.{}", attribute.id);
            let issue =
                with(issue(&field, "out_of_range"), [(-MAX_NUMBER).to_string(), MAX_NUMBER.to_string()]);
            issues.push(with_value(issue, &number.to_string()));
        }
    }
}

fn dimensions(content: &Content, issues: &mut Vec<Issue>) {
    if let Some(Dimensions { length_mm, width_mm, height_mm }) = content.dimensions {
        range("dimensions.length_mm", length_mm, MAX_MM, issues);
        range("dimensions.width_mm", width_mm, MAX_MM, issues);
        range("dimensions.height_mm", height_mm, MAX_MM, issues);
    }
}

/// Text of several lines.
fn text(field: &str, text: &str, most: usize, issues: &mut Vec<Issue>) {
    length(field, text, most, issues);
    if text.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
        issues.push(issue(field, "control_character"));
    }
}

/// Text of one line.
pub(super) fn line(field: &str, text: &str, most: usize, issues: &mut Vec<Issue>) {
    length(field, text, most, issues);
    if text.chars().any(char::is_control) {
        issues.push(issue(field, "control_character"));
    }
}

fn length(field: &str, text: &str, most: usize, issues: &mut Vec<Issue>) {
    let chars = text.chars().count();
    if chars > most {
        issues.push(with(issue(field, "too_long"), [chars.to_string(), most.to_string()]));
    }
}

pub(super) fn count(field: &str, count: usize, most: usize, issues: &mut Vec<Issue>) {
    if count > most {
        issues.push(with(issue(field, "too_many"), [count.to_string(), most.to_string()]));
    }
}

fn range(field: &str, number: i64, most: i64, issues: &mut Vec<Issue>) {
    if !(0..=most).contains(&number) {
        let issue = with(issue(field, "out_of_range"), ["0".to_owned(), most.to_string()]);
        issues.push(with_value(issue, &number.to_string()));
    }
}

fn check_price(price: &Money, issues: &mut Vec<Issue>) {
    if !money::is_currency(&price.currency) {
        issues.push(with_value(issue("price.currency", "bad_currency"), &price.currency));
    } else if !(0..=money::MAX_MINOR).contains(&price.minor) {
        issues.push(with_value(issue("price.amount", "bad_amount"), &money::amount(price)));
    }
}

fn photos(urls: &[String], issues: &mut Vec<Issue>) {
    count("photos", urls.len(), MAX_PHOTOS, issues);
    for (place, address) in urls.iter().enumerate().take(MAX_PHOTOS) {
        let field = format!("photos.{place}.url");
        if address.is_empty() {
            issues.push(issue(&field, "required"));
        } else if urls[..place].contains(address) {
            issues.push(issue(&field, "repeated"));
        } else if !photo_url::is_upload(address) {
            url(&field, address, issues);
        }
    }
}

/// Empty is fine; else a web address that a browser would take, of printable characters.
fn url(field: &str, address: &str, issues: &mut Vec<Issue>) {
    if address.is_empty() {
        return;
    }
    length(field, address, MAX_URL_CHARS, issues);
    if !is_url(address) {
        issues.push(with_value(issue(field, "bad_url"), address));
    }
}

fn is_url(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && host.chars().any(char::is_alphanumeric)
        && !address.chars().any(|char| char.is_control() || char.is_whitespace())
}

fn place(location: &Location, issues: &mut Vec<Issue>) {
    let Location { lat, lon, address, geo_id, name } = location;
    let geo = |field: &str, code: &str| Issue { r#type: IssueType::Geo.into(), ..issue(field, code) };
    match (lat, lon) {
        (None, None) => {}
        (Some(lat), Some(lon)) if (-90.0..=90.0).contains(lat) && (-180.0..=180.0).contains(lon) => {}
        (Some(_), Some(_)) => issues.push(geo("location", "bad_coordinates")),
        (None, Some(_)) => issues.push(geo("location.lat", "required")),
        (Some(_), None) => issues.push(geo("location.lon", "required")),
    }
    line("location.address", address, MAX_ADDRESS_CHARS, issues);
    line("location.geo_id", geo_id, MAX_GEO_ID_CHARS, issues);
    line("location.name", name, MAX_PLACE_CHARS, issues);
}

fn check_contacts(contacts: &Contacts, issues: &mut Vec<Issue>) {
    line("contacts.name", &contacts.name, MAX_CONTACT_NAME_CHARS, issues);
    count("contacts.phones", contacts.phones.len(), MAX_PHONES, issues);
    for (place, phone) in contacts.phones.iter().enumerate().take(MAX_PHONES) {
        if !is_phone(phone) {
            issues.push(with_value(issue(&format!("contacts.phones.{place}"), "bad_phone"), phone));
        }
    }
    let email = &contacts.email;
    length("contacts.email", email, MAX_EMAIL_CHARS, issues);
    if !email.is_empty() && !is_email(email) {
        issues.push(with_value(issue("contacts.email", "bad_email"), email));
    }
}

/// Five to fifteen digits with the usual signs between them.
fn is_phone(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let rest = text.strip_prefix('+').unwrap_or(text);
    (5..=15).contains(&digits) && rest.chars().all(|char| char.is_ascii_digit() || " -().".contains(char))
}

fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    let sane = |part: &str| {
        !part.is_empty() && !part.chars().any(|char| char == '@' || char.is_whitespace() || char.is_control())
    };
    parts.is_some_and(|(name, host)| sane(name) && sane(host) && !host.starts_with('.'))
}
