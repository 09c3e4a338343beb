//! T0: what a transaction's saves mean for the stages, gathered into one row per lane and seller.

use std::collections::BTreeMap;
use std::sync::Arc;

use kit::Timestamp;
use model::Offer;
use store::Tx;
use wire::offers::{Actor, FieldChange, actor};
use wire::stages::{ChangedOffer, ChangedRow};

use super::tables::CHANGED;
use super::{CHANNEL, Lane, Masks};
use crate::Result;

/// Bits of a mask.
const MAX_PATHS: usize = 64;

/// What the stages must hear of.
pub(crate) struct Told {
    masks: Arc<Masks>,
    /// The lane of a stage's run; `None`: the actor decides.
    pub(crate) lane: Option<Lane>,
    rows: BTreeMap<(Lane, String), ChangedRow>,
}

impl Told {
    pub(crate) fn new(masks: Arc<Masks>) -> Self {
        Self { masks, lane: None, rows: BTreeMap::new() }
    }

    /// An offer was saved; `fields` is `None` for a new one.
    pub(crate) fn note(&mut self, offer: &Offer, fields: Option<&[FieldChange]>, actor: &Actor) {
        if self.masks.is_empty() {
            return;
        }
        let by = if actor.kind() == actor::Kind::Stage { actor.who.as_str() } else { "" };
        let paths = fields.map(|fields| fields.iter().map(|field| field.path.as_str()));
        if !self.masks.wants(by, paths) {
            return;
        }
        let lane = self.lane.unwrap_or_else(|| Lane::of(actor.kind()));
        let row = self.rows.entry((lane, offer.seller_id.clone())).or_default();
        let mut entry = ChangedOffer { offer_id: offer.id, by: by.to_owned(), ..ChangedOffer::default() };
        match fields {
            None => entry.whole = true,
            Some(fields) => {
                for field in fields {
                    match bit(&mut row.paths, &field.path) {
                        Some(bit) => entry.mask |= 1 << bit,
                        None => entry.whole = true,
                    }
                }
            }
        }
        row.offers.push(entry);
    }

    /// The offer left the tables in this very transaction.
    pub(crate) fn forget(&mut self, id: i64) {
        for row in self.rows.values_mut() {
            row.offers.retain(|entry| entry.offer_id != id);
        }
        self.rows.retain(|_, row| !row.offers.is_empty());
    }

    /// Writes the rows. `seq` grows with every transaction of the shard that changes an offer.
    pub(crate) fn finish(self, tx: &mut Tx, seq: i64, now: Timestamp) -> Result<()> {
        if !self.rows.is_empty() {
            tx.wake(CHANNEL);
        }
        for ((lane, seller), row) in self.rows {
            tx.put(&CHANGED, (lane.number(), seller.as_str(), seq), &ChangedRow { at: now.0, ..row })?;
        }
        Ok(())
    }
}

/// The path's bit in a row, which is given to it here if the row has one left.
fn bit(paths: &mut Vec<String>, path: &str) -> Option<usize> {
    if let Some(bit) = paths.iter().position(|named| named == path) {
        return Some(bit);
    }
    (paths.len() < MAX_PATHS).then(|| {
        paths.push(path.to_owned());
        paths.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use wire::stages::RegistryRow;

    use super::*;

    fn told(masks: &[&str]) -> Told {
        let masks = masks.iter().map(ToString::to_string).collect();
        let rows = [("stage".to_owned(), RegistryRow { masks, ..RegistryRow::default() })];
        Told::new(Arc::new(Masks::of(&rows)))
    }

    fn actor(kind: actor::Kind, who: &str) -> Actor {
        Actor { kind: kind.into(), who: who.to_owned(), ..Actor::default() }
    }

    fn fields(paths: &[&str]) -> Vec<FieldChange> {
        paths.iter().map(|path| FieldChange { path: path.to_string(), ..FieldChange::default() }).collect()
    }

    fn offer(id: i64, seller: &str) -> Offer {
        Offer { id, seller_id: seller.to_owned(), ..Offer::default() }
    }

    #[test]
    fn one_row_per_lane_and_seller_with_every_path_named_once() {
        let mut told = told(&["price", "title"]);
        let (person, feed) = (actor(actor::Kind::Api, "x"), actor(actor::Kind::Feed, "f"));
        told.note(&offer(1, "a"), Some(&fields(&["title", "price"])), &person);
        told.note(&offer(2, "a"), Some(&fields(&["price"])), &person);
        told.note(&offer(3, "a"), Some(&fields(&["description"])), &person);
        told.note(&offer(4, "b"), None, &person);
        told.note(&offer(5, "a"), None, &feed);
        told.note(&offer(6, "a"), None, &actor(actor::Kind::Stage, "stage"));
        let shown: Vec<_> = told
            .rows
            .iter()
            .map(|((lane, seller), row)| {
                let entries = row.offers.iter().map(|entry| (entry.offer_id, entry.mask, entry.whole));
                (lane.name(), seller.as_str(), row.paths.join(" "), entries.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("main", "a", "title price".to_owned(), vec![(1, 0b11, false), (2, 0b10, false)]),
                ("main", "b", String::new(), vec![(4, 0, true)]),
                ("bulk", "a", String::new(), vec![(5, 0, true)]),
            ]
        );
        told.forget(4);
        assert_eq!(told.rows.len(), 2);
    }

    #[test]
    fn more_paths_than_bits_are_everything() {
        let mut told = told(&[]);
        let person = actor(actor::Kind::Api, "x");
        let names: Vec<_> = (0..65).map(|number| format!("attributes.{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        told.note(&offer(1, "a"), Some(&fields(&names)), &person);
        let row = &told.rows[&(Lane::Main, "a".to_owned())];
        assert_eq!((row.paths.len(), row.offers[0].mask, row.offers[0].whole), (64, u64::MAX, true));
    }
}
