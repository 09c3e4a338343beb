//! The XML of Avito's autoload.

use model::Issue;

use super::fields::attribute;
use super::listed::Preface;
use super::tree::Node;
use crate::offer::FeedOffer;

/// From the general to the particular.
const CATEGORY: [&str; 4] = ["Category", "GoodsType", "GoodsSubType", "ProductType"];
/// What is said in fields of an offer, or says nothing of the goods.
const KNOWN: &[&str] = &[
    "Id",
    "AvitoId",
    "Title",
    "Description",
    "Price",
    "Address",
    "Latitude",
    "Longitude",
    "Images",
    "VideoURL",
    "VideoUrl",
    "ContactPhone",
    "ManagerName",
    "EMail",
    "Condition",
    "Brand",
    "Barcode",
    "DateBegin",
    "DateEnd",
    "ListingFee",
    "AdStatus",
    "AllowEmail",
    "ContactMethod",
    "Country",
    "Region",
    "City",
    "Subway",
    "Street",
    "AdType",
    "InternetCalls",
    "Delivery",
    "Weight",
    "WeightForDelivery",
    "LengthForDelivery",
    "WidthForDelivery",
    "HeightForDelivery",
    "Url",
    "Link",
];

pub(crate) fn offer(node: &Node, _preface: &Preface, _issues: &mut Vec<Issue>) -> FeedOffer {
    let value = |name: &str| node.value(name).to_owned();
    let mut offer = FeedOffer {
        id: value("Id"),
        title: value("Title"),
        description: value("Description"),
        price: value("Price"),
        currency: "RUB".into(),
        condition: value("Condition"),
        lat: value("Latitude"),
        lon: value("Longitude"),
        address: value("Address"),
        contact_name: value("ManagerName"),
        email: value("EMail"),
        vendor: value("Brand"),
        barcode: value("Barcode"),
        weight: value("WeightForDelivery"),
        weight_unit: "kg".into(),
        length: value("LengthForDelivery"),
        width: value("WidthForDelivery"),
        height: value("HeightForDelivery"),
        size_unit: "cm".into(),
        ..FeedOffer::default()
    };
    offer.video = ["VideoURL", "VideoUrl"].map(|name| node.value(name)).join("");
    offer.url = ["Url", "Link"].map(|name| node.value(name)).join("");
    if offer.address.is_empty() {
        let parts = ["Country", "Region", "City", "Street"].map(|name| node.value(name));
        offer.address = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    }
    let names = CATEGORY.iter().map(|name| node.value(name)).filter(|name| !name.is_empty());
    offer.category_path = names.map(str::to_owned).collect();
    let phone = node.value("ContactPhone");
    if !phone.is_empty() {
        offer.phones.push(phone.to_owned());
    }
    for image in node.child("Images").into_iter().flat_map(|images| &images.children) {
        let url = image.attribute("url").unwrap_or(&image.text).trim();
        if !url.is_empty() {
            offer.images.push(url.to_owned());
        }
    }
    for child in &node.children {
        let name = child.name.as_str();
        if KNOWN.contains(&name) || CATEGORY.contains(&name) {
            continue;
        }
        if child.children.is_empty() {
            attribute(&mut offer, name, child.text.trim(), "");
        }
        // Several values: <Colour><Option>…</Option></Colour>.
        for option in &child.children {
            attribute(&mut offer, name, option.text.trim(), "");
        }
    }
    offer
}
