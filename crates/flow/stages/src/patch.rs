//! What a run may change of an offer: what the seller wrote, the order of photos, the predicted price, what is wrong with
//! the video, and the status along its legal moves. Never its id, origin, times, bans or bookkeeping.

use std::collections::HashSet;

use model::fields::{self, BESIDE, Form, Owner};
use model::{Content, Offer, Status, status};
use offers::Offers;
use offers::diff::diff;
use offers::validate::{self, check_size};

use crate::stage::Update;

/// Values for some paths of an offer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patch {
    values: Offer,
    paths: Vec<String>,
}

/// The update as a patch of the offer that was handed out; `None`: it changes nothing.
pub(crate) fn patch_of(handed: &Offer, update: Update) -> Result<Option<Patch>, String> {
    let patch = match update {
        Update::Nothing => return Ok(None),
        Update::Patch { offer, paths } => Patch { values: *offer, paths },
        Update::Offer(offer) => {
            let paths = diff(handed, &offer).into_iter().map(|change| change.path).collect();
            Patch { values: *offer, paths }
        }
    };
    for path in &patch.paths {
        if !is_allowed(path) {
            return Err(format!("a stage may not change {path:?}"));
        }
    }
    Ok((!patch.paths.is_empty()).then_some(patch))
}

impl Patch {
    /// The offer after the patch.
    pub(crate) fn apply(&self, offers: &Offers, before: &Offer) -> Result<Offer, String> {
        let mut after = before.clone();
        let mut content = after.content.take().unwrap_or_default();
        let none = Content::default();
        let values = self.values.content.as_ref().unwrap_or(&none);
        for path in &self.paths {
            match path.as_str() {
                "status" => move_to(offers, before, &mut after, self.values.status())?,
                "predicted_price" => {
                    after.predicted_price.clone_from(&self.values.predicted_price);
                    after.predicted_from = self.values.predicted_from;
                }
                "photo_order" => after.photo_order.clone_from(&self.values.photo_order),
                "video_error" => after.video_error.clone_from(&self.values.video_error),
                path => copy(&mut content, values, path),
            }
        }
        check_size(&content).map_err(|error| error.to_string())?;
        if self.paths.iter().any(|path| path == "photo_order") {
            known_once(&mut after.photo_order, &content.photo_urls);
        }
        after.content = Some(content);
        Ok(after)
    }
}

/// What another program makes of an offer must be no worse than what was there: whatever is wrong with it afterwards was
/// wrong before.
pub(crate) fn check_content(offers: &Offers, before: &Offer, after: &Offer) -> Result<(), String> {
    let none = Content::default();
    let issues = |offer: &Offer| validate::check(&offers.catalog, offer.content.as_ref().unwrap_or(&none));
    if before.content == after.content {
        return Ok(());
    }
    let old = issues(before);
    match issues(after).into_iter().find(|issue| !old.contains(issue)) {
        Some(new) => Err(format!("the new {} is not valid: {} {:?}", new.field, new.code, new.value)),
        None => Ok(()),
    }
}

fn is_allowed(path: &str) -> bool {
    fields::by_path(path).is_some()
        || path.strip_prefix("attributes.").is_some_and(|id| !id.is_empty())
        || BESIDE.contains(&(path, Owner::Stages))
}

/// Whether changes can ever have this path.
pub fn is_path(path: &str) -> bool {
    let is_untold = fields::by_path(path).is_some_and(|field| matches!(field.form, Form::Untold));
    (is_allowed(path) && !is_untold) || BESIDE.contains(&(path, Owner::Others))
}

/// An order names photos of the offer, each once.
fn known_once(order: &mut Vec<String>, urls: &[String]) {
    let mut named = HashSet::new();
    order.retain(|url| urls.contains(url) && named.insert(url.clone()));
}

fn move_to(offers: &Offers, before: &Offer, after: &mut Offer, target: Status) -> Result<(), String> {
    if before.status() == target {
        return Ok(());
    }
    if target == Status::Banned {
        return Err("a stage may not ban an offer".to_owned());
    }
    status::check(before.status(), target).map_err(|error| error.to_string())?;
    after.set_status(target);
    after.waits_for_photo = false;
    if target == Status::Active {
        after.expires_at = offers.expiry_from_now(after);
    }
    Ok(())
}

fn copy(content: &mut Content, values: &Content, path: &str) {
    if let Some(id) = path.strip_prefix("attributes.") {
        content.attributes.retain(|attribute| attribute.id != id);
        content.attributes.extend(values.attributes.iter().filter(|value| value.id == id).cloned());
        return;
    }
    if let Some(field) = fields::by_path(path) {
        (field.copy)(content, values);
    }
}
