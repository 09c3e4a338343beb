//! Weight and size.

use model::limits::{MAX_GRAMS, MAX_MM};
use model::{Dimensions, Issue};

use crate::issue;
use crate::offer::FeedOffer;

const WEIGHTS: &[(&str, f64)] = &[
    ("", 1.0),
    ("g", 1.0),
    ("г", 1.0),
    ("гр", 1.0),
    ("kg", 1_000.0),
    ("кг", 1_000.0),
    ("t", 1_000_000.0),
    ("т", 1_000_000.0),
    ("lb", 453.592_37),
    ("oz", 28.349_523_125),
];
const LENGTHS: &[(&str, f64)] = &[
    ("", 1.0),
    ("mm", 1.0),
    ("мм", 1.0),
    ("cm", 10.0),
    ("см", 10.0),
    ("m", 1_000.0),
    ("м", 1_000.0),
    ("in", 25.4),
];

/// 0: not said.
pub(super) fn grams(offer: &FeedOffer, issues: &mut Vec<Issue>) -> i64 {
    measure("weight", &offer.weight, &offer.weight_unit, WEIGHTS, MAX_GRAMS, issues)
}

pub(super) fn dimensions(offer: &FeedOffer, issues: &mut Vec<Issue>) -> Option<Dimensions> {
    let mut one = |field: &str, text: &str| measure(field, text, &offer.size_unit, LENGTHS, MAX_MM, issues);
    let (length_mm, width_mm, height_mm) =
        (one("length", &offer.length), one("width", &offer.width), one("height", &offer.height));
    let any = length_mm > 0 || width_mm > 0 || height_mm > 0;
    any.then_some(Dimensions { length_mm, width_mm, height_mm })
}

fn measure(
    field: &str,
    text: &str,
    unit: &str,
    units: &[(&str, f64)],
    most: i64,
    issues: &mut Vec<Issue>,
) -> i64 {
    if text.is_empty() {
        return 0;
    }
    let unit = unit.to_lowercase();
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
        issues.push(issue::with(issue::warning("wrong_unit", field, &unit), &[&known.join(", ")]));
        return 0;
    };
    // By far the most are plain.
    let number: Option<f64> = if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        text.parse().ok()
    } else {
        text.replace(',', ".").replace([' ', '\u{A0}'], "").parse().ok()
    };
    match number.map(|number| number * factor) {
        Some(value) if (0.0..=most as f64).contains(&value) => value.round() as i64,
        _ => {
            issues.push(issue::warning("not_a_number", field, text));
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_turned_into_ours() {
        let check = |text: &str, unit: &str, expected: i64, said: Option<&str>| {
            let offer = FeedOffer { weight: text.into(), weight_unit: unit.into(), ..FeedOffer::default() };
            let mut issues = Vec::new();
            assert_eq!(grams(&offer, &mut issues), expected, "{text} {unit}");
            assert_eq!(issues.first().map(|issue| issue.code.as_str()), said, "{text} {unit}");
        };
        check("1,2", "kg", 1_200, None);
        check("168", "", 168, None);
        check("1 500", "Г", 1_500, None);
        check("2", "stone", 0, Some("wrong_unit"));
        check("heavy", "kg", 0, Some("not_a_number"));
        check("inf", "kg", 0, Some("not_a_number"));
    }
}
