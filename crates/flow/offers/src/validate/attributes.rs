//! The fields that a category brings.

use std::collections::BTreeSet;

use catalog::{Attribute as Known, AttributeKind, Catalog, EnumValue, Unit};
use model::limits::{MAX_ATTRIBUTES, MAX_NUMBER, MAX_OPTION_CHARS, MAX_VALUES};
use model::{Attribute, Content, Issue, IssueType, Value};
use wire::model::value::Kind;

use super::fields::{count, line};
use super::{issue, shown, with, with_value};

/// Puts attributes into their kept form where that can be done in one way only; what cannot is left for [`check`].
#[must_use]
pub fn settle(catalog: &Catalog, mut content: Content) -> Content {
    content.attributes.retain(|attribute| !attribute.values.is_empty());
    for attribute in &mut content.attributes {
        if let Some(known) = catalog.attribute(&attribute.id) {
            settle_one(known, attribute);
        }
    }
    content.catalog_version = catalog.version();
    content
}

fn settle_one(known: &Known, attribute: &mut Attribute) {
    match &known.kind {
        AttributeKind::Enum { values, .. } => {
            for value in &mut attribute.values {
                if let Some(Kind::Text(text)) = &value.kind
                    && let Some(option) = option(values, text)
                {
                    value.kind = Some(Kind::Option(option.id.clone()));
                }
            }
        }
        AttributeKind::Number { unit: Some(own), units, .. } => {
            if attribute.unit.is_empty() {
                attribute.unit.clone_from(own);
            } else if attribute.unit != *own
                && let Some(factor) = factor(units, &attribute.unit)
            {
                for value in &mut attribute.values {
                    if let Some(Kind::Number(number)) = &mut value.kind {
                        *number *= factor;
                    }
                }
                attribute.unit.clone_from(own);
            }
        }
        _ => {}
    }
}

/// By id, or by its name in one of the languages.
fn option<'a>(values: &'a [EnumValue], text: &str) -> Option<&'a EnumValue> {
    let same = |name: &str| name.to_lowercase() == text.to_lowercase();
    let by_id = values.iter().find(|value| value.id == text);
    by_id.or_else(|| values.iter().find(|value| same(&value.names.ru) || same(&value.names.en)))
}

fn factor(units: &[Unit], unit: &str) -> Option<f64> {
    let unit = unit.to_lowercase();
    let spelled = |known: &&Unit| known.spellings.iter().any(|spelling| spelling.to_lowercase() == unit);
    units.iter().find(spelled).map(|known| known.factor)
}

pub(super) fn check(catalog: &Catalog, content: &Content, issues: &mut Vec<Issue>) {
    if catalog.category(&content.category_id).is_none() {
        // What the attributes may be is not known then.
        return;
    }
    let of_category = catalog.attributes_of(&content.category_id);
    count("attributes", content.attributes.len(), MAX_ATTRIBUTES, issues);
    let mut seen = BTreeSet::new();
    for attribute in content.attributes.iter().take(MAX_ATTRIBUTES) {
        let field = format!("attributes.{}", shown(&attribute.id));
        if !seen.insert(attribute.id.as_str()) {
            issues.push(of_attribute(&field, "repeated"));
            continue;
        }
        match of_category.iter().find(|known| known.id == attribute.id) {
            Some(known) => values(known, attribute, &field, issues),
            None => issues.push(Issue {
                suggestion: catalog.replaced_by(&attribute.id).unwrap_or_default().to_owned(),
                ..with_value(of_attribute(&field, "attribute_unknown"), &attribute.id)
            }),
        }
    }
    for missing in of_category.iter().filter(|known| known.required && !seen.contains(known.id.as_str())) {
        let field = format!("attributes.{}", missing.id);
        issues.push(with(of_attribute(&field, "attribute_required"), [missing.names.en.clone()]));
    }
}

fn of_attribute(field: &str, code: &str) -> Issue {
    Issue { r#type: IssueType::Attribute.into(), ..issue(field, code) }
}

fn values(known: &Known, attribute: &Attribute, field: &str, issues: &mut Vec<Issue>) {
    count(field, attribute.values.len(), MAX_VALUES, issues);
    for value in attribute.values.iter().take(MAX_VALUES) {
        value_of(known, value, field, issues);
    }
    let own = match &known.kind {
        AttributeKind::Number { unit, .. } => unit.as_deref().unwrap_or_default(),
        _ => "",
    };
    if attribute.unit != own {
        let expected = if own.is_empty() { "—" } else { own };
        let issue = with(of_attribute(field, "wrong_unit"), [expected.to_owned()]);
        issues.push(with_value(issue, &attribute.unit));
    }
}

fn value_of(known: &Known, value: &Value, field: &str, issues: &mut Vec<Issue>) {
    let wrong_type = |expected: &str| with(of_attribute(field, "wrong_type"), [expected.to_owned()]);
    match (&known.kind, &value.kind) {
        (AttributeKind::Enum { values, .. }, Some(Kind::Option(id))) if option(values, id).is_some() => {}
        (AttributeKind::Enum { open: true, .. }, Some(Kind::Text(text))) => {
            line(field, text, MAX_OPTION_CHARS, issues);
        }
        (AttributeKind::Enum { .. }, Some(Kind::Text(text) | Kind::Option(text))) => {
            issues.push(with_value(of_attribute(field, "not_an_option"), text));
        }
        (AttributeKind::Number { min, max, .. }, Some(Kind::Number(number))) => {
            let (min, max) = (min.unwrap_or(-MAX_NUMBER), max.unwrap_or(MAX_NUMBER));
            if !number.is_finite() || *number < min || *number > max {
                let issue = with(of_attribute(field, "out_of_range"), [min.to_string(), max.to_string()]);
                issues.push(with_value(issue, &number.to_string()));
            }
        }
        (AttributeKind::Number { .. }, _) => issues.push(wrong_type("number")),
        (AttributeKind::Text { max_chars }, Some(Kind::Text(text))) => line(field, text, *max_chars, issues),
        (AttributeKind::Enum { .. } | AttributeKind::Text { .. }, _) => issues.push(wrong_type("text")),
        (AttributeKind::Bool, Some(Kind::Flag(_))) => {}
        (AttributeKind::Bool, _) => issues.push(wrong_type("true or false")),
    }
}
