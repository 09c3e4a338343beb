//! A person's word on a held load.

use async_trait::async_trait;
use model::names;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::FeedDecision;
use wire::feeds::feed_decision::Word;
use wire::feeds::terminal_result::End;
use wire::offers::SweepRow;
use wire::offers::sweep_row::Phase;

use super::{Load, terminal};
use crate::tables::{ERASURES, FEED_DECISIONS, FEED_HEAD, FEED_SWEEPS};
use crate::{Offers, Result};

/// What became of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// The load goes on, or is ended, as the person said; also when it was said before.
    Done,
    /// The load is not held yet; the word waits for it.
    Waits,
    /// A newer load, or another word, came first.
    Superseded,
}

/// Takes decisions from the topic.
pub struct Decisions(pub Offers);

#[async_trait]
impl Handler for Decisions {
    type Message = FeedDecision;

    fn decode(&self, record: &Record) -> Result<(Shard, FeedDecision), Undecodable> {
        let decision = decode(record)?;
        Ok((Shard::of(&decision.seller_id), decision))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<FeedDecision>) -> Result<(), Failure> {
        let feeds = || messages.iter().map(|decision| (&*decision.seller_id, &*decision.namespace));
        let loads =
            feeds().zip(&messages).map(|((seller, namespace), word)| (seller, namespace, word.task_id));
        tx.prefetch(&FEED_SWEEPS, loads).await?;
        tx.prefetch(&FEED_HEAD, feeds()).await?;
        tx.prefetch(&ERASURES, feeds().map(|(seller, _)| (seller,))).await?;
        for decision in &messages {
            decide_in(tx, decision).await?;
        }
        Ok(())
    }
}

fn decode(record: &Record) -> Result<FeedDecision, Undecodable> {
    let wrong = |error: &dyn std::fmt::Display| Undecodable(error.to_string());
    let decision = FeedDecision::decode(record.payload.as_ref()).map_err(|error| wrong(&error))?;
    names::check_seller(&decision.seller_id).map_err(|error| wrong(&error))?;
    names::check_namespace(&decision.namespace).map_err(|error| wrong(&error))?;
    if decision.word() == Word::Unspecified || decision.task_id <= 0 {
        return Err(Undecodable("a decision needs its task and its word: confirm or reject".to_owned()));
    }
    Ok(decision)
}

/// The same by a direct call.
pub async fn decide(offers: &Offers, decision: &FeedDecision) -> Result<Decided> {
    let shard = Shard::of(&decision.seller_id);
    offers.store.transact(shard, async |tx| decide_in(tx, decision).await).await
}

async fn decide_in(tx: &mut Tx, decision: &FeedDecision) -> Result<Decided> {
    let load = Load {
        seller: decision.seller_id.clone(),
        namespace: decision.namespace.clone(),
        task: decision.task_id,
        dry: false,
    };
    let key = (&*load.seller, &*load.namespace, load.task);
    let confirms = decision.word() == Word::Confirm;
    let Some(row) = tx.get(&FEED_SWEEPS, key).await? else {
        let head = tx.get(&FEED_HEAD, load.feed()).await?;
        // A late word on a load of an erased seller would wait for ever.
        let is_erased = head.is_none() && tx.get(&ERASURES, (&*load.seller,)).await?.is_some();
        if is_erased || terminal::is_stale(&head.unwrap_or_default(), &load) {
            return Ok(Decided::Superseded);
        }
        tx.put(&FEED_DECISIONS, key, decision)?;
        return Ok(Decided::Waits);
    };
    match row.phase() {
        Phase::Counting => {
            tx.put(&FEED_DECISIONS, key, decision)?;
            Ok(Decided::Waits)
        }
        Phase::Held => {
            obey(tx, &load, row, decision.word()).await?;
            Ok(Decided::Done)
        }
        Phase::Sweeping if confirms => Ok(Decided::Done),
        Phase::Clearing if confirms && row.end() == End::Done => Ok(Decided::Done),
        Phase::Clearing if !confirms && row.end() == End::RejectedByPerson => Ok(Decided::Done),
        Phase::Sweeping | Phase::Clearing => Ok(Decided::Superseded),
    }
}

/// The hold is over, as the person said.
pub(super) async fn obey(tx: &mut Tx, load: &Load, mut row: SweepRow, word: Word) -> Result<()> {
    if word != Word::Confirm {
        return terminal::finish(tx, load, row, End::RejectedByPerson).await;
    }
    row.set_phase(Phase::Sweeping);
    row.cursor = 0;
    terminal::put(tx, load, &row)
}
