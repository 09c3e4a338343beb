//! Which draft is the current one of a person who may hold two: as a seller, and from before he logged in.

use model::Content;
use store::{Read as _, Tx};

use super::moving::Purpose;
use super::{Draft, Owner, no_draft, rows, shard_of};
use crate::tables::DRAFT;
use crate::{Offers, Result};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Create,
    /// The content goes, the id stays.
    ResetSellers,
    ResetAnonymous,
    /// The other one is erased.
    KeepSellers,
    KeepAnonymous,
    /// It becomes the seller's, in place of his own.
    MoveAnonymous,
}

/// What the decision looks at.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub category: &'a str,
    pub updated_at: i64,
}

/// The rules. `sellers` and `anonymous` are the drafts that are there; `logged_in`: there is a seller to give one to.
pub fn decide(
    sellers: Option<Seen<'_>>,
    anonymous: Option<Seen<'_>>,
    logged_in: LoggedIn,
    wanted: Option<&str>,
) -> Decision {
    let fits = |draft: &Seen<'_>| wanted.is_none_or(|wanted| draft.category == wanted);
    let keep_anonymous = match logged_in {
        LoggedIn::Yes => Decision::MoveAnonymous,
        LoggedIn::No => Decision::KeepAnonymous,
    };
    match (sellers, anonymous) {
        (None, None) => Decision::Create,
        (Some(sellers), Some(anonymous)) => match (fits(&sellers), fits(&anonymous)) {
            (true, true) if anonymous.updated_at > sellers.updated_at => keep_anonymous,
            (true, _) => Decision::KeepSellers,
            (false, true) => keep_anonymous,
            (false, false) => Decision::ResetSellers,
        },
        (Some(sellers), None) if fits(&sellers) => Decision::KeepSellers,
        (Some(_), None) => Decision::ResetSellers,
        (None, Some(anonymous)) if fits(&anonymous) => keep_anonymous,
        (None, Some(_)) => Decision::ResetAnonymous,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedIn {
    Yes,
    No,
}

/// Who asks for the current draft. With neither, a new visitor.
#[derive(Clone, Debug, Default)]
pub struct Holder {
    pub seller: Option<Owner>,
    pub anonymous: Option<Owner>,
}

impl Offers {
    /// The current draft after the rules, made if there is none.
    pub async fn settle_current_draft(&self, holder: &Holder, wanted: Option<&str>) -> Result<Draft> {
        if let Some(seller) = &holder.seller {
            self.finish_intents(seller).await?;
        }
        let sellers = self.current_of(holder.seller.as_ref()).await?;
        let anonymous = self.current_of(holder.anonymous.as_ref()).await?;
        let logged_in = if holder.seller.is_some() { LoggedIn::Yes } else { LoggedIn::No };
        let decision = decide(seen(sellers.as_ref()), seen(anonymous.as_ref()), logged_in, wanted);
        match (decision, sellers, anonymous) {
            (Decision::KeepSellers, Some(draft), other) => {
                if let Some(other) = other {
                    self.erase_draft(&other).await?;
                }
                Ok(draft)
            }
            (Decision::KeepAnonymous, _, Some(draft)) => Ok(draft),
            (Decision::MoveAnonymous, _, Some(draft)) => match &holder.seller {
                Some(seller) => self.move_draft(&draft.id, seller, Purpose::Current).await,
                None => Ok(draft),
            },
            (Decision::ResetSellers, Some(draft), _) | (Decision::ResetAnonymous, _, Some(draft)) => {
                self.reset_draft(&draft.id, wanted.unwrap_or_default()).await
            }
            _ => {
                let stranger = Owner::stranger();
                let owner = holder.seller.as_ref().or(holder.anonymous.as_ref()).unwrap_or(&stranger);
                self.create_draft(owner, empty(wanted.unwrap_or_default())).await
            }
        }
    }

    async fn current_of(&self, owner: Option<&Owner>) -> Result<Option<Draft>> {
        match owner {
            Some(owner) => self.current_draft(owner).await,
            None => Ok(None),
        }
    }

    async fn reset_draft(&self, id: &str, category: &str) -> Result<Draft> {
        let reset = async |tx: &mut Tx| {
            let row = tx.get(&DRAFT, (id,)).await?.ok_or_else(|| no_draft(id))?;
            rows::rewrite(tx, id, row, empty(category), self.clock.now())
        };
        self.store.transact(shard_of(id)?, reset).await
    }

    /// Unless it changed since it was looked at: then somebody works on it.
    async fn erase_draft(&self, draft: &Draft) -> Result<()> {
        let erase = async |tx: &mut Tx| {
            let row = tx.get(&DRAFT, (draft.id.as_str(),)).await?;
            match row.filter(|row| row.version == draft.row.version) {
                Some(row) => rows::erase(tx, &draft.id, &row).await,
                None => Ok(()),
            }
        };
        self.store.transact(shard_of(&draft.id)?, erase).await
    }
}

fn seen(draft: Option<&Draft>) -> Option<Seen<'_>> {
    draft.map(|Draft { row, .. }| Seen {
        category: row.content.as_ref().map_or("", |content| content.category_id.as_str()),
        updated_at: row.updated_at,
    })
}

fn empty(category: &str) -> Content {
    Content { category_id: category.to_owned(), ..Content::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_those_of_the_contract() {
        // A draft is its category and its time; none is "".
        let check = |sellers: &str, anonymous: &str, wanted: &str, expected: Decision| {
            let seen = |text: &'static str| {
                text.split_once('@').map(|(category, at)| Seen { category, updated_at: at.parse().unwrap() })
            };
            let (s, a): (&'static str, &'static str) =
                (sellers.to_owned().leak(), anonymous.to_owned().leak());
            let wanted_category = (!wanted.is_empty()).then_some(wanted);
            let found = decide(seen(s), seen(a), LoggedIn::Yes, wanted_category);
            assert_eq!(found, expected, "{sellers:?} {anonymous:?} {wanted:?}");
        };
        check("", "", "", Decision::Create);
        check("", "", "cars", Decision::Create);
        // Neither has the category.
        check("phones@1", "toys@2", "cars", Decision::ResetSellers);
        check("phones@1", "", "cars", Decision::ResetSellers);
        check("", "toys@2", "cars", Decision::ResetAnonymous);
        // Exactly one fits.
        check("cars@1", "toys@2", "cars", Decision::KeepSellers);
        check("phones@2", "cars@1", "cars", Decision::MoveAnonymous);
        check("", "cars@1", "cars", Decision::MoveAnonymous);
        check("cars@1", "", "cars", Decision::KeepSellers);
        // Both fit, or no category: the newest.
        check("cars@1", "cars@2", "cars", Decision::MoveAnonymous);
        check("cars@2", "cars@1", "cars", Decision::KeepSellers);
        check("phones@1", "toys@2", "", Decision::MoveAnonymous);
        check("phones@3", "toys@2", "", Decision::KeepSellers);
        check("phones@2", "toys@2", "", Decision::KeepSellers);
        let seen = Some(Seen { category: "cars", updated_at: 1 });
        assert_eq!(decide(None, seen, LoggedIn::No, None), Decision::KeepAnonymous);
        assert_eq!(decide(None, seen, LoggedIn::No, Some("toys")), Decision::ResetAnonymous);
    }
}
