//! What the schema, unify and the docs say of an offer's fields is what `model::limits` says.

use std::fmt::Write as _;

use feeds::{Knowledge, Settings, unify};
use model::limits::{MAX_GRAMS, MAX_MM, MAX_PHONES, MAX_PHOTOS, texts};

use crate::{good, said};

const PAGE: &str = include_str!("../../../../../docs/feed-formats.md");

/// A text of so many characters that the field would take.
fn text(path: &str, chars: usize) -> String {
    let (head, tail) = match path {
        "url" | "video_url" => ("https://shop.example/", ""),
        "contacts.email" => ("", "@shop.example"),
        "location.address" => ("Москва ", ""),
        _ => ("", ""),
    };
    let letter = if path.ends_with("url") || path == "contacts.email" { "x" } else { "ж" };
    format!("{head}{}{tail}", letter.repeat(chars - head.chars().count() - tail.len()))
}

/// An own feed whose offer has this text in this field.
fn feed(path: &str, text: &str) -> String {
    let element = match path {
        "contacts.name" => format!("<contacts><name>{text}</name></contacts>"),
        "contacts.email" => format!("<contacts><email>{text}</email></contacts>"),
        "location.address" => format!("<location lat=\"55.7558\" lon=\"37.6173\">{text}</location>"),
        "video_url" => format!("<video>{text}</video>"),
        name => format!("<{name}>{text}</{name}>"),
    };
    let title = if path == "title" { String::new() } else { "<title>Drill</title>".to_owned() };
    format!(
        "<feed version=\"1\"><offers><offer id=\"1\">{title}{element}\
         </offer></offers></feed>"
    )
}

#[test]
fn the_schema_takes_what_the_limits_allow_and_no_more() {
    for (path, most) in texts() {
        let fits = good(feed(path, &text(path, most)));
        assert_eq!(said(&fits[0]), [""; 0], "{path} of {most}");
        let longer = good(feed(path, &text(path, most + 1)));
        assert_eq!(said(&longer[0]), ["error too_long"], "{path} of {}", most + 1);
    }
}

#[test]
fn unify_keeps_what_the_limits_allow_whole_and_makes_nothing_longer() {
    let knowledge = Knowledge::shipped();
    for (path, most) in texts() {
        for chars in [most, most + 1] {
            let mut offer = good(feed(path, &text(path, most)))[0].offer.clone();
            let field = match path {
                "title" => &mut offer.title,
                "description" => &mut offer.description,
                "vendor" => &mut offer.vendor,
                "barcode" => &mut offer.barcode,
                "contacts.name" => &mut offer.contact_name,
                "contacts.email" => &mut offer.email,
                "location.address" => &mut offer.address,
                "url" => &mut offer.url,
                _ => &mut offer.video,
            };
            *field = text(path, chars);
            let (content, issues) = unify(&offer, &knowledge, &Settings::default());
            let contacts = content.contacts.unwrap_or_default();
            let kept = match path {
                "title" => content.title,
                "description" => content.description,
                "vendor" => content.vendor,
                "barcode" => content.barcode,
                "contacts.name" => contacts.name,
                "contacts.email" => contacts.email,
                "location.address" => content.location.map(|place| place.address).unwrap_or_default(),
                "url" => content.url,
                _ => content.video_url,
            };
            let length = kept.chars().count();
            assert_eq!(
                length == most,
                chars == most || length > 0,
                "{path} of {chars}: {length}, {issues:?}"
            );
            assert!(length <= most);
        }
    }
}

#[test]
fn unify_counts_and_measures_within_the_limits() {
    let knowledge = Knowledge::shipped();
    let mut offer = good(feed("vendor", "x"))[0].offer.clone();
    offer.images = (0..=MAX_PHOTOS).map(|number| format!("https://shop.example/{number}.jpg")).collect();
    offer.phones = (0..=MAX_PHONES).map(|number| format!("+7 900 123-45-{number:02}")).collect();
    for (grams, mm) in [(MAX_GRAMS, MAX_MM), (MAX_GRAMS + 1, MAX_MM + 1)] {
        (offer.weight, offer.weight_unit) = (grams.to_string(), "g".to_owned());
        (offer.length, offer.size_unit) = (mm.to_string(), "mm".to_owned());
        let (content, _) = unify(&offer, &knowledge, &Settings::default());
        assert_eq!(
            (content.photo_urls.len(), content.contacts.unwrap().phones.len()),
            (MAX_PHOTOS, MAX_PHONES)
        );
        assert_eq!(content.weight_grams, if grams > MAX_GRAMS { 0 } else { grams });
        assert_eq!(content.dimensions.map_or(0, |size| size.length_mm), if mm > MAX_MM { 0 } else { mm });
    }
}

#[test]
fn the_docs_name_every_limit() {
    let rows = texts().fold(String::new(), |mut rows, (path, most)| {
        let _ = writeln!(rows, "| `{path}` | {most} |");
        rows
    });
    assert!(PAGE.contains(&rows), "docs/feed-formats.md should have\n{rows}");
}
