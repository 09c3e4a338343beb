//! Step 0: from the wire to parameters. Also: the keys of a message, however broken the rest of it is.

use std::collections::BTreeMap;

use prost::Message as _;
use united::check_shop_sku;
use united::subscription::fields::{Field, Malformed, fields, number_of};
use wire::silver::{ParameterValue, Part, PartVersion};
use wire::united::{Offer, OfferIdentifiers, OriginalSpecification, OriginalTerms, UnitedOffer};

use crate::parameters::PARAMETERS;
use crate::ssku::{BASIC, CommonSsku, Key};

/// An offer of a message: its key, and what it says or why that cannot be used.
#[derive(Clone, Debug)]
pub struct Delivered {
    pub key: Key,
    pub ssku: Result<CommonSsku, Refused>,
}

/// An offer that cannot be imported as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub reason: String,
    /// What it would have brought; none if that is not known.
    pub parts: Vec<PartVersion>,
    /// The word that services are erased: it passes, whatever is wrong with the rest.
    pub erased: Option<CommonSsku>,
}

impl Delivered {
    /// An offer that was read elsewhere than from a message.
    pub fn of(offer: &UnitedOffer) -> Result<Self, String> {
        let key = key_of(offer)?;
        let refused =
            |reason| Refused { reason, parts: versions(offer), erased: erased_services(&key, offer) };
        Ok(Self { ssku: convert(offer).map_err(refused), key })
    }

    /// The same as somebody brought it who is not united.
    #[must_use]
    pub fn by_hand(mut self) -> Self {
        if let Ok(ssku) = &mut self.ssku {
            for part in ssku.services.values_mut() {
                part.by_hand = true;
            }
        }
        self
    }
}

/// Takes a message apart. An offer whose key can be read stands for itself, whatever else is wrong with it; a message with an
/// offer that has no key, or with offers of several businesses, is nobody's.
pub fn read_batch(payload: &[u8]) -> Result<Vec<Delivered>, String> {
    let offers = fields(payload).map_err(|error| error.to_string())?;
    let bodies = offers.iter().filter(|field| field.number == 1);
    let delivered: Vec<_> = bodies.map(read_offer).collect::<Result<_, _>>()?;
    let mut businesses = delivered.iter().map(|offer| offer.key.business);
    if let Some(first) = businesses.next()
        && let Some(other) = businesses.find(|other| *other != first)
    {
        return Err(format!("a message with offers of the businesses {first} and {other}"));
    }
    Ok(delivered)
}

fn read_offer(field: &Field<'_>) -> Result<Delivered, String> {
    let body = field.body.ok_or("an offer that is not a message")?;
    match UnitedOffer::decode(body) {
        Ok(offer) => Delivered::of(&offer),
        Err(error) => {
            let key = key_of_broken(body).ok_or_else(|| format!("no key can be read: {error}"))?;
            let reason = format!("the offer cannot be decoded: {error}");
            Ok(Delivered { key, ssku: Err(Refused { reason, parts: Vec::new(), erased: None }) })
        }
    }
}

/// The key of an offer; all of its parts must have the same.
pub fn key_of(offer: &UnitedOffer) -> Result<Key, String> {
    let parts = offer.basic.iter().chain(offer.service.values());
    let mut keys = parts.filter_map(|part| part.identifiers.as_ref()).map(key_of_part);
    let key = keys.next().ok_or("an offer without a key")??;
    match keys.find(|other| other.as_ref() != Ok(&key)) {
        None => Ok(key),
        Some(Ok(other)) => Err(format!("an offer with the keys {key} and {other}")),
        Some(Err(error)) => Err(error),
    }
}

fn key_of_part(identifiers: &OfferIdentifiers) -> Result<Key, String> {
    let business = identifiers.business_id.filter(|id| *id != 0).ok_or("an offer without a business")?;
    let shop_sku = identifiers.offer_id.clone().unwrap_or_default();
    check_shop_sku(&shop_sku).map_err(|error| error.to_string())?;
    Ok(Key { business, shop_sku })
}

/// Looks for the identifiers alone, in the basic part or in any service.
fn key_of_broken(offer: &[u8]) -> Option<Key> {
    let parts = fields(offer).ok()?;
    parts.iter().find_map(|field| {
        let body = field.body?;
        match field.number {
            1 => key_in_part(body).ok().flatten(),
            2 => fields(body)
                .ok()?
                .iter()
                .filter(|entry| entry.number == 2)
                .find_map(|entry| key_in_part(entry.body?).ok().flatten()),
            _ => None,
        }
    })
}

