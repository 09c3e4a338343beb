//! Fields by name, for the formats that are a list of names and values: tables, JSON, Google's. One table of names in
//! both languages serves all of them; a name that is not in it is an attribute of the goods.

use std::collections::HashMap;
use std::sync::LazyLock;

use model::Issue;

use crate::issue;
use crate::offer::{FeedAttribute, FeedOffer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Id,
    Title,
    Description,
    CategoryId,
    Category,
    Price,
    Currency,
    Condition,
    Image,
    Video,
    Address,
    Lat,
    Lon,
    ContactName,
    Phone,
    Email,
    Url,
    Vendor,
    Barcode,
    Weight,
    Length,
    Width,
    Height,
    Dimensions,
    /// Known, and of no use here.
    Ignored,
}

/// Lower case, `_` for spaces and dashes, no `g:`.
const NAMES: &[(Field, &str)] = &[
    (Field::Id, "id offer_id external_id sku item_id артикул ид код идентификатор код_товара"),
    (Field::Title, "title name offer_name название наименование заголовок наименование_товара имя"),
    (Field::Description, "description text body описание описание_товара текст"),
    (Field::CategoryId, "category_id categoryid"),
    (
        Field::Category,
        "category category_path product_type google_product_category категория раздел рубрика группа",
    ),
    (Field::Price, "price cost amount цена стоимость цена_руб"),
    (Field::Currency, "currency currency_id currencyid валюта"),
    (Field::Condition, "condition состояние"),
    (
        Field::Image,
        "image images image_link additional_image_link image_url image_urls picture pictures photo photos photo_url \
         картинка картинки фото фотографии изображение изображения ссылка_на_фото",
    ),
    (Field::Video, "video video_url video_link видео"),
    (Field::Address, "address location city place адрес город местоположение"),
    (Field::Lat, "lat latitude широта"),
    (Field::Lon, "lon lng long longitude долгота"),
    (Field::ContactName, "contact contact_name manager manager_name seller_name контакт контактное_лицо"),
    (Field::Phone, "phone phones contact_phone telephone телефон телефоны"),
    (Field::Email, "email e_mail почта"),
    (Field::Url, "url link href product_url ссылка ссылка_на_товар"),
    (Field::Vendor, "vendor brand manufacturer бренд производитель марка"),
    (Field::Barcode, "barcode gtin ean ean13 upc штрихкод штрих_код"),
    (Field::Weight, "weight product_weight shipping_weight вес масса"),
    (Field::Length, "length product_length shipping_length длина"),
    (Field::Width, "width product_width shipping_width ширина"),
    (Field::Height, "height product_height shipping_height высота"),
    (Field::Dimensions, "dimensions размеры габариты"),
    (
        Field::Ignored,
        "availability available in_stock наличие mobile_link sale_price old_price oldprice identifier_exists \
         shipping adult custom_label_0 custom_label_1 custom_label_2 custom_label_3 custom_label_4",
    ),
];

pub(crate) fn field(name: &str) -> Option<Field> {
    /// Looked up for every key of every record, so the lists are taken apart once.
    static BY_NAME: LazyLock<HashMap<&str, Field>> = LazyLock::new(|| {
        let each = |(field, names): &'static (Field, &'static str)| {
            names.split_whitespace().map(move |name| (name, *field))
        };
        // Where two fields claim a name, the first one has it.
        NAMES.iter().rev().flat_map(each).collect()
    });
    BY_NAME.get(normal(name).as_str()).copied()
}

