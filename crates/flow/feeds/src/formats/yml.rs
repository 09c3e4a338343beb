//! YML, the format of Yandex Market.

use model::Issue;

use super::fields::{attribute, split_sizes};
use super::listed::{Listed, Preface};
use super::tree::Node;
use crate::issue;
use crate::offer::FeedOffer;

/// A chain of categories longer than this has come round to itself.
const DEEPEST: usize = 20;

pub(crate) fn reader() -> Listed {
    Listed::new("offer", "offers", offer)
}

fn offer(node: &Node, preface: &Preface, issues: &mut Vec<Issue>) -> FeedOffer {
    let value = |name: &str| node.value(name).to_owned();
    let mut offer = FeedOffer {
        id: node.attribute("id").unwrap_or_default().trim().to_owned(),
        title: value("name"),
        description: value("description"),
        price: value("price"),
        currency: value("currencyId"),
        url: value("url"),
        vendor: value("vendor"),
        barcode: value("barcode"),
        weight: value("weight"),
        weight_unit: "kg".into(),
        video: value("video"),
        ..FeedOffer::default()
    };
    if offer.id.is_empty() {
        offer.id = value("id");
    }
    if offer.title.is_empty() {
        offer.title = composed_title(node);
        if !offer.title.is_empty() {
            issues.push(issue::warning("title_composed", "title", &offer.title));
        }
    }
    category(&mut offer, node, preface, issues);
    split_sizes(&mut offer, node.value("dimensions"), "cm");
    for child in &node.children {
        let text = child.text.trim();
        match child.name.as_str() {
            "picture" if !text.is_empty() => offer.images.push(text.to_owned()),
            "param" if !text.is_empty() => {
                let name = child.attribute("name").unwrap_or_default();
                attribute(&mut offer, name, text, child.attribute("unit").unwrap_or_default());
            }
            "model" => attribute(&mut offer, "model", text, ""),
            "country_of_origin" => attribute(&mut offer, "country_of_origin", text, ""),
            "condition" => child.attribute("type").unwrap_or(text).trim().clone_into(&mut offer.condition),
            "location" | "address" => text.clone_into(&mut offer.address),
            _ => {}
        }
    }
    offer
}

/// Offers of the kind `vendor.model` have no name.
fn composed_title(node: &Node) -> String {
    let parts = ["typePrefix", "vendor", "model"].map(|name| node.value(name));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

fn category(offer: &mut FeedOffer, node: &Node, preface: &Preface, issues: &mut Vec<Issue>) {
    let id = node.value("categoryId");
    if id.is_empty() {
        return;
    }
    let mut path = Vec::new();
    let mut next = id;
    while let Some((name, parent)) = preface.categories.get(next) {
        path.push(name.clone());
        next = parent;
        if next.is_empty() || path.len() > DEEPEST {
            break;
        }
    }
    if path.is_empty() {
        issues.push(issue::warning("category_undeclared", "category", id));
    } else if !next.is_empty() {
        issues.push(issue::warning("category_parent_undeclared", "category", next));
    }
    path.reverse();
    offer.category_path = path;
}
