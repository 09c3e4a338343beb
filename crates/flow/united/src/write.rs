//! Parts are written: the one place where an offer's rows, versions and shipments are made.
//!
//! Whoever writes parts collects those of a transaction in a [`Writing`] and finishes it once. Everything is read before anything
//! is decided, in a few questions however many parts there are. A crash leaves all of it or nothing: rows, the business's
//! clock and the messages in the outbox are one transaction.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use store::{Read as _, Tx};
use wire::united::{Colour, Flag, Offer, OfferRow, OfferStatus, Part, ShopRow};

use crate::basic::{Origin, basic_data};
use crate::parts::{Edition, MAX_PART_BYTES, changed_at, check_shop_sku, mark_removed, settle};
use crate::ship::ship;
use crate::stats::Causes;
use crate::subscription::{Difference, Subject};
use crate::tables::{CLOCK, OFFERS, SHOPS};
use crate::{Error, Result, United};

/// A service that somebody wants written.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceWrite {
    pub shop_sku: String,
    pub shop: u32,
    pub source: Source,
    pub removed: bool,
    pub data: Offer,
}

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A followed seller: what is not of the mapping's epoch, or not newer than what is known of the offer, is dropped.
    Follower { epoch: i64, edition: Edition },
    /// Another business that the offer was in: what is not newer is dropped.
    Mover { edition: Edition },
    /// A caller who means it.
    Caller,
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is shipped.
    Shipped,
    /// Something changed that ships nothing.
    Kept,
    /// Of another epoch than the mapping's.
    Stale,
    /// It was known.
    Repeated,
}

/// The parts of one business in one transaction.
pub struct Writing<'a> {
    united: &'a United,
    business: u32,
    now: i64,
    /// What every part that changes here gets.
    version: i64,
    shops: BTreeMap<u32, ShopRow>,
    offers: BTreeMap<String, Touched>,
}

#[derive(Default)]
struct Touched {
    before: Option<OfferRow>,
    row: OfferRow,
    /// Services with a new version.
    changed: BTreeSet<u32>,
    /// Parts of erased sellers, as they are told of.
    erased: BTreeMap<u32, Offer>,
    ships: bool,
    /// The fields whose change ships it.
    triggers: BTreeSet<Subject>,
}

impl<'a> Writing<'a> {
    /// Reads what the parts of these offers and shops need.
    pub async fn begin(
        united: &'a United,
        tx: &Tx,
        business: u32,
        shop_skus: impl IntoIterator<Item = String>,
        shops: impl IntoIterator<Item = u32>,
    ) -> Result<Self> {
        let shop_skus: BTreeSet<String> = shop_skus.into_iter().collect();
        let shops: BTreeSet<u32> = shops.into_iter().collect();
        for shop_sku in &shop_skus {
            check_shop_sku(shop_sku)?;
        }
        let keys: Vec<_> = shop_skus.iter().map(|shop_sku| (business, shop_sku.as_str())).collect();
        let (rows, known, last) = futures::try_join!(
            tx.get_many(&OFFERS, keys),
            tx.get_many(&SHOPS, shops.iter().map(|shop| (business, *shop))),
            tx.get(&CLOCK, (business,)),
        )?;
        let now = united.clock.now().0;
        let touched = |before: Option<OfferRow>| {
            let row = before.clone().unwrap_or_default();
            Touched { before, row, ..Touched::default() }
        };
        Ok(Self {
            united,
            business,
            now,
            version: now.max(last.unwrap_or(0) + 1),
            shops: shops.into_iter().zip(known).filter_map(|(shop, row)| Some((shop, row?))).collect(),
            offers: shop_skus.into_iter().zip(rows.into_iter().map(touched)).collect(),
        })
    }

    /// Writes a service.
    pub fn service(&mut self, write: ServiceWrite) -> Result<Written> {
        let ServiceWrite { shop_sku, shop, source, removed, data } = write;
        let known = self.shops.get(&shop);
        let mapped = known.filter(|known| !known.gone);
        let epoch = known.map_or(0, |known| known.epoch);
        let colour = mapped.map(ShopRow::colour).filter(|colour| *colour != Colour::UnknownColour);
        let stored = self.stored(&shop_sku)?.services.get(&shop).cloned();
        let mut edition = stored.as_ref().map(Edition::of_part).unwrap_or_default();
        if let Source::Follower { epoch: of, edition: new } = source {
            if of != epoch || mapped.is_none() {
                return Ok(Written::Stale);
            }
            if stored.as_ref().is_some_and(|stored| stored.epoch == epoch) && !new.is_newer_than(edition) {
                return Ok(Written::Repeated);
            }
            edition = new;
        }
        if let Source::Mover { edition: new } = source {
            if stored.as_ref().is_some_and(|stored| !stored.removed) && new.is_older_than(edition) {
                return Ok(Written::Repeated);
            }
            edition = new;
        }
        let mut data = settle(data, self.business, &shop_sku, Some(shop), colour);
        mark_removed(&mut data, removed);
        check_size(&data)?;
        let data = self.carried(stored.as_ref(), data);
        let (part, difference) = self.made(stored.as_ref(), data, removed);
        // What comes from elsewhere is nobody's here, unless it comes home.
        let is_moved = matches!(source, Source::Mover { .. });
        let epoch = if is_moved { stored.as_ref().map_or(0, |stored| stored.epoch) } else { epoch };
        let part = of_edition(Part { epoch, ..part }, edition);
        self.take(&shop_sku, shop, part, &difference)
    }