fn normal(name: &str) -> String {
    let name = name.trim().trim_start_matches('\u{FEFF}');
    let name = name.strip_prefix("g:").unwrap_or(name).to_lowercase();
    name.split([' ', '_', '-', ',', '.']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

pub(crate) fn set(offer: &mut FeedOffer, name: &str, value: &str, issues: &mut Vec<Issue>) {
    let value = value.trim();
    if value.is_empty() {
        return;
    }
    match field(name) {
        Some(field) => put(offer, field, name, value, issues),
        None => attribute(offer, name.strip_prefix("g:").unwrap_or(name), value, ""),
    }
}

pub(crate) fn put(offer: &mut FeedOffer, field: Field, name: &str, value: &str, issues: &mut Vec<Issue>) {
    let place = match field {
        Field::Id => &mut offer.id,
        Field::Title => &mut offer.title,
        Field::Description => &mut offer.description,
        Field::CategoryId => &mut offer.category_id,
        Field::Currency => &mut offer.currency,
        Field::Condition => &mut offer.condition,
        Field::Video => &mut offer.video,
        Field::Address => &mut offer.address,
        Field::Lat => &mut offer.lat,
        Field::Lon => &mut offer.lon,
        Field::ContactName => &mut offer.contact_name,
        Field::Email => &mut offer.email,
        Field::Url => &mut offer.url,
        Field::Vendor => &mut offer.vendor,
        Field::Barcode => &mut offer.barcode,
        Field::Price => return price(offer, value),
        Field::Category => {
            // A number is Google's or the shop's own; the names say more, whichever comes first.
            if offer.category_path.is_empty() || !normal(name).starts_with("google") {
                offer.category_path = path(value);
            }
            return;
        }
        Field::Image => return images(offer, value),
        Field::Phone => {
            let phones = value.split([',', ';', '|']).map(str::trim).filter(|phone| !phone.is_empty());
            offer.phones.extend(phones.map(str::to_owned));
            return;
        }
        Field::Weight => {
            (offer.weight, offer.weight_unit) = with_unit(value);
            return;
        }
        Field::Length | Field::Width | Field::Height => {
            let (number, unit) = with_unit(value);
            match field {
                Field::Length => offer.length = number,
                Field::Width => offer.width = number,
                _ => offer.height = number,
            }
            if !unit.is_empty() {
                offer.size_unit = unit;
            }
            return;
        }
        Field::Dimensions => return split_sizes(offer, value, "cm"),
        Field::Ignored => return,
    };
    if place.is_empty() {
        value.clone_into(place);
    } else if place != value {
        issues.push(issue::warning("repeated", name, value));
    }
}

pub(crate) fn attribute(offer: &mut FeedOffer, name: &str, value: &str, unit: &str) {
    if name.trim().is_empty() || value.is_empty() {
        return;
    }
    offer.attributes.push(FeedAttribute {
        name: name.trim().to_owned(),
        value: value.to_owned(),
        unit: unit.trim().to_owned(),
    });
}

/// `A > B`, `A / B`, `A | B`.
pub(crate) fn path(value: &str) -> Vec<String> {
    let divider = ['>', '/', '|'].into_iter().find(|divider| value.contains(*divider)).unwrap_or('>');
    value.split(divider).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Several addresses in one cell are divided by what an address cannot hold, or by a comma before the next one.
fn images(offer: &mut FeedOffer, value: &str) {
    let mut rest = value;
    loop {
        let rest_after = ["|", ";", "\n", ",http", ", http"].iter().filter_map(|mark| {
            let at = rest.find(mark)?;
            Some((at, at + mark.len() - if mark.ends_with("http") { 4 } else { 0 }))
        });
        let Some((end, next)) = rest_after.min() else { break };
        push_image(offer, &rest[..end]);
        rest = &rest[next..];
    }
    push_image(offer, rest);
}

fn push_image(offer: &mut FeedOffer, image: &str) {
    let image = image.trim();
    if !image.is_empty() {
        offer.images.push(image.to_owned());
    }
}

/// `12.50 USD` and `USD 12.50` name their currency; anything else stays as it is.
fn price(offer: &mut FeedOffer, value: &str) {
    let capitals = |word: &str| word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let words: Vec<&str> = value.split_whitespace().collect();
    let (amount, currency) = match words.as_slice() {
        [amount @ .., currency] if capitals(currency) => (amount.join(" "), *currency),
        [currency, amount @ ..] if capitals(currency) => (amount.join(" "), *currency),
        _ => (value.to_owned(), ""),
    };
    offer.price = amount;
    if !currency.is_empty() {
        currency.clone_into(&mut offer.currency);
    }
}

/// `2.5 kg` → `2.5` and `kg`.
pub(crate) fn with_unit(value: &str) -> (String, String) {
    let end = value.find(|c: char| c.is_alphabetic()).unwrap_or(value.len());
    (value[..end].trim().to_owned(), value[end..].trim().trim_end_matches('.').to_owned())
}

/// `20/10.5/5` and `20x10x5`: length, width, height.
pub(crate) fn split_sizes(offer: &mut FeedOffer, value: &str, unit: &str) {
    let parts: Vec<&str> = value.split(['/', 'x', 'X', 'х', 'Х', '×', '*']).map(str::trim).collect();
    if let [length, width, height] = parts.as_slice() {
        (*length).clone_into(&mut offer.length);
        (*width).clone_into(&mut offer.width);
        let (height, own) = with_unit(height);
        offer.height = height;
        offer.size_unit = if own.is_empty() { unit.to_owned() } else { own };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_however_they_are_written() {
        for (name, expected) in [
            ("g:image_link", Some(Field::Image)),
            ("Image Link", Some(Field::Image)),
            ("ЦЕНА, руб.", Some(Field::Price)),
            ("\u{FEFF}id", Some(Field::Id)),
            ("in stock", Some(Field::Ignored)),
            ("Цвет", None),
        ] {
            assert_eq!(field(name), expected, "{name}");
        }
    }

    #[test]
    fn prices_and_pictures_are_taken_apart() {
        let mut offer = FeedOffer::default();
        let mut issues = Vec::new();
        set(&mut offer, "price", "1 299.00 USD", &mut issues);
        set(
            &mut offer,
            "images",
            "https://a.example/1,2.jpg, https://a.example/2.jpg|https://a.example/3.jpg",
            &mut issues,
        );
        set(&mut offer, "размеры", "20х10х5 см", &mut issues);
        assert_eq!((offer.price.as_str(), offer.currency.as_str()), ("1 299.00", "USD"));
        assert_eq!(
            offer.images,
            ["https://a.example/1,2.jpg", "https://a.example/2.jpg", "https://a.example/3.jpg"]
        );
        assert_eq!(
            (offer.length.as_str(), offer.height.as_str(), offer.size_unit.as_str()),
            ("20", "5", "см")
        );
        assert!(issues.is_empty());
    }
}
