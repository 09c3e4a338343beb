//! What the goods are, by the catalog.

use catalog::{AttributeKind, AttributeProblem, Catalog, Given, Language, ProblemKind, Typed, Value};
use model::limits::{MAX_ATTRIBUTES, MAX_OPTION_CHARS};
use model::{Attribute, Issue, value};

use super::Knowledge;
use crate::issue;
use crate::offer::FeedOffer;
use crate::survey::CategoryDecision;

/// The id of the category; empty if it could not be recognised, and then an error says so.
pub(super) fn recognise(
    offer: &FeedOffer,
    title: &str,
    knowledge: &Knowledge,
    decided: Option<&CategoryDecision>,
    issues: &mut Vec<Issue>,
) -> String {
    let catalog = knowledge.recogniser.catalog();
    let given = offer.category_id.trim();
    if !given.is_empty() {
        if catalog.category(given).is_some() {
            return given.to_owned();
        }
        if let Some(new) = catalog.replaced_by(given) {
            let name = named(knowledge, new);
            issues.push(issue::with(issue::warning("category_replaced", "category", given), &[&name]));
            return new.to_owned();
        }
        issues.push(issue::warning("category_unknown", "category", given));
    }
    let path: Vec<&str> = offer.category_path.iter().map(String::as_str).collect();
    let suggestions = match by_survey_or_alone(title, &path, knowledge, decided) {
        Ok(category) => return category,
        Err(suggestions) => suggestions,
    };
    let written = if path.is_empty() { title.to_owned() } else { format!("{} / {title}", path.join(" / ")) };
    let code = if written.is_empty() { "category_missing" } else { "category_unclear" };
    let mut issue = issue::error(code, "category", &written);
    let names: Vec<String> = suggestions.iter().map(|category| named(knowledge, category)).collect();
    issue.suggestion = names.join("; ");
    issues.push(issue);
    String::new()
}

/// The category, or what it might be. A title chooses below what is decided for its seller's category, never against it.
fn by_survey_or_alone(
    title: &str,
    path: &[&str],
    knowledge: &Knowledge,
    decided: Option<&CategoryDecision>,
) -> Result<String, Vec<String>> {
    match decided {
        Some(CategoryDecision { category: Some(category), .. }) => {
            Ok(knowledge.recogniser.refine(title, category).to_owned())
        }
        Some(undecided) => Err(undecided.suggestions.clone()),
        None => {
            let found = knowledge.recogniser.recognise(title, path);
            let suggestions = || found.suggestions.into_iter().map(|one| one.category).collect();
            found.category.filter(|_| found.confident).ok_or_else(suggestions)
        }
    }
}

fn named(knowledge: &Knowledge, id: &str) -> String {
    format!("{} ({id})", knowledge.recogniser.catalog().path(id, Language::Russian).join(" / "))
}

pub(super) fn attributes(
    offer: &FeedOffer,
    category: &str,
    title: &str,
    knowledge: &Knowledge,
    issues: &mut Vec<Issue>,
) -> Vec<Attribute> {
    let mut given: Vec<Given<'_>> = offer
        .attributes
        .iter()
        .take(MAX_ATTRIBUTES)
        .map(|one| Given { name: &one.name, value: one.value.trim(), unit: &one.unit })
        .collect();
    let catalog = knowledge.recogniser.catalog();
    // The vendor is an attribute where the category has brands.
    let brand = catalog.each_attribute_of(category).find(|attribute| attribute.brand);
    if let Some(brand) = brand
        && !offer.vendor.trim().is_empty()
    {
        given.push(Given { name: &brand.names.ru, value: offer.vendor.trim(), unit: "" });
    }
    let mut found = knowledge.recogniser.recognise_attributes(category, &given, title);
    let mut attributes: Vec<Attribute> = Vec::new();
    for typed in found.values {
        match too_long(&typed, catalog) {
            Some(problem) => found.problems.push(problem),
            None => add(&mut attributes, typed, knowledge),
        }
    }
    for problem in found.problems {
        let there = |id: &String| attributes.iter().any(|attribute| attribute.id == *id);
        let covered = problem.attribute.as_ref().is_some_and(there);
        // The same brand twice, once as a parameter and once as the vendor, is nothing to tell.
        if !(covered && problem.kind == ProblemKind::Repeated) {
            issues.push(issue_of(&problem, category, covered, knowledge));
        }
    }
    attributes
}

