//! Errors looked for by the offer's id or title.
//!
//! An id is found where the list is ordered by it. Titles have no order to go by: the list is walked, a bounded number of
//! rows at a time, so that a page comes soon however long the list is; a page may therefore be short, or empty, and go on.

use store::{Range, Read as _};

use super::{Cursor, Filter, Found, joined, key_text};
use crate::tables::OFFER_ERRORS;
use crate::tasks::FeedKey;
use crate::{Feeds, Result};

/// Rows that one page of a search walks over.
const WALK: usize = 20_000;
/// Most rows of one question to the store. The first asks for a page; while that is not enough, more are asked for at once.
const STEP: usize = 2_000;

/// Some of what was looked for, and where to go on; `None`: that was all.
pub struct Searched {
    pub found: Vec<Found>,
    pub next: Option<Cursor>,
}

/// The errors of offers whose id begins so and whose title has these words.
pub(super) async fn search(
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    filter: &Filter,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Searched> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let (seller, namespace) = key.row();
    let beginning = key_text(&filter.id_begins);
    let title = words::fold(&filter.title_has);
    let title: Vec<&str> = title.split_whitespace().collect();
    let mut found: Vec<Found> = Vec::new();
    let mut at = after.cloned();
    let (mut left, mut step) = (WALK, limit + 1);
    while left > 0 {
        step = step.min(STEP).min(left);
        let range = Range::prefix(key.task(task_id), step)?;
        let range = match &at {
            Some((_, external_id, error_id)) => {
                range.after((seller, namespace, task_id, external_id.as_str(), *error_id))?
            }
            None => range.from((seller, namespace, task_id, beginning.as_str()))?,
        };
        let rows = snapshot.scan(&OFFER_ERRORS, range).await?;
        let ended = rows.len() < step;
        for row in rows {
            let row = joined(row);
            if !row.external_id.starts_with(&beginning) {
                return Ok(Searched { found, next: None });
            }
            if found.len() == limit {
                return Ok(Searched { found, next: at });
            }
            at = Some(row.at.clone());
            if filter.takes(&row) && has(&row.error.title, &title) {
                found.push(row);
            }
        }
        if ended {
            return Ok(Searched { found, next: None });
        }
        left -= step;
        step *= 4;
    }
    Ok(Searched { found, next: at })
}

fn has(title: &str, wanted: &[&str]) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let title = words::fold(title);
    wanted.iter().all(|word| title.contains(word))
}

impl Filter {
    pub(super) fn is_search(&self) -> bool {
        !self.id_begins.is_empty() || !self.title_has.is_empty()
    }

    fn takes(&self, found: &Found) -> bool {
        let Some(issue) = &found.error.issue else { return false };
        self.level.is_none_or(|level| issue.level() == level)
            && self.kind.is_none_or(|kind| issue.r#type() == kind)
    }
}
