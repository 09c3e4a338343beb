//! The attributes of an offer: what the seller gave under his own names, completed from the title.

use super::nearest::nearest;
use super::number::UnitSpelling;
use super::{Recogniser, number};
use crate::model::{Attribute, AttributeKind, EnumValue};

/// An attribute as the seller wrote it; `unit` may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub unit: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The id of a listed value.
    Enum(String),
    /// In the attribute's own unit.
    Number(f64),
    Text(String),
    Bool(bool),
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The number of the given attribute.
    Given(usize),
    Title,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// The attribute's id.
    pub attribute: String,
    pub value: Value,
    pub source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// No attribute of the category has this name.
    UnknownAttribute,
    /// The value is not in the attribute's list.
    UnknownValue,
    NotANumber,
    OutOfRange,
    UnknownUnit,
    TooLong,
    NotABool,
    /// The attribute was given before with another value, which is kept.
    Repeated,
    /// The category requires it, and neither the seller nor the title says it.
    Missing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AttributeProblem {
    pub kind: ProblemKind,
    /// The attribute's id, when it is known which one was meant.
    pub attribute: Option<String>,
    /// The seller's name of it.
    pub name: String,
    pub value: String,
    /// What was probably meant, in the seller's language.
    pub suggestion: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecognisedAttributes {
    pub values: Vec<Typed>,
    pub problems: Vec<AttributeProblem>,
}

type Refusal = (ProblemKind, Option<String>);

pub(super) fn recognise(
    recogniser: &Recogniser,
    category: &str,
    given: &[Given<'_>],
    title: &str,
) -> RecognisedAttributes {
    let Some(index) = recogniser.catalog.index_of(category) else { return RecognisedAttributes::default() };
    let of_category = &recogniser.catalog.inner.attributes_of[index];
    let attributes: Vec<usize> = of_category.iter().map(|(attribute, _)| *attribute).collect();
    let mut found = RecognisedAttributes::default();
    let mut spoken_of: Vec<usize> = Vec::new();
    for (position, one) in given.iter().enumerate() {
        take_given(recogniser, &attributes, position, one, &mut found, &mut spoken_of);
    }
    let rest: Vec<usize> = attributes.iter().copied().filter(|one| !spoken_of.contains(one)).collect();
    from_title(recogniser, &rest, title, &mut found);
    for (attribute, _) in of_category.iter().filter(|(_, required)| *required) {
        let id = &recogniser.catalog.attributes()[*attribute].id;
        let there = found.values.iter().any(|typed| typed.attribute == *id);
        if !there && !spoken_of.contains(attribute) {
            found.problems.push(AttributeProblem {
                kind: ProblemKind::Missing,
                attribute: Some(id.clone()),
                name: String::new(),
                value: String::new(),
                suggestion: None,
            });
        }
    }
    found
}

fn take_given(
    recogniser: &Recogniser,
    attributes: &[usize],
    position: usize,
    given: &Given<'_>,
    found: &mut RecognisedAttributes,
    spoken_of: &mut Vec<usize>,
) {
    let catalog = &recogniser.catalog;
    let named = recogniser.values.named(&recogniser.lexicon.row(given.name));
    let mut problem = |kind, attribute: Option<usize>, suggestion| {
        found.problems.push(AttributeProblem {
            kind,
            attribute: attribute.map(|attribute| catalog.attributes()[attribute].id.clone()),
            name: given.name.to_owned(),
            value: given.value.to_owned(),
            suggestion,
        });
    };
    let Some(&attribute) = attributes.iter().find(|attribute| named.contains(attribute)) else {
        let of = |attribute: &usize| {
            (recogniser.values.spellings(*attribute), &catalog.attributes()[*attribute].names)
        };
        let names = attributes.iter().map(of);
        return problem(ProblemKind::UnknownAttribute, None, nearest(given.name, names));
    };
    spoken_of.push(attribute);
    match typed(recogniser, attribute, given) {
        Err((kind, suggestion)) => problem(kind, Some(attribute), suggestion),
        Ok(value) => {
            let id = &catalog.attributes()[attribute].id;
            let earlier = found.values.iter().find(|typed| typed.attribute == *id);
            match earlier.map(|earlier| earlier.value == value) {
                Some(true) => {}
                Some(false) => problem(ProblemKind::Repeated, Some(attribute), None),
                None => {
                    found.values.push(Typed {
                        attribute: id.clone(),
                        value,
                        source: Source::Given(position),
                    });
                }
            }
        }
    }
}

fn typed(recogniser: &Recogniser, index: usize, given: &Given<'_>) -> Result<Value, Refusal> {
    let attribute = &recogniser.catalog.attributes()[index];
    let text = given.value.trim();
    match &attribute.kind {
        AttributeKind::Text { max_chars } if text.chars().count() > *max_chars => {
            Err((ProblemKind::TooLong, None))
        }
        AttributeKind::Text { .. } => Ok(Value::Text(text.to_owned())),
        AttributeKind::Bool => bool_of(text).map(Value::Bool).ok_or((ProblemKind::NotABool, None)),
        AttributeKind::Number { .. } => {
            number_of(attribute, recogniser.values.units(index), text, given.unit).map(Value::Number)
        }
        AttributeKind::Enum { values, open } => {
            let read = |text: &str| recogniser.values.value(index, &recogniser.lexicon.row(text));
            let known = read(text).or_else(|| read(&format!("{text} {}", given.unit)));
            match known {
                Some(value) => Ok(Value::Enum(values[value].id.clone())),
                None if *open && !text.is_empty() => Ok(Value::Text(text.to_owned())),
                None => {
                    let spellings = recogniser.values.value_spellings(index).iter();
                    let names = spellings.zip(values.iter().map(|value| &value.names));
                    Err((ProblemKind::UnknownValue, nearest(text, names)))
                }
            }
        }
    }
}

fn bool_of(text: &str) -> Option<bool> {
    match words::fold(text).as_str() {
        "да" | "есть" | "yes" | "true" | "1" | "y" | "+" | "имеется" => Some(true),
        "нет" | "no" | "false" | "0" | "n" | "-" | "отсутствует" => Some(false),
        _ => None,
    }
}

fn number_of(
    attribute: &Attribute,
    spellings: &[UnitSpelling],
    text: &str,
    unit: &str,
) -> Result<f64, Refusal> {
    let AttributeKind::Number { min, max, units, unit: own } = &attribute.kind else {
        return Err((ProblemKind::NotANumber, None));
    };
    let folded = words::fold(text);
    let (number, after) = number::leading(&folded).ok_or((ProblemKind::NotANumber, None))?;
    let written = if after.trim().is_empty() { unit } else { after };
    let factor = if written.trim().is_empty() {
        1.0
    } else {
        let first = || units.first().and_then(|unit| unit.spellings.first()).cloned();
        number::factor(spellings, written)
            .ok_or_else(|| (ProblemKind::UnknownUnit, first().or_else(|| own.clone())))?
    };
    let number = number * factor;
    let inside = min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max);
    if !inside {
        let end = |end: &Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
        return Err((ProblemKind::OutOfRange, Some(format!("{}..{}", end(min), end(max)))));
    }
    Ok(number)
}

/// Values and numbers with units in the title, for the attributes that the seller said nothing about.
fn from_title(recogniser: &Recogniser, attributes: &[usize], title: &str, found: &mut RecognisedAttributes) {
    if attributes.is_empty() {
        return;
    }
    let catalog = &recogniser.catalog;
    let folded = words::fold(title);
    let reading = recogniser.lexicon.read_folded(&folded);
    let mut say = |attribute: usize, value| {
        let attribute = catalog.attributes()[attribute].id.clone();
        found.values.push(Typed { attribute, value, source: Source::Title });
    };
    for mention in recogniser.values.mentioned(attributes, &reading) {
        let AttributeKind::Enum { values, .. } = &catalog.attributes()[mention.attribute].kind else {
            continue;
        };
        let value = &values[mention.value];
        if !is_bare_number(value) {
            say(mention.attribute, Value::Enum(value.id.clone()));
        }
    }
    let written = number::numbers(&folded);
    let mut numbers: Vec<(usize, f64)> = Vec::new();
    for &attribute in attributes.iter().filter(|_| !written.is_empty()) {
        let AttributeKind::Number { min, max, .. } = &catalog.attributes()[attribute].kind else {
            continue;
        };
        let fits =
            |number: &f64| min.is_none_or(|min| *number >= min) && max.is_none_or(|max| *number <= max);
        let mut hits = number::with_units(&written, recogniser.values.units(attribute)).filter(fits);
        if let (Some(one), None) = (hits.next(), hits.next()) {
            numbers.push((attribute, one));
        }
    }
    for &(attribute, number) in &numbers {
        // The same number for two attributes: nobody knows which one is meant.
        let shared = numbers.iter().filter(|(_, other)| (*other - number).abs() < f64::EPSILON).count() > 1;
        if !shared {
            say(attribute, Value::Number(number));
        }
    }
}

/// A bare number in a title is too often something else.
fn is_bare_number(value: &EnumValue) -> bool {
    value.names.en.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ' ')
}