    /// Writes the basic part as such.
    pub fn basic(&mut self, shop_sku: &str, data: Offer) -> Result<Written> {
        let mut data = settle(data, self.business, shop_sku, None, None);
        mark_removed(&mut data, false);
        data.meta.get_or_insert_default().updated_at = Some(self.now);
        check_size(&data)?;
        let stored = self.stored(shop_sku)?.basic.clone();
        let data = self.carried(stored.as_ref(), data);
        let (part, difference) = self.made(stored.as_ref(), data, false);
        let touched = self.touched(shop_sku)?;
        touched.row.basic = Some(Part { own: true, ..part });
        let ships = stored.is_none() || difference.ships();
        touched.ships |= ships;
        touched.triggers.extend(difference.triggers);
        Ok(if ships { Written::Shipped } else { Written::Kept })
    }

    /// Marks a service as removed.
    pub fn remove(&mut self, shop_sku: &str, shop: u32) -> Result<Written> {
        let Some(stored) = self.stored(shop_sku)?.services.get(&shop).filter(|part| !part.removed).cloned()
        else {
            return Ok(Written::Repeated);
        };
        let mut data = stored.data.clone().unwrap_or_default();
        mark_removed(&mut data, true);
        let (part, difference) = self.made(Some(&stored), data, true);
        let part = of_edition(Part { epoch: stored.epoch, ..part }, Edition::of_part(&stored));
        self.take(shop_sku, shop, part, &difference)
    }

    /// The same, if the part is made of this offer: by now another one may have the id.
    pub(crate) fn leave(&mut self, shop_sku: &str, shop: u32, offer_id: i64) -> Result<Written> {
        let part = self.stored(shop_sku)?.services.get(&shop);
        if part.is_none_or(|part| part.offer_id != offer_id) {
            return Ok(Written::Repeated);
        }
        self.remove(shop_sku, shop)
    }

    /// Marks a basic part that was written as such.
    pub fn remove_basic(&mut self, shop_sku: &str) -> Result<()> {
        if let Some(basic) = &mut self.touched(shop_sku)?.row.basic {
            basic.own = false;
        }
        self.refresh_basic(shop_sku)
    }

    /// Deletes a service of an erased seller; those who were told of it are told that nothing of it may stay.
    pub fn erase(&mut self, shop_sku: &str, shop: u32) -> Result<Written> {
        let version = self.version;
        let touched = self.touched(shop_sku)?;
        let Some(part) = touched.row.services.remove(&shop) else { return Ok(Written::Repeated) };
        touched.changed.remove(&shop);
        // It may hold values of the erased one; silver makes it anew from the others.
        touched.row.master_data = None;
        let mut data = Offer { meta: part.data.as_ref().and_then(|data| data.meta), ..Offer::default() };
        data.identifiers = part.data.and_then(|data| data.identifiers);
        let meta = data.meta.get_or_insert_default();
        (meta.version, meta.updated_at) = (Some(version), None);
        data.status = Some(OfferStatus {
            erased: Some(Flag { meta: None, flag: Some(true) }),
            ..OfferStatus::default()
        });
        touched.erased.insert(shop, data);
        touched.ships = true;
        self.refresh_basic(shop_sku)?;
        Ok(Written::Shipped)
    }

    /// Ships the offer whole, whatever changed.
    pub fn ship_whole(&mut self, shop_sku: &str) -> Result<()> {
        let touched = self.touched(shop_sku)?;
        touched.ships = true;
        touched.changed = touched.row.services.keys().copied().collect();
        Ok(())
    }

    /// Whether the shop has a seller under this epoch.
    pub(crate) fn is_current(&self, shop: u32, epoch: i64) -> bool {
        self.shops.get(&shop).is_some_and(|row| !row.gone && row.epoch == epoch)
    }

    /// Notes that a service which went on to another business is of this epoch: the ending of older ones leaves it alone.
    pub(crate) fn renew(&mut self, shop_sku: &str, shop: u32, epoch: i64) -> Result<()> {
        if let Some(part) = self.touched(shop_sku)?.row.services.get_mut(&shop) {
            part.epoch = epoch;
        }
        Ok(())
    }

    /// The data with the colour that the mapping says.
    pub(crate) fn colour(&self, shop: u32, mut data: Offer) -> Offer {
        if let Some(row) = self.shops.get(&shop) {
            data.meta.get_or_insert_default().rgb = Some(row.colour);
        }
        data
    }

    /// The offer as it stands now.
    pub fn row(&self, shop_sku: &str) -> Result<&OfferRow> {
        self.stored(shop_sku)
    }

    pub fn version(&self) -> i64 {
        self.version
    }

