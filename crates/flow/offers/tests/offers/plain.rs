//! What offers do, in the plainest words: everything in memory, no rows, no engine.

use std::collections::{BTreeMap, BTreeSet};

use model::Status;
use model::status::is_sold;
use offers::counters::Counters;
use offers::presets::Preset;
use offers::write::Verb;
use wire::offers::opinion::Verdict;

pub(crate) const DAY_US: i64 = 86_400_000_000;

/// An offer in the model.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) seller: &'static str,
    pub(crate) status: Status,
    pub(crate) before_ban: Status,
    pub(crate) title: String,
    pub(crate) price: Option<i64>,
    pub(crate) version: i64,
    pub(crate) created_at: i64,
    pub(crate) was_sold: bool,
    pub(crate) opinion: Option<(i64, Verdict)>,
    pub(crate) reasons: Vec<String>,
    pub(crate) judged_for: Vec<String>,
    pub(crate) expires_at: i64,
    pub(crate) external_id: Option<String>,
    pub(crate) problems: bool,
}

/// What the model knows of an id of a feed.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) offer: i64,
    /// When the offer went, and what it was then.
    pub(crate) dead: Option<(i64, Status)>,
}

#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) offers: BTreeMap<i64, Known>,
    pub(crate) rows: BTreeMap<(&'static str, String), Row>,
    pub(crate) tasks: BTreeMap<&'static str, i64>,
    pub(crate) sold: BTreeMap<&'static str, i64>,
    pub(crate) money: BTreeMap<&'static str, i64>,
}

/// What an operation says, in words that both sides share.
pub(crate) type Answer = Result<(Status, i64), &'static str>;

impl Plain {
    pub(crate) fn act(&mut self, id: i64, verb: Verb, expected: Option<i64>, now: i64) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("missing")?;
        if expected.is_some_and(|expected| expected != offer.version) {
            return Err("stale");
        }
        use Status::{Active, Banned, Deleted, Expired, Inactive, SoldElsewhere, SoldHere};
        let from = offer.status;
        let to = match verb {
            Verb::Withdraw => Inactive,
            Verb::Activate => Active,
            Verb::Prolong => {
                // Active only gets a later end, which is a change of its own.
                if from == Active {
                    offer.version += i64::from(offer.expires_at != expiry(offer, now));
                    offer.expires_at = expiry(offer, now);
                    return Ok((from, offer.version));
                }
                if from != Expired {
                    return Err("illegal");
                }
                Active
            }
            Verb::SellHere => SoldHere,
            Verb::SellElsewhere => SoldElsewhere,
            Verb::Delete => Deleted,
        };
        if from == to {
            return Ok((from, offer.version));
        }
        let allowed = match from {
            Active => to != Active,
            Inactive | Expired => to != Inactive,
            Banned => to == Deleted,
            SoldHere | SoldElsewhere => to == Active || to == Deleted,
            _ => false,
        };
        if !allowed {
            return Err("illegal");
        }
        offer.status = to;
        offer.version += 1;
        if to == Active {
            offer.expires_at = expiry(offer, now);
        }
        let key = offer.external_id.clone().map(|external_id| (offer.seller, external_id));
        let own_key = key.filter(|key| self.rows.get(key).is_some_and(|row| row.offer == id));
        if is_sold(from) && to == Active && own_key.is_none() {
            // The feed let it go while it was sold.
            offer.external_id = None;
        }
        if to == Deleted
            && let Some(key) = own_key
        {
            if from == Banned {
                self.rows.insert(key, Row { offer: id, dead: Some((now, Banned)) });
            } else {
                self.rows.remove(&key);
            }
        }
        if to == SoldHere && !offer.was_sold {
            offer.was_sold = true;
            *self.sold.entry(offer.seller).or_default() += 1;
            *self.money.entry(offer.seller).or_default() += offer.price.unwrap_or(0);
        }
        Ok((to, offer.version))
    }

    pub(crate) fn edit(&mut self, id: i64, expected: Option<i64>, title: &str, price: Option<i64>) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("missing")?;
        if expected.is_some_and(|expected| expected != offer.version) {
            return Err("stale");
        }
        if offer.status == Status::Deleted {
            return Err("missing");
        }
        if (offer.title.as_str(), offer.price) != (title, price) {
            if offer.external_id.is_some() {
                return Err("managed");
            }
            (offer.title, offer.price) = (title.to_owned(), price);
            offer.version += 1;
        }
        Ok((offer.status, offer.version))
    }

    pub(crate) fn opine(&mut self, id: i64, at: i64, verdict: Verdict, reasons: &[String]) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("early")?;
        if let Some((then, old)) = offer.opinion
            && (at < then || (at == then && old == Verdict::Ban && verdict != Verdict::Ban))
        {
            return Err("older");
        }
        offer.opinion = Some((at, verdict));
        offer.judged_for = reasons.to_vec();
        let bannable = matches!(offer.status, Status::Active | Status::Inactive | Status::Expired);
        if verdict == Verdict::Ban && bannable {
            offer.before_ban = offer.status;
            offer.status = Status::Banned;
            offer.reasons = reasons.to_vec();
            offer.version += 1;
        } else if verdict == Verdict::Ban && offer.status == Status::Banned && offer.reasons != reasons {
            offer.reasons = reasons.to_vec();
            offer.version += 1;
        } else if verdict == Verdict::Unban && offer.status == Status::Banned {
            offer.status = offer.before_ban;
            offer.reasons.clear();
            offer.version += 1;
        }
        Ok((offer.status, offer.version))
    }

    /// A whole load: what its records make of the offers that are known, and what goes. Gives the ids of the feed that
    /// need a new offer.
    pub(crate) fn load(&mut self, seller: &'static str, records: &[Loaded], now: i64) -> Vec<Loaded> {
        let mut seen = BTreeSet::new();
        let mut new = Vec::new();
        for record in records {
            if !seen.insert(record.external_id.clone()) {
                continue;
            }
            let key = (seller, record.external_id.clone());
            let row = self.rows.get(&key).cloned();
            let offer = row.as_ref().and_then(|row| self.offers.get_mut(&row.offer));
            match (row, offer) {
                (Some(Row { dead: None, .. }), Some(offer)) if record.broken => offer.problems = true,
                _ if record.broken => {}
                (Some(Row { dead: None, .. }), Some(offer)) => offer.loaded(record, now),
                (Some(Row { offer: id, dead: Some((died_at, status)) }), Some(offer))
                    if now - died_at < 30 * DAY_US =>
                {
                    offer.revive(record, status, now);
                    self.rows.insert(key, Row { offer: id, dead: None });
                }
                _ => new.push(record.clone()),
            }
        }
        let offers = &mut self.offers;
        self.rows.retain(|(owner, external_id), row| {
            if *owner != seller || row.dead.is_some() || seen.contains(external_id) {
                return true;
            }
            let offer = offers.get_mut(&row.offer).unwrap();
            // What is sold stays sold, and the feed forgets it.
            let goes = !is_sold(offer.status);
            if goes {
                row.dead = Some((now, offer.status));
                offer.status = Status::Deleted;
                offer.version += 1;
            }
            goes
        });
        new
    }

    /// Time has passed: what is past its end expires.
    pub(crate) fn expire(&mut self, now: i64) {
        for offer in self.offers.values_mut() {
            if offer.status == Status::Active && offer.expires_at <= now {
                offer.status = Status::Expired;
                offer.version += 1;
            }
        }
    }

    /// The ids of a list, newest first.
    pub(crate) fn list(&self, seller: &str, preset: Preset) -> Vec<i64> {
        let mut found: Vec<_> = self
            .offers
            .iter()
            .filter(|(_, offer)| offer.seller == seller && offer.is_in(preset))
            .map(|(id, offer)| (offer.created_at, *id))
            .collect();
        found.sort_unstable();
        found.into_iter().rev().map(|(_, id)| id).collect()
    }

    pub(crate) fn counters(&self, seller: &str) -> Counters {
        let count = |status: Status| {
            self.offers.values().filter(|offer| offer.seller == seller && offer.status == status).count()
                as i64
        };
        let money = self.money.get(seller).copied().unwrap_or(0);
        Counters {
            active: count(Status::Active),
            expired: count(Status::Expired),
            banned: count(Status::Banned),
            sold: self.sold.get(seller).copied().unwrap_or(0),
            money_earned: if money == 0 { BTreeMap::new() } else { [("RUB".to_owned(), money)].into() },
        }
    }
}