fn key_in_part(part: &[u8]) -> Result<Option<Key>, Malformed> {
    let Some(identifiers) = fields(part)?.into_iter().find(|field| field.number == 1) else {
        return Ok(None);
    };
    let inner = fields(identifiers.body.unwrap_or_default())?;
    let of = |number| inner.iter().find(|field| field.number == number);
    let business = of(1).and_then(number_of).and_then(|id| u32::try_from(id).ok()).filter(|id| *id != 0);
    let shop_sku = of(2).and_then(|field| field.body).and_then(|text| std::str::from_utf8(text).ok());
    let shop_sku = shop_sku.filter(|text| check_shop_sku(text).is_ok());
    Ok(business.zip(shop_sku).map(|(business, shop_sku)| Key { business, shop_sku: shop_sku.to_owned() }))
}

/// The offer in parameters.
pub fn convert(offer: &UnitedOffer) -> Result<CommonSsku, String> {
    let mut ssku = CommonSsku::new(key_of(offer)?);
    if let Some(basic) = &offer.basic {
        ssku.basic = Some(part(basic).map_err(|error| format!("basic part: {error}"))?);
        if is_erased(basic) {
            ssku.erased.insert(BASIC);
        }
    }
    for (shop, service) in &offer.service {
        let said = service.identifiers.as_ref().and_then(|identifiers| identifiers.shop_id);
        if *shop == BASIC || said.is_some_and(|said| said != *shop) {
            return Err(format!("a service under shop {shop} that says shop {}", said.unwrap_or(BASIC)));
        }
        let part = part(service).map_err(|error| format!("shop {shop}: {error}"))?;
        ssku.services.insert(*shop, part);
        if is_erased(service) {
            ssku.erased.insert(*shop);
        }
    }
    Ok(ssku)
}

/// The services of an offer that are erased, if there are any.
fn erased_services(key: &Key, offer: &UnitedOffer) -> Option<CommonSsku> {
    let erased = offer.service.iter().filter(|(shop, service)| **shop != BASIC && is_erased(service));
    let services: BTreeMap<u32, Part> =
        erased.filter_map(|(shop, service)| Some((*shop, part(service).ok()?))).collect();
    let erased = services.keys().copied().collect();
    (!services.is_empty()).then(|| CommonSsku { services, erased, ..CommonSsku::new(key.clone()) })
}

/// The versions of all parts, or none if one of them has none.
fn versions(offer: &UnitedOffer) -> Vec<PartVersion> {
    let parts = offer
        .basic
        .iter()
        .map(|part| (BASIC, part))
        .chain(offer.service.iter().map(|(shop, part)| (*shop, part)));
    let version = |part: &Offer| part.meta.and_then(|meta| meta.version).filter(|version| *version > 0);
    let versions = parts.map(|(shop_id, part)| version(part).map(|version| PartVersion { shop_id, version }));
    versions.collect::<Option<_>>().unwrap_or_default()
}

fn part(offer: &Offer) -> Result<Part, String> {
    let meta = offer.meta.unwrap_or_default();
    let version = meta.version.filter(|version| *version > 0).ok_or("no version")?;
    let removed = is_set(offer, |status| status.removed.as_ref()) || is_erased(offer);
    let partner = offer.content.as_ref().and_then(|content| content.partner.as_ref());
    let (no_original, no_terms) = (OriginalSpecification::default(), OriginalTerms::default());
    let original = partner.and_then(|partner| partner.original.as_ref()).unwrap_or(&no_original);
    let terms = partner.and_then(|partner| partner.original_terms.as_ref()).unwrap_or(&no_terms);
    let mut value = Vec::new();
    for parameter in PARAMETERS {
        let Some(raw) = parameter.take(original, terms) else { continue };
        let meta = raw.meta.unwrap_or_default();
        value.push(ParameterValue {
            parameter_id: parameter.id,
            value: raw.values.map_err(|error| format!("{}: {error}", parameter.name))?,
            source: meta.source.unwrap_or_default(),
            updated_at: meta.timestamp.unwrap_or(0),
        });
    }
    Ok(Part { value, version, colour: meta.rgb.unwrap_or_default(), removed, by_hand: false })
}

fn is_erased(offer: &Offer) -> bool {
    is_set(offer, |status| status.erased.as_ref())
}

fn is_set(offer: &Offer, flag: impl Fn(&wire::united::OfferStatus) -> Option<&wire::united::Flag>) -> bool {
    offer.status.as_ref().and_then(flag).and_then(|flag| flag.flag).unwrap_or(false)
}

#[cfg(test)]
mod tests;
