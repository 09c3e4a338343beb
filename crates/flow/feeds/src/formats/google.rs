//! Google Merchant's RSS and Atom: the same fields, with their prefix or without.

use model::Issue;

use super::fields::{self, attribute};
use super::listed::Preface;
use super::tree::Node;
use crate::offer::FeedOffer;

pub(crate) fn offer(node: &Node, _preface: &Preface, issues: &mut Vec<Issue>) -> FeedOffer {
    let mut offer = FeedOffer::default();
    for child in &node.children {
        let text = child.text.trim();
        match child.name.as_str() {
            "product_detail" => {
                attribute(&mut offer, child.value("attribute_name"), child.value("attribute_value"), "");
            }
            // Atom says it in an attribute.
            "link" if text.is_empty() => {
                fields::set(&mut offer, "link", child.attribute("href").unwrap_or_default(), issues);
            }
            "shipping" | "tax" | "guid" | "updated" | "published" | "author" => {}
            name => fields::set(&mut offer, name, text, issues),
        }
    }
    offer
}
