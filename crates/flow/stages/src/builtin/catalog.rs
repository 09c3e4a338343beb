//! Offers follow the catalog: what a new version replaced or describes otherwise is put into its words.
//!
//! A new version orders a walk over all offers (the stage's revision is the catalog's version), in which only offers of
//! categories that changed since the offer was described are run. The version of the others stays what it was, and nothing
//! is written for them. An offer is never moved to an earlier version, so a process that still has the old catalog does
//! not undo what a newer one did. What the seller's words cannot say any more goes, and stands in the history.

use async_trait::async_trait;
use catalog::{AttributeKind, Catalog, EnumValue};
use model::{Attribute, Content, Offer, Status};
use offers::Offers;
use offers::diff::diff_contents;
use offers::validate;
use wire::model::value::Kind;

use crate::Builtin;
use crate::stage::{Answer, Fields, Job, Outcome, Stage, Update};

pub(super) fn builtin(offers: &Offers) -> Builtin {
    let stage = Follow((*offers.catalog).clone());
    Builtin { revision: offers.catalog.version(), ..Builtin::new("catalog", &["category_id"], stage) }
}

struct Follow(Catalog);

impl Follow {
    /// The content of an offer that the catalog describes otherwise than when it was written.
    fn behind<'a>(&self, offer: &'a Offer) -> Option<&'a Content> {
        let content = offer.content.as_ref().filter(|_| offer.status() != Status::Deleted)?;
        // Version 0: described by no catalog at all.
        let version = content.catalog_version;
        let is_behind = version != 0 && self.0.changed_since(&content.category_id, version);
        is_behind.then_some(content)
    }
}

#[async_trait]
impl Stage for Follow {
    type Prepared = ();

    fn should_process(&self, job: &Job<'_>, _: &Fields) -> Answer {
        if self.behind(job.offer).is_some() { Answer::Yes } else { Answer::No }
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        let Some(before) = self.behind(job.offer) else { return Ok(Outcome::default()) };
        let after = moved(&self.0, before);
        let mut paths: Vec<_> = diff_contents(before, &after).into_iter().map(|change| change.path).collect();
        paths.push("catalog_version".to_owned());
        let offer = Box::new(Offer { content: Some(after), ..Offer::default() });
        Ok(Outcome { update: Update::Patch { offer, paths }, ..Outcome::default() })
    }
}

/// The content in the words of this catalog.
fn moved(catalog: &Catalog, before: &Content) -> Content {
    let mut after = before.clone();
    if catalog.category(&after.category_id).is_none()
        && let Some(now) = catalog.replaced_by(&after.category_id)
    {
        now.clone_into(&mut after.category_id);
    }
    let attributes = std::mem::take(&mut after.attributes);
    for mut attribute in attributes {
        if let Some(now) = catalog.replaced_by(&attribute.id) {
            now.clone_into(&mut attribute.id);
        }
        renamed_values(catalog, &mut attribute);
        // The successor may be there already, in the seller's own words.
        if !after.attributes.iter().any(|known| known.id == attribute.id) {
            after.attributes.push(attribute);
        }
    }
    let mut after = validate::settle(catalog, after);
    let issues = validate::check(catalog, &after);
    after.attributes.retain(|attribute| {
        let field = format!("attributes.{}", attribute.id);
        !issues.iter().any(|issue| issue.field == field)
    });
    after
}

/// A value that is gone is the one that has its name among its own names.
fn renamed_values(catalog: &Catalog, attribute: &mut Attribute) {
    let Some(AttributeKind::Enum { values, .. }) = catalog.attribute(&attribute.id).map(|known| &known.kind)
    else {
        return;
    };
    for value in &mut attribute.values {
        if let Some(Kind::Option(id)) = &value.kind
            && !values.iter().any(|known| known.id == *id)
            && let Some(now) = values.iter().find(|known| is_called(known, id))
        {
            value.kind = Some(Kind::Option(now.id.clone()));
        }
    }
}

fn is_called(value: &EnumValue, name: &str) -> bool {
    let names = [value.names.ru.as_str(), value.names.en.as_str()].into_iter();
    names.chain(value.synonyms.all()).any(|known| known.to_lowercase() == name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::*;

    fn content(category: &str, attributes: Vec<Attribute>) -> Content {
        Content {
            category_id: category.to_owned(),
            catalog_version: 1,
            title: "A".to_owned(),
            attributes,
            ..Content::default()
        }
    }

    fn attribute(id: &str, kind: Kind, unit: &str) -> Attribute {
        let values = vec![Value { kind: Some(kind) }];
        Attribute { id: id.to_owned(), values, unit: unit.to_owned() }
    }

    #[test]
    fn what_was_replaced_is_said_in_the_words_of_the_new_version() {
        let catalog = Catalog::shipped();
        let pager = moved(&catalog, &content("pagers", Vec::new()));
        assert_eq!((pager.category_id.as_str(), pager.catalog_version), ("phones", catalog.version()));
        let maroon = attribute("color", Kind::Option("maroon".to_owned()), "");
        let phone = moved(&catalog, &content("smartphones", vec![maroon]));
        assert_eq!(phone.attributes[0].values[0].kind, Some(Kind::Option("burgundy".to_owned())));
        let watts = attribute("engine_kilowatts", Kind::Number(100_000.0), "watt");
        let car = moved(&catalog, &content("cars", vec![watts]));
        let Some(Kind::Number(power)) = car.attributes[0].values[0].kind else { panic!("{car:?}") };
        assert_eq!((car.attributes[0].id.as_str(), power.round() as i64), ("engine_power", 136));
    }

    #[test]
    fn what_cannot_be_said_any_more_goes() {
        let catalog = Catalog::shipped();
        let unknown = attribute("no-such-thing", Kind::Flag(true), "");
        let color = attribute("color", Kind::Option("black".to_owned()), "");
        let moved = moved(&catalog, &content("smartphones", vec![unknown, color]));
        let ids: Vec<_> = moved.attributes.iter().map(|attribute| attribute.id.as_str()).collect();
        assert_eq!(ids, ["color"]);
    }
}