    /// Writes rows, clock and shipments.
    pub async fn finish(self, tx: &mut Tx) -> Result<()> {
        let mut shipments = Vec::new();
        let mut is_version_used = false;
        let mut causes = Causes::default();
        for (shop_sku, touched) in self.offers {
            let Touched { before, row, changed, erased, ships, triggers } = touched;
            let is_gone = !erased.is_empty() && row.services.is_empty();
            let key = (self.business, shop_sku.as_str());
            if ships {
                causes.add(before.is_none(), &triggers);
                let mut offer = self.united.subscriptions.shipped_offer(&row, |shop| changed.contains(&shop));
                offer.service.extend(erased);
                if is_gone {
                    offer.basic = offer.service.values().next().map(basic_of_gone);
                }
                shipments.push(offer);
            }
            is_version_used |= ships || parts(&row).any(|part| part.version == self.version);
            if is_gone {
                tx.delete(&OFFERS, key)?;
            } else if before.as_ref() != Some(&row) && row != OfferRow::default() {
                tx.put(&OFFERS, key, &row)?;
            }
        }
        if is_version_used {
            tx.put(&CLOCK, (self.business,), &self.version)?;
        }
        ship(tx, self.business, shipments).await?;
        self.united.count(&causes, self.now);
        Ok(())
    }

    fn stored(&self, shop_sku: &str) -> Result<&OfferRow> {
        self.offers.get(shop_sku).map(|touched| &touched.row).ok_or_else(|| not_begun(shop_sku))
    }

    fn touched(&mut self, shop_sku: &str) -> Result<&mut Touched> {
        self.offers.get_mut(shop_sku).ok_or_else(|| not_begun(shop_sku))
    }

    /// Values that are the same keep the time of their last change.
    fn carried(&self, stored: Option<&Part>, data: Offer) -> Offer {
        match stored.and_then(|stored| stored.data.as_ref()) {
            Some(before) => self.united.subscriptions.carry(before, &data),
            None => data,
        }
    }

    /// The part as it will be stored, and what that changes. Versions grow only with what is subscribed to.
    fn made(&self, stored: Option<&Part>, data: Offer, removed: bool) -> (Part, Difference) {
        let subscriptions = &self.united.subscriptions;
        let nothing = Offer::default();
        let before = stored.and_then(|stored| stored.data.as_ref()).unwrap_or(&nothing);
        let difference = subscriptions.compare(before, &data);
        let version = match stored {
            Some(stored) if !difference.counts() => stored.version,
            _ => self.version,
        };
        let changed_at = match stored {
            Some(stored) if !difference.counts() => changed_at(stored),
            _ => data.meta.and_then(|meta| meta.updated_at).unwrap_or(0),
        };
        let since = stored.filter(|stored| stored.removed).map_or(self.now, |stored| stored.removed_at);
        let removed_at = if removed { since } else { 0 };
        let part = Part { data: Some(data), version, removed, removed_at, changed_at, ..Part::default() };
        (part, difference)
    }

    fn take(&mut self, shop_sku: &str, shop: u32, part: Part, difference: &Difference) -> Result<Written> {
        let version = self.version;
        let touched = self.touched(shop_sku)?;
        if part.version == version {
            touched.changed.insert(shop);
        }
        let is_new = touched.row.services.insert(shop, part).is_none();
        let ships = is_new || difference.ships();
        touched.ships |= ships;
        touched.triggers.extend(&difference.triggers);
        self.refresh_basic(shop_sku)?;
        Ok(if ships { Written::Shipped } else { Written::Kept })
    }

    fn refresh_basic(&mut self, shop_sku: &str) -> Result<()> {
        let row = self.stored(shop_sku)?;
        let Some((data, origin)) = basic_data(row) else { return Ok(()) };
        let stored = row.basic.clone();
        let (part, difference) = self.made(stored.as_ref(), data, origin == Origin::Gone);
        let touched = self.touched(shop_sku)?;
        touched.ships |= difference.ships();
        touched.row.basic = Some(Part { own: origin == Origin::Own, ..part });
        touched.triggers.extend(difference.triggers);
        Ok(())
    }
}

fn parts(row: &OfferRow) -> impl Iterator<Item = &Part> {
    row.basic.iter().chain(row.services.values())
}

fn of_edition(part: Part, edition: Edition) -> Part {
    let Edition { offer_id, made_at: offer_made_at, version: offer_version } = edition;
    Part { offer_id, offer_made_at, offer_version, ..part }
}

fn check_size(data: &Offer) -> Result<()> {
    let size = data.encoded_len();
    if size > MAX_PART_BYTES {
        return Err(Error::Invalid(format!("a part of {size} bytes; the limit is {MAX_PART_BYTES}")));
    }
    Ok(())
}

fn not_begun(shop_sku: &str) -> Error {
    Error::Invalid(format!("offer {shop_sku} was not read before it was written"))
}

/// Of an offer without services nothing is left but the word that it is erased.
fn basic_of_gone(service: &Offer) -> Offer {
    let mut basic = service.clone();
    if let Some(identifiers) = &mut basic.identifiers {
        identifiers.shop_id = None;
    }
    if let Some(meta) = &mut basic.meta {
        meta.rgb = None;
    }
    basic
}