/// A text of the catalog has a length of its own; one that an open list does not name has ours.
fn too_long(typed: &Typed, catalog: &Catalog) -> Option<AttributeProblem> {
    let Value::Text(text) = &typed.value else { return None };
    let known = catalog.attribute(&typed.attribute)?;
    let is_open = matches!(known.kind, AttributeKind::Enum { .. });
    (is_open && text.chars().count() > MAX_OPTION_CHARS).then(|| AttributeProblem {
        kind: ProblemKind::TooLong,
        attribute: Some(typed.attribute.clone()),
        name: known.names.ru.clone(),
        value: text.clone(),
        suggestion: None,
    })
}

fn add(attributes: &mut Vec<Attribute>, typed: Typed, knowledge: &Knowledge) {
    let kind = match typed.value {
        Value::Enum(id) => value::Kind::Option(id),
        Value::Number(number) => value::Kind::Number(number),
        Value::Text(text) => value::Kind::Text(text),
        Value::Bool(flag) => value::Kind::Flag(flag),
    };
    let value = model::Value { kind: Some(kind) };
    if let Some(known) = attributes.iter_mut().find(|attribute| attribute.id == typed.attribute) {
        if !known.values.contains(&value) {
            known.values.push(value);
        }
        return;
    }
    let unit = match knowledge.recogniser.catalog().attribute(&typed.attribute).map(|known| &known.kind) {
        Some(AttributeKind::Number { unit, .. }) => unit.clone().unwrap_or_default(),
        _ => String::new(),
    };
    attributes.push(Attribute { id: typed.attribute, values: vec![value], unit });
}

fn issue_of(problem: &AttributeProblem, category: &str, covered: bool, knowledge: &Knowledge) -> Issue {
    let catalog = knowledge.recogniser.catalog();
    let known = problem.attribute.as_deref().and_then(|id| catalog.attribute(id));
    let name = known.map_or(problem.name.as_str(), |known| known.names.ru.as_str());
    let field = match &problem.attribute {
        Some(id) => format!("attributes.{id}"),
        None => "attributes".to_owned(),
    };
    let (code, value) = match problem.kind {
        ProblemKind::UnknownAttribute => ("attribute_unknown", problem.name.as_str()),
        ProblemKind::Missing => ("attribute_required", ""),
        ProblemKind::UnknownValue => ("not_an_option", problem.value.as_str()),
        ProblemKind::NotANumber => ("not_a_number", problem.value.as_str()),
        ProblemKind::OutOfRange => ("attribute_out_of_range", problem.value.as_str()),
        ProblemKind::UnknownUnit => ("attribute_unit_unknown", problem.value.as_str()),
        ProblemKind::TooLong => ("attribute_too_long", problem.value.as_str()),
        ProblemKind::NotABool => ("not_a_flag", problem.value.as_str()),
        ProblemKind::Repeated => ("repeated", problem.value.as_str()),
    };
    // A value that is lost matters where the category cannot do without it.
    let required = catalog
        .each_attribute_of(category)
        .any(|one| Some(&one.id) == problem.attribute.as_ref() && one.required);
    let fatal = required && !covered;
    let issue = if fatal { issue::error(code, &field, value) } else { issue::warning(code, &field, value) };
    let mut issue = issue::with(issue, &[name]);
    issue.r#type = model::IssueType::Attribute.into();
    issue.suggestion = problem.suggestion.clone().unwrap_or_default();
    issue
}
