//! Which offers are alike: those of a category with the same key attributes, condition and currency.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use catalog::Catalog;
use model::{Content, Offer, Status, status};
use offers::diff::written;
use wire::offers::OfferChange;

/// A longer value of a key makes no two offers alike.
const MAX_VALUE_BYTES: usize = 100;
/// A longer name of a bucket is cut, and ends with its hash.
const MAX_BUCKET_BYTES: usize = 200;

/// What of an offer decides where its price stands, in the words of its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Features {
    is_active: bool,
    category: String,
    currency: String,
    condition: String,
    /// By attribute; `None`: too long to be compared.
    values: BTreeMap<String, Option<String>>,
}

impl Features {
    pub(super) fn of(offer: &Offer) -> Self {
        let none = Content::default();
        let content = offer.content.as_ref().unwrap_or(&none);
        let price = content.price.as_ref().filter(|price| price.minor > 0);
        let values = content.attributes.iter().map(|one| (one.id.clone(), Some(written(one))));
        Self {
            is_active: offer.status() == Status::Active,
            category: content.category_id.clone(),
            currency: price.map(|price| price.currency.clone()).unwrap_or_default(),
            condition: content.condition().as_str_name().to_lowercase(),
            values: values.collect(),
        }
    }

    /// The same offer before the change; `None`: there was none.
    pub(super) fn before(change: &OfferChange, offer: &Offer) -> Option<Self> {
        if change.created {
            return None;
        }
        let mut before = Self::of(offer);
        for field in &change.fields {
            let from = field.from.clone();
            match field.path.as_str() {
                "status" => before.is_active = from.as_deref() == Some(status::name(Status::Active)),
                "category_id" => before.category = from.unwrap_or_default(),
                "condition" => before.condition = from.unwrap_or_default(),
                "price" => before.currency = currency(&from.unwrap_or_default()),
                path => {
                    if let Some(id) = path.strip_prefix("attributes.") {
                        before.values.insert(id.to_owned(), from);
                    }
                }
            }
        }
        Some(before)
    }

    /// The bucket; none for an offer that is not active, has no price, or does not say what its keys are.
    pub(super) fn bucket(&self, catalog: &Catalog) -> Option<String> {
        if !self.is_active || self.currency.is_empty() || catalog.category(&self.category).is_none() {
            return None;
        }
        let mut keys: Vec<_> = catalog.keys_of(&self.category).map(|key| key.id.as_str()).collect();
        keys.sort_unstable();
        let mut bucket = format!("{}|{}|{}", self.category, self.currency, self.condition);
        for key in keys {
            let value = self.values.get(key)?.as_deref()?;
            if value.is_empty() || value.len() > MAX_VALUE_BYTES {
                return None;
            }
            let _ = write!(bucket, "|{key}={value}");
        }
        Some(short(bucket))
    }
}

/// The currency of a price in the words of the history: `1299.00 RUB`. A price of nothing counts as none.
fn currency(price: &str) -> String {
    match price.rsplit_once(' ') {
        Some((amount, currency)) if amount.contains(|digit: char| ('1'..='9').contains(&digit)) => {
            currency.to_owned()
        }
        _ => String::new(),
    }
}

fn short(bucket: String) -> String {
    if bucket.len() <= MAX_BUCKET_BYTES {
        return bucket;
    }
    let hash = blake3::hash(bucket.as_bytes()).to_hex();
    let mut end = MAX_BUCKET_BYTES - hash.len() - 1;
    while !bucket.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}#{hash}", &bucket[..end])
}

#[cfg(test)]
mod tests {
    use catalog::SourceFile;
    use model::{Attribute, Condition, Money, Value, value::Kind};
    use offers::diff::diff;

    use super::*;

    fn catalog() -> Catalog {
        let text = "category phones\n  ru Т\n  en P\n  has brand, storage, note\n  key storage, brand\n\
            category books\n  ru К\n  en B\n\
            attribute brand brands\n  ru М\n  en B\n  value acme Акме | Acme\n\
            attribute storage number\n  ru П\n  en S\nattribute note text\n  ru З\n  en N\n";
        Catalog::from_files(&[SourceFile { name: "a".into(), text: text.into() }], None).unwrap()
    }

    fn attribute(id: &str, kind: Kind) -> Attribute {
        Attribute { id: id.into(), values: vec![Value { kind: Some(kind) }], ..Attribute::default() }
    }

    fn phone(brand: &str, storage: f64, minor: i64) -> Offer {
        let content = Content {
            category_id: "phones".into(),
            price: Some(Money { minor, currency: "RUB".into() }),
            condition: Condition::Used.into(),
            attributes: vec![
                attribute("brand", Kind::Text(brand.into())),
                attribute("storage", Kind::Number(storage)),
            ],
            ..Content::default()
        };
        Offer { status: Status::Active.into(), content: Some(content), ..Offer::default() }
    }

    fn bucket(offer: &Offer) -> Option<String> {
        Features::of(offer).bucket(&catalog())
    }

    #[test]
    fn a_bucket_is_the_category_with_its_keys() {
        let expected = "phones|RUB|used|brand=acme|storage=128";
        assert_eq!(bucket(&phone("acme", 128.0, 5)).as_deref(), Some(expected));
        let mut book = phone("acme", 1.0, 5);
        book.content.as_mut().unwrap().category_id = "books".into();
        assert_eq!(bucket(&book).as_deref(), Some("books|RUB|used"), "it has no keys");
        book.content.as_mut().unwrap().category_id = "gone".into();
        assert_eq!(bucket(&book), None);
        assert_eq!(bucket(&phone("acme", 128.0, 0)), None, "a price of nothing is none");
        assert_eq!(bucket(&Offer { status: Status::Inactive.into(), ..phone("acme", 128.0, 5) }), None);
        assert_eq!(bucket(&phone(&"x".repeat(101), 128.0, 5)), None);
        let mut unsaid = phone("acme", 128.0, 5);
        unsaid.content.as_mut().unwrap().attributes.pop();
        assert_eq!(bucket(&unsaid), None, "it does not say how much it stores");
        let long = "я".repeat(50);
        let long = bucket(&phone(&long, 128.0, 5)).unwrap();
        assert!(long.len() <= MAX_BUCKET_BYTES, "{long}");
    }

    #[test]
    fn the_bucket_before_a_change_follows_from_the_change() {
        let mut book = phone("acme", 128.0, 700);
        book.content.as_mut().unwrap().category_id = "books".into();
        let mut other = phone("acme", 128.0, 700);
        if let Some(content) = &mut other.content {
            content.price = Some(Money { minor: 700, currency: "USD".into() });
            content.condition = Condition::New.into();
        }
        let states = [
            phone("acme", 128.0, 700),
            phone("acme", 256.0, 700),
            phone("bolt", 256.0, 900),
            phone("acme", 128.0, 0),
            phone(&"x".repeat(300), 128.0, 7),
            Offer { status: Status::Banned.into(), ..phone("acme", 128.0, 700) },
            book,
            other,
        ];
        for before in &states {
            for after in &states {
                let fields = diff(before, after);
                let change = OfferChange { fields, ..OfferChange::default() };
                let found = Features::before(&change, after).unwrap().bucket(&catalog());
                assert_eq!(found, bucket(before), "{:?} to {:?}", bucket(before), bucket(after));
            }
        }
        let new = OfferChange { created: true, ..OfferChange::default() };
        assert_eq!(Features::before(&new, &states[0]), None);
    }
}
