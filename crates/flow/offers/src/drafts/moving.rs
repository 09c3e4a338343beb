//! A draft goes from an anonymous visitor to a seller, from shard to shard, in four steps:
//!
//! 1. [`begin`](Offers::begin_move), target: the intent and the new id;
//! 2. [`copy`](Offers::copy_draft), target: the copy, which nobody sees yet, with the version it was taken from;
//! 3. [`take`](Offers::take_draft), source: still the copied version? it goes, and a note says where to; else copy again;
//! 4. [`settle`](Offers::settle_move), target: the copy is seen, or dropped if another owner was faster.
//!
//! Each step can be done again, by anybody, so a crash between any two leaves an intent that the owner's next call or
//! the sweep finishes. The note in the source decides: a draft has one owner or the other, never both and never none. Who
//! finishes a move that another one finishes too never puts an older copy over a newer one.
//!
//! A draft that moves to become the current one takes the place of the owner's. One that moves to be published does not:
//! where the owner has a draft it lands beside it, for publishing may fail, and then both are there. Its intent stays as
//! the owner's way to it until it is published, deleted or dead.

use store::{Range, Read as _, Tx};
use wire::offers::{DraftIntent, DraftRow};

use super::{Draft, Owner, fresh_id, no_draft, rows, shard_of};
use crate::tables::{CURRENT_DRAFT, DRAFT, DRAFT_INTENTS, DRAFT_MOVED};
use crate::{Offers, Result};

/// More moves to one owner at the same time are finished by the next call.
const MOST_INTENTS: usize = 100;

/// What a draft moves for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To take the place of the owner's draft.
    Current,
    /// To be published; the owner's draft stays.
    Publishing,
}

/// What the source said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Ours,
    /// It is gone, or went to somebody else.
    Lost,
    /// It was changed since it was copied.
    Changed,
}

impl Offers {
    /// Makes the draft the owner's, for a purpose.
    pub async fn move_draft(&self, source: &str, owner: &Owner, purpose: Purpose) -> Result<Draft> {
        let intent = self.begin_move(source, owner, purpose).await?;
        self.finish_move(source, owner).await?;
        match self.find_draft(&intent.new_id).await? {
            super::Found::Draft(draft) => Ok(*draft),
            super::Found::Published(_) => Err(no_draft(source)),
        }
    }

    /// Finishes the moves to this owner that were left unfinished.
    pub async fn finish_intents(&self, owner: &Owner) -> Result<()> {
        let text = owner.text();
        let snapshot = self.store.snapshot(owner.shard()).await?;
        let range = Range::prefix((text.as_str(),), MOST_INTENTS)?;
        let rows = snapshot.scan(&DRAFT_INTENTS, range).await?;
        for ((_, source), _) in rows.into_iter().filter(|(_, intent)| !intent.landed) {
            self.finish_move(&source, owner).await?;
        }
        Ok(())
    }

    /// Steps two to four.
    pub async fn finish_move(&self, source: &str, owner: &Owner) -> Result<()> {
        loop {
            let Some(intent) = self.copy_draft(source, owner).await? else { return Ok(()) };
            match self.take_draft(source, &intent).await? {
                Taken::Changed => {}
                taken => return self.settle_move(source, owner, taken).await,
            }
        }
    }

    pub async fn begin_move(&self, source: &str, owner: &Owner, purpose: Purpose) -> Result<DraftIntent> {
        let text = owner.text();
        let publishing = purpose == Purpose::Publishing;
        let begin = async |tx: &mut Tx| {
            let key = (text.as_str(), source);
            if let Some(mut intent) = tx.get(&DRAFT_INTENTS, key).await? {
                if intent.publishing && !publishing && !intent.landed {
                    intent.publishing = false;
                    tx.put(&DRAFT_INTENTS, key, &intent)?;
                }
                return Ok(intent);
            }
            let intent = DraftIntent { new_id: fresh_id(tx.shard()), publishing, ..DraftIntent::default() };
            tx.put(&DRAFT_INTENTS, key, &intent)?;
            Ok(intent)
        };
        self.store.transact(owner.shard(), begin).await
    }

    /// `None`: the move is over already.
    pub async fn copy_draft(&self, source: &str, owner: &Owner) -> Result<Option<DraftIntent>> {
        let original = self.store.get(&DRAFT, shard_of(source)?, (source,)).await?;
        self.keep_copy(source, owner, original.as_ref()).await
    }

    /// The copy of a draft as it was read, unless another one was faster and has a newer one.
    pub async fn keep_copy(
        &self,
        source: &str,
        owner: &Owner,
        original: Option<&DraftRow>,
    ) -> Result<Option<DraftIntent>> {
        let text = owner.text();
        let copy = async |tx: &mut Tx| {
            let key = (text.as_str(), source);
            let intent = tx.get(&DRAFT_INTENTS, key).await?.filter(|intent| !intent.landed);
            let Some(mut intent) = intent else { return Ok(None) };
            let Some(original) = original.filter(|original| original.version > intent.copied_version) else {
                return Ok(Some(intent));
            };
            let row = DraftRow {
                owner: text.clone(),
                content: original.content.clone(),
                version: original.version,
                created_at: original.created_at,
                updated_at: original.updated_at,
                arriving: true,
                dies_at: 0,
            };
            intent.copied_version = original.version;
            tx.put(&DRAFT, (intent.new_id.as_str(),), &row)?;
            tx.put(&DRAFT_INTENTS, key, &intent)?;
            Ok(Some(intent))
        };
        self.store.transact(owner.shard(), copy).await
    }

    pub async fn take_draft(&self, source: &str, intent: &DraftIntent) -> Result<Taken> {
        let take = async |tx: &mut Tx| {
            if let Some(moved) = tx.get(&DRAFT_MOVED, (source,)).await? {
                return Ok(if moved.new_id == intent.new_id { Taken::Ours } else { Taken::Lost });
            }
            let Some(row) = tx.get(&DRAFT, (source,)).await? else { return Ok(Taken::Lost) };
            if row.version != intent.copied_version {
                return Ok(Taken::Changed);
            }
            rows::erase(tx, source, &row).await?;
            rows::note_moved(tx, source, &intent.new_id, self.clock.now())?;
            Ok(Taken::Ours)
        };
        self.store.transact(shard_of(source)?, take).await
    }

    pub async fn settle_move(&self, source: &str, owner: &Owner, taken: Taken) -> Result<()> {
        let text = owner.text();
        let settle = async |tx: &mut Tx| {
            let key = (text.as_str(), source);
            let intent = tx.get(&DRAFT_INTENTS, key).await?.filter(|intent| !intent.landed);
            let Some(intent) = intent else { return Ok(()) };
            tx.delete(&DRAFT_INTENTS, key)?;
            let id = intent.new_id.as_str();
            let Some(row) = tx.get(&DRAFT, (id,)).await? else { return Ok(()) };
            if taken != Taken::Ours {
                tx.delete(&DRAFT, (id,))?;
                return Ok(());
            }
            match rows::current(tx, owner).await? {
                Some(_) if intent.publishing => {
                    return rows::land(tx, source, &intent, row, self.clock.now());
                }
                Some(other) => rows::erase(tx, &other.id, &other.row).await?,
                None => {}
            }
            tx.put(&DRAFT, (id,), &DraftRow { arriving: false, ..row })?;
            tx.put(&CURRENT_DRAFT, (text.as_str(),), &intent.new_id)?;
            Ok(())
        };
        self.store.transact(owner.shard(), settle).await
    }
}
