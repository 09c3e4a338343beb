//! Loads made of earlier loads: once more with all content, or once more because a person says so.
//!
//! Both take the file of an earlier load under the same reference, in one transaction of the seller's shard: whichever of
//! the loads is forgotten last releases it (`cleanup.rs`), so no file has to be copied and none can go in between.

use store::{Read as _, Tx};
use wire::feeds::{QuotaRow, Statistics, Task, TaskSource, TaskStatus};

use crate::tables::{FEED, OLD_TASKS};
use crate::tasks::{self, FeedKey, NewTask};
use crate::{Error, Feeds, Result, cleanup, feed, quota};

/// Some records travelled as «same» and were not known to the offers: the file goes once more, whole. Not when a newer
/// load has begun, which says what this one could. One that waits is let travel whole instead, since this file must not
/// come after it. Rows of fetches that brought nothing are no loads; and a dry run starts nothing.
pub(crate) async fn after(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    task: &Task,
    statistics: &Statistics,
) -> Result<()> {
    let ended_well = matches!(task.status(), TaskStatus::TaskSucceeded | TaskStatus::TaskPartial);
    let may_repeat = ended_well && !task.dry_run && task.source() != TaskSource::SourceFollowUp;
    if statistics.content_needed == 0 || !may_repeat {
        return Ok(());
    }
    let Some(mut row) = tx.get(&FEED, key.row()).await?.filter(feed::is_active) else { return Ok(()) };
    if row.began_task_id != task_id || task_id < row.first_task_id {
        return Ok(());
    }
    if tasks::is_followed(tx, key, task_id).await? {
        cleanup::release_fingerprints(tx, &mut row).await?;
        row.known = None;
        return Ok(tx.put(&FEED, key.row(), &row)?);
    }
    let Some(file) = task.file.clone() else { return Ok(()) };
    let new = NewTask {
        source: TaskSource::SourceFollowUp,
        source_name: task.source_name.clone(),
        file,
        dry_run: false,
        repeats_task_id: task_id,
    };
    tasks::create(tx, feeds, key, &mut row, new).await?;
    Ok(tx.put(&FEED, key.row(), &row)?)
}

/// Loads an earlier file again, with today's settings and catalog; the answer is the new load's number.
pub async fn rerun(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<i64> {
    let body = async |tx: &mut Tx| {
        let mut row = feed::active(tx, key).await?;
        let task = tasks::find(tx, key, task_id).await?;
        let going = tx.get(&OLD_TASKS, key.task(task_id)).await?.is_some();
        let Some(file) = task.file.clone().filter(|file| !going && !file.hash.is_empty()) else {
            return Err(Error::Gone(format!("the file of load {task_id} is no longer kept")));
        };
        if !tasks::is_final(task.status()) {
            return Err(Error::conflict("not_ended", format!("load {task_id} has not ended yet")));
        }
        quota::charge(tx, feeds, key, &QuotaRow { reruns: 1, ..QuotaRow::default() }).await?;
        let new = NewTask {
            source: TaskSource::SourceRerun,
            source_name: task.source_name,
            file,
            dry_run: false,
            repeats_task_id: task_id,
        };
        let (task_id, _) = tasks::create(tx, feeds, key, &mut row, new).await?;
        tx.put(&FEED, key.row(), &row)?;
        Ok(task_id)
    };
    feeds.store.transact(key.shard(), body).await
}
