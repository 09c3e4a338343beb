//! What the seller's categories are, decided before the first batch of a load and kept.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Decision, Evidence};
use files::Hash;
use store::{Range, Read as _, Tx};
use wire::feeds::{FeedCategory, FeedCategoryEvidence, FeedCategorySuggestion, FeedSurvey};

use super::Taken;
use super::input::input;
use crate::survey::{CategoryDecision, FileCategory, MAX_CATEGORIES, Survey, decide, read};
use crate::tables::{FEED_CATEGORIES, FEED_SURVEYS};
use crate::{Error, Fatal, Feeds, Result, Unify};

/// Rows of one read, and of one transaction.
const PAGE: usize = 500;
const BY_SURVEY: &str = "survey";

type Rows = HashMap<String, FeedCategory>;

/// Every try of a load gets the same: what is decided stays, and only a load of the feed decides more. A dry run keeps
/// nothing. A failure of the input is not the file's fault.
pub(super) async fn survey(
    feeds: &Feeds,
    taken: &Taken,
    file: &Hash,
    unify: &Arc<dyn Unify>,
) -> Result<Result<Survey, Fatal>> {
    let version = unify.catalog_version();
    let mut rows = kept(feeds, taken).await?;
    let this = FeedSurvey { file: file.as_bytes().to_vec(), catalog_version: version };
    let snapshot = feeds.store.snapshot(taken.key.shard()).await?;
    if snapshot.get(&FEED_SURVEYS, taken.key.row()).await?.as_ref() != Some(&this) {
        let looked = match look(feeds, file, unify, &rows).await? {
            Ok(looked) => looked,
            Err(fatal) => return Ok(Err(fatal)),
        };
        if !taken.task.dry_run {
            keep(feeds, taken, &looked, &this).await?;
        }
        rows.extend(looked.new);
    }
    let mut survey = Survey::default();
    for (name, row) in rows.into_iter().filter(|(_, row)| row.catalog_version == version) {
        let suggestions = row.suggestions.into_iter().map(|one| one.category_id).collect();
        let category = Some(row.category_id).filter(|category| !category.is_empty());
        survey.insert(name, CategoryDecision { category, suggestions });
    }
    Ok(Ok(survey))
}

/// What a look at a file changes.
#[derive(Default)]
struct Looked {
    new: Rows,
    /// Names that the file does not have, where there would be too many.
    gone: Vec<String>,
}

async fn kept(feeds: &Feeds, taken: &Taken) -> Result<Rows> {
    let snapshot = feeds.store.snapshot(taken.key.shard()).await?;
    let mut rows = Rows::new();
    let mut range = Range::prefix(taken.key.row(), PAGE)?;
    loop {
        let page = snapshot.scan(&FEED_CATEGORIES, range.clone()).await?;
        let Some((last, _)) = page.last() else { return Ok(rows) };
        range = range.after(last)?;
        rows.extend(page.into_iter().map(|((.., name), row)| (name, row)));
    }
}

/// Reads the file.
async fn look(
    feeds: &Feeds,
    file: &Hash,
    unify: &Arc<dyn Unify>,
    kept: &Rows,
) -> Result<Result<Looked, Fatal>> {
    let reading = match feeds.files.open(file).await {
        Ok(reading) => input(reading),
        // Whoever cuts the file will say so.
        Err(error) if error.kind() == files::Kind::NotFound => return Ok(Ok(Looked::default())),
        Err(error) => return Err(error.into()),
    };
    let unify = unify.clone();
    let version = unify.catalog_version();
    let surveyed = tokio::task::spawn_blocking(move || {
        let found = read(reading)?;
        Ok((decide(&*unify, &found), found))
    });
    // A panic while reading is met again by whoever cuts the file, and told there.
    let (decided, found): (Vec<(String, Decision)>, HashMap<String, FileCategory>) =
        match surveyed.await.unwrap_or_else(|_| Ok(Default::default())) {
            Ok(surveyed) => surveyed,
            Err(fatal) => return Ok(Err(fatal)),
        };
    let offers = |name: &String| found.get(name).map_or(0, |one| one.offers as i64);
    let row = |(name, decision): (String, Decision)| {
        let stays =
            kept.get(&name).filter(|row| row.catalog_version == version && !row.category_id.is_empty());
        let row = stays.cloned().unwrap_or_else(|| row_of(decision, version));
        let row = FeedCategory { offers: offers(&name), ..row };
        (kept.get(&name) != Some(&row)).then_some((name, row))
    };
    let new: Rows = decided.into_iter().filter_map(row).collect();
    let is_full = kept.len() + new.len() > MAX_CATEGORIES;
    let gone = kept.keys().filter(|name| is_full && !found.contains_key(*name)).cloned().collect();
    Ok(Ok(Looked { new, gone }))
}

fn row_of(decision: Decision, catalog_version: u32) -> FeedCategory {
    let evidence = |one: Evidence| FeedCategoryEvidence {
        kind: one.kind.name().to_owned(),
        amount: one.amount,
        weight: one.weight,
    };
    let suggestions = decision.suggestions.into_iter().zip(decision.evidence);
    FeedCategory {
        category_id: decision.category.unwrap_or_default(),
        probability: decision.probability,
        decided_by: BY_SURVEY.to_owned(),
        suggestions: suggestions
            .map(|(one, rests_on)| FeedCategorySuggestion {
                category_id: one.category,
                probability: one.score,
                evidence: rests_on.into_iter().map(evidence).collect(),
            })
            .collect(),
        offers: 0,
        catalog_version,
    }
}

/// T, a page of rows each: the decisions are kept, and with the last of them the file that they were made by.
async fn keep(feeds: &Feeds, taken: &Taken, looked: &Looked, survey: &FeedSurvey) -> Result<()> {
    let key = &taken.key;
    let gone = looked.gone.iter().map(|name| (name, None));
    let rows: Vec<_> = gone.chain(looked.new.iter().map(|(name, row)| (name, Some(row)))).collect();
    let pages = rows.len().div_ceil(PAGE).max(1);
    for page in 0..pages {
        let rows = &rows[page * PAGE..rows.len().min((page + 1) * PAGE)];
        let body = async |tx: &mut Tx| {
            taken.lock.check(tx).await?;
            for (name, row) in rows {
                let name = (key.seller.as_str(), key.namespace.as_str(), name.as_str());
                match row {
                    Some(row) => tx.put(&FEED_CATEGORIES, name, *row)?,
                    None => tx.delete(&FEED_CATEGORIES, name)?,
                }
            }
            if page + 1 == pages {
                tx.put(&FEED_SURVEYS, key.row(), survey)?;
            }
            Ok::<_, Error>(())
        };
        feeds.store.transact(key.shard(), body).await?;
    }
    Ok(())
}
