//! The files of a feed, one edition after another: most offers stay, some change, some go and come back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

/// The first edition has this many records, each next one more, so the number of records names the edition.
const RECORDS: u64 = 150;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Xml,
    Lines,
}

/// What a load of the file must end as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Good,
    /// Breaks the file's form after some good offers.
    BrokenLate,
    /// No feed at all: a page that tells of an error.
    NoFeed,
}

#[derive(Debug)]
pub(super) struct Edition {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) body: Vec<u8>,
    pub(super) records: u64,
    pub(super) rejected: u64,
    pub(super) duplicates: u64,
    /// What must be there afterwards, with its price.
    pub(super) offers: BTreeMap<String, u64>,
}

impl Edition {
    pub(super) fn name(&self) -> String {
        format!("edition-{}", self.number)
    }

    pub(super) fn etag(&self) -> String {
        format!("\"{}\"", self.number)
    }
}

/// The edition with this number of records.
pub(super) fn number_of(records: u64) -> Option<u64> {
    records.checked_sub(RECORDS)
}

/// Makes the editions of one feed.
pub(super) struct Press {
    format: Format,
    random: StdRng,
    next: u64,
    prices: BTreeMap<u64, u64>,
}

impl Press {
    pub(super) fn new(format: Format, seed: u64) -> Self {
        Self { format, random: StdRng::seed_from_u64(seed), next: 1, prices: BTreeMap::new() }
    }

    pub(super) fn edition(&mut self, kind: Kind) -> Edition {
        let number = self.next;
        self.next += 1;
        let records = RECORDS + number;
        let (rejected, duplicates) = (self.random.random_range(1..5), self.random.random_range(0..4));
        let good = records - rejected - duplicates;
        // The ids are drawn anew from a few more than are needed.
        let mut ids: Vec<u64> = (0..good * 6 / 5).collect();
        ids.shuffle(&mut self.random);
        ids.truncate(good as usize);
        ids.sort_unstable();
        let mut lines = Vec::new();
        let mut offers = BTreeMap::new();
        for id in &ids {
            if !self.prices.contains_key(id) || self.random.random_bool(0.2) {
                self.prices.insert(*id, self.random.random_range(100..100_000));
            }
            let price = self.prices[id];
            offers.insert(format!("sku-{id}"), price);
            lines.push(self.offer(&format!("sku-{id}"), "Диван угловой", price, place(*id)));
        }
        for bad in 0..rejected {
            let at = self.random.random_range(0..=lines.len());
            lines.insert(at, self.offer(&format!("bad-{bad}"), "", 1, "Казань"));
        }
        for _ in 0..duplicates {
            // Behind the first of its id, which is the one that counts.
            let id = ids[self.random.random_range(0..ids.len())];
            lines.push(self.offer(&format!("sku-{id}"), "Диван прямой", 5, "Казань"));
        }
        let body = self.file(kind, &lines);
        Edition { number, kind, body, records, rejected, duplicates, offers }
    }

    fn offer(&self, id: &str, title: &str, price: u64, place: &str) -> String {
        match self.format {
            Format::Xml => {
                let place = match place {
                    "" => String::new(),
                    place => format!("<location>{place}</location>"),
                };
                format!(
                    "<offer id=\"{id}\"><title>{title}</title><category>Диваны</category>\
                     <price currency=\"RUB\">{price}</price>{place}</offer>\n"
                )
            }
            Format::Lines => format!(
                "{{\"id\":\"{id}\",\"title\":\"{title}\",\"category\":\"Диваны\",\"price\":\"{price}\",\
                 \"address\":\"{place}\"}}\n"
            ),
        }
    }

    fn file(&mut self, kind: Kind, lines: &[String]) -> Vec<u8> {
        let text = match (kind, self.format) {
            (Kind::NoFeed, _) | (Kind::BrokenLate, Format::Lines) => {
                "<!doctype html><html><body>Please come back later</body></html>".to_owned()
            }
            (_, Format::Lines) => lines.concat(),
            (kind, Format::Xml) => {
                let mut text = "<?xml version=\"1.0\"?>\n<feed version=\"1\">\n<offers>\n".to_owned();
                let whole = match kind {
                    Kind::Good => lines.len(),
                    _ => self.random.random_range(0..lines.len()),
                };
                text.extend(lines[..whole].iter().map(String::as_str));
                if kind != Kind::Good {
                    text.push_str("<surprise/>\n");
                }
                text.extend(lines[whole..].iter().map(String::as_str));
                // Writing into a String cannot fail.
                let _ = writeln!(text, "</offers>\n</feed>");
                text
            }
        };
        text.into_bytes()
    }
}

/// An offer without a place gets a warning.
fn place(id: u64) -> &'static str {
    ["Новосибирск", "Казань", "", "Пермь"][id as usize % 4]
}
