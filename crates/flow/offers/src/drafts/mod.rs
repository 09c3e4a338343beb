//! Drafts: offers that are not published yet, may be incomplete, and may belong to nobody known.
//!
//! A draft lives in its owner's shard; its id begins with the shard, so it is found without the owner. An owner is a
//! seller or an anonymous visitor, who is known by a secret of 128 bits; an owner has at most one current draft
//! ([`current`]). What an anonymous visitor wrote becomes a seller's when he logs in: the two live in different shards,
//! so the move ([`moving`]) is made of four steps, each a transaction that can be done again. Publishing ([`publish`])
//! gives the same offer however often it is asked for.

pub mod current;
pub mod moving;
pub mod owner;
pub mod publish;
mod rows;
pub mod sweep;

use model::Content;
use store::{Read as _, Shard, Tx};
use wire::offers::DraftRow;

pub use owner::Owner;
pub(crate) use rows::{erase as erase_rows, forget_owner};

use crate::tables::{CURRENT_DRAFT, DRAFT, DRAFT_MOVED, DRAFT_PUBLISHED};
use crate::write::Expected;
use crate::{Error, Offers, Result, validate};

/// A draft with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub id: String,
    pub row: DraftRow,
}

impl Draft {
    pub fn owner(&self) -> Owner {
        Owner::parse(&self.row.owner)
    }

    pub fn content(&self) -> Content {
        self.row.content.clone().unwrap_or_default()
    }
}

/// What an id leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Draft(Box<Draft>),
    /// It was published as this offer.
    Published(i64),
}

/// A chain of moves is never longer: only an anonymous draft moves, and it moves to a seller.
const MOST_MOVES: usize = 4;

pub(crate) fn fresh_id(shard: Shard) -> String {
    format!("{:03x}{}", shard.number(), kit::random_id())
}

/// The shard that an id names, if it is one.
pub(crate) fn shard_of(id: &str) -> Result<Shard> {
    let hex = id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let shard = if hex && id.len() == 35 { u16::from_str_radix(&id[..3], 16).ok() } else { None };
    shard.and_then(Shard::new).ok_or_else(|| no_draft(id))
}

pub(crate) fn no_draft(id: &str) -> Error {
    let shown: String = id.chars().take(40).collect();
    Error::Missing(format!("there is no draft {shown}"))
}

impl Offers {
    /// Where the id leads, over moves; a draft that is still arriving is not there yet.
    pub async fn find_draft(&self, id: &str) -> Result<Found> {
        let mut at = id.to_owned();
        for _ in 0..MOST_MOVES {
            let snapshot = self.store.snapshot(shard_of(&at)?).await?;
            let row = snapshot.get(&DRAFT, (at.as_str(),)).await?;
            if let Some(row) = row.filter(|row| !row.arriving) {
                return Ok(Found::Draft(Box::new(Draft { id: at, row })));
            }
            if let Some(published) = snapshot.get(&DRAFT_PUBLISHED, (at.as_str(),)).await? {
                return Ok(Found::Published(published.offer_id));
            }
            match snapshot.get(&DRAFT_MOVED, (at.as_str(),)).await? {
                Some(moved) => at = moved.new_id,
                None => break,
            }
        }
        Err(no_draft(id))
    }

    /// A new draft of an owner who has none.
    pub async fn create_draft(&self, owner: &Owner, content: Content) -> Result<Draft> {
        validate::check_kept(&content)?;
        self.finish_intents(owner).await?;
        let create = async |tx: &mut Tx| {
            if let Some(draft) = rows::current(tx, owner).await? {
                let detail = format!("the owner has a draft already: {}", draft.id);
                return Err(Error::Conflict { name: "draft_exists", detail });
            }
            if owner.is_anonymous() {
                rows::count_stranger(tx, self.clock.now()).await?;
            }
            rows::create(tx, owner, content.clone(), self.clock.now())
        };
        self.store.transact(owner.shard(), create).await
    }

    /// Replaces the content of a draft.
    pub async fn replace_draft(&self, draft: &Draft, content: Content, expected: Expected) -> Result<Draft> {
        validate::check_kept(&content)?;
        let id = draft.id.as_str();
        let replace = async |tx: &mut Tx| {
            let row = tx.get(&DRAFT, (id,)).await?.filter(|row| !row.arriving);
            let row = row.ok_or_else(|| no_draft(id))?;
            if let Expected::Version(expected) = expected
                && expected != row.version
            {
                return Err(Error::Stale { now: row.version, expected });
            }
            rows::rewrite(tx, id, row, content.clone(), self.clock.now())
        };
        self.store.transact(shard_of(id)?, replace).await
    }

    pub async fn delete_draft(&self, draft: &Draft) -> Result<()> {
        let id = draft.id.as_str();
        let delete = async |tx: &mut Tx| match tx.get(&DRAFT, (id,)).await? {
            Some(row) if !row.arriving => rows::erase(tx, id, &row).await,
            _ => Err(no_draft(id)),
        };
        self.store.transact(shard_of(id)?, delete).await
    }

    pub(crate) async fn current_draft(&self, owner: &Owner) -> Result<Option<Draft>> {
        let snapshot = self.store.snapshot(owner.shard()).await?;
        let text = owner.text();
        let Some(id) = snapshot.get(&CURRENT_DRAFT, (text.as_str(),)).await? else { return Ok(None) };
        let row = snapshot.get(&DRAFT, (id.as_str(),)).await?;
        Ok(row.map(|row| Draft { id, row }))
    }
}