/// A record of a feed.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) external_id: String,
    pub(crate) title: String,
    pub(crate) price: Option<i64>,
    pub(crate) broken: bool,
}

/// Both lifetimes are the same in these runs.
pub(crate) fn expiry(_: &Known, now: i64) -> i64 {
    now + 60 * DAY_US
}

impl Known {
    pub(crate) fn loaded(&mut self, record: &Loaded, now: i64) {
        self.problems = false;
        let differs = (&self.title, self.price) != (&record.title, record.price);
        let was_expired = self.status == Status::Expired;
        if differs || was_expired {
            self.version += 1;
        }
        if was_expired {
            self.status = Status::Active;
            self.expires_at = expiry(self, now);
        }
        (self.title, self.price) = (record.title.clone(), record.price);
    }

    pub(crate) fn revive(&mut self, record: &Loaded, status: Status, now: i64) {
        let last = if status == Status::Banned { self.before_ban } else { status };
        self.status = match last {
            Status::Inactive | Status::SoldHere | Status::SoldElsewhere => last,
            _ => Status::Active,
        };
        self.reasons.clear();
        if !is_sold(last) && self.opinion.is_some_and(|(_, verdict)| verdict == Verdict::Ban) {
            self.before_ban = self.status;
            self.status = Status::Banned;
            self.reasons = self.judged_for.clone();
        }
        if self.status == Status::Active {
            self.expires_at = expiry(self, now);
        }
        self.problems = false;
        self.version += 1;
        (self.title, self.price) = (record.title.clone(), record.price);
    }

    pub(crate) fn is_in(&self, preset: Preset) -> bool {
        match preset {
            Preset::Deleted => self.status == Status::Deleted,
            _ if self.status == Status::Deleted => false,
            Preset::All => true,
            Preset::Manual => self.external_id.is_none(),
            Preset::Active => self.status == Status::Active,
            Preset::Inactive => self.status == Status::Inactive,
            Preset::Expired => self.status == Status::Expired,
            Preset::Banned => self.status == Status::Banned,
            Preset::WithProblems => self.status == Status::Banned || self.problems,
            Preset::Sold => is_sold(self.status),
            Preset::FromFeed => self.external_id.is_some(),
        }
    }
}
