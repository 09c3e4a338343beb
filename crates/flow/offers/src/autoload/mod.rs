//! Offers from feeds: what a load brings becomes offers, and what it no longer has goes.
//!
//! A load arrives as numbered batches and a terminal message. Everything that a batch causes, with its results, is one
//! transaction, so a batch happens once and wholly or not at all. Most of a load is what was there yesterday: for a record
//! whose fingerprint is the known one, a bit is set in a bitmap and nothing else is read or written.
//!
//! Each record that a feed ever brought has a row by the seller's own id and an **ordinal**, a number given once. The bits
//! of a task say which ordinals its file had; the terminal message leaves a sweep behind, which walks the ordinals beside
//! the stream ([`sweep`]) and takes away those that neither this task nor a newer one had. The rows of what went stay for
//! thirty days, so an offer that flickers comes back with its id, its ban and its withdrawal.
//!
//! - [`decide`] says what becomes of a record: a pure function of the record and of what is known;
//! - [`batch`] reads what a run of batches needs in a few questions, and writes what was decided;
//! - [`terminal`] ends tasks; [`decisions`] takes a person's word on a held one;
//! - [`dry`] does the same without an effect;
//! - [`walk`] forgets dead rows.

mod batch;
mod decide;
pub mod decisions;
mod dry;
mod record;
mod results;
mod seen;
pub mod sweep;
mod terminal;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use model::names;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::feed_message::Kind;
use wire::feeds::{FeedBatch, FeedMessage};
use wire::offers::Erasure;

pub use decisions::{Decided, Decisions, decide};
pub use walk::DeadFeedRows;

use crate::tables::ERASURES;
use crate::{Offers, Result, erase};

/// Which load is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    pub(crate) seller: String,
    pub(crate) namespace: String,
    pub(crate) task: i64,
    pub(crate) dry: bool,
}

impl Load {
    /// The task in the keys of its bits, batches and sweep: dry runs stand apart.
    fn key(&self) -> i64 {
        if self.dry { -self.task } else { self.task }
    }

    fn feed(&self) -> (&str, &str) {
        (&self.seller, &self.namespace)
    }
}

/// Takes loads from the topic.
pub struct Batches(pub Offers);

#[async_trait]
impl Handler for Batches {
    type Message = FeedWord;

    fn decode(&self, record: &Record) -> Result<(Shard, FeedWord), Undecodable> {
        Ok((Shard::of_bytes(&record.key), decode(record)?))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<FeedWord>) -> Result<(), Failure> {
        let messages = without_erased(tx, messages).await?;
        for (load, part) in runs(messages) {
            apply(tx, &self.0, &load, part).await?;
        }
        Ok(())
    }
}

/// Without what was made before its seller was erased: nobody waits for an answer, and nothing may be kept of it.
async fn without_erased(tx: &Tx, messages: Vec<FeedWord>) -> Result<Vec<(Load, Kind)>> {
    let sellers: BTreeSet<&str> = messages.iter().map(|message| message.load.seller.as_str()).collect();
    let erasures = tx.get_many(&ERASURES, sellers.iter().map(|seller| (*seller,))).await?;
    let erased: BTreeMap<String, Erasure> = sellers
        .into_iter()
        .zip(erasures)
        .filter_map(|(seller, row)| Some((seller.to_owned(), row?)))
        .collect();
    let mut kept = Vec::with_capacity(messages.len());
    for FeedWord { load, after_erasure, kind } in messages {
        if erase::made_since(erased.get(&load.seller), after_erasure) {
            kept.push((load, kind));
        } else {
            tracing::info!(
                namespace = load.namespace,
                task = load.task,
                "a load of an erased seller is dropped"
            );
        }
    }
    Ok(kept)
}

/// A message about a load, taken apart.
pub struct FeedWord {
    load: Load,
    after_erasure: i64,
    kind: Kind,
}

/// What is applied together.
enum Part {
    Batches(Vec<FeedBatch>),
    Terminal(wire::feeds::FeedTerminal),
    Abort,
}

async fn apply(tx: &mut Tx, offers: &Offers, load: &Load, part: Part) -> Result<()> {
    match part {
        Part::Batches(batches) if load.dry => dry::batches(tx, offers, load, batches).await,
        Part::Batches(batches) => batch::apply(tx, offers, load, batches).await,
        Part::Terminal(terminal) if load.dry => dry::terminal(tx, load, &terminal).await,
        Part::Terminal(terminal) => terminal::terminal(tx, load, &terminal).await,
        Part::Abort if load.dry => dry::abort(tx, load).await,
        Part::Abort => terminal::abort(tx, load).await,
    }
}

/// Neighbouring batches of one load share their reads.
fn runs(messages: Vec<(Load, Kind)>) -> Vec<(Load, Part)> {
    let mut runs: Vec<(Load, Part)> = Vec::new();
    for (load, kind) in messages {
        let part = match kind {
            Kind::Batch(batch) => match runs.last_mut() {
                Some((last, Part::Batches(batches))) if *last == load => {
                    batches.push(batch);
                    continue;
                }
                _ => Part::Batches(vec![batch]),
            },
            Kind::Terminal(terminal) => Part::Terminal(terminal),
            Kind::Abort(_) => Part::Abort,
        };
        runs.push((load, part));
    }
    runs
}

fn decode(record: &Record) -> Result<FeedWord, Undecodable> {
    let message = FeedMessage::decode(record.payload.as_ref()).map_err(Undecodable::new)?;
    if message.seller_id.as_bytes() != record.key {
        return Err(Undecodable::new("the key of a load's record is not its seller"));
    }
    names::check_seller(&message.seller_id).map_err(Undecodable::new)?;
    names::check_namespace(&message.namespace).map_err(Undecodable::new)?;
    if message.task_id <= 0 {
        return Err(Undecodable::new(format!("a load has no task {}", message.task_id)));
    }
    let kind = message.kind.ok_or_else(|| Undecodable::new("a load's record says nothing"))?;
    if matches!(&kind, Kind::Batch(batch) if batch.number <= 0) {
        return Err(Undecodable::new("a batch has a number from 1"));
    }
    let load = Load {
        seller: message.seller_id,
        namespace: message.namespace,
        task: message.task_id,
        dry: message.dry_run,
    };
    Ok(FeedWord { load, after_erasure: message.after_erasure, kind })
}
