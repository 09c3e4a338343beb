//! What a person can say about a load: stop it, or let a held one go on or not. Each is one transaction.

use store::Tx;
use wire::feeds::feed_decision::Word;
use wire::feeds::{FeedDecision, Task, TaskStatus};

use crate::tables::TASKS;
use crate::tasks::{self, End, FeedKey, said, status_name};
use crate::{Error, Feeds, Result};

/// Stops a load. What its batches have done stays; nothing is taken away on its account.
pub async fn cancel(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<Task> {
    let body = async |tx: &mut Tx| {
        let mut task = tasks::find(tx, key, task_id).await?;
        match task.status() {
            TaskStatus::TaskQueued | TaskStatus::TaskInProgress if !task.terminal_pending => {}
            TaskStatus::TaskInProgress => {
                let detail = "the whole file is with the offers already; the load cannot be called back";
                return Err(Error::conflict("too_late", detail));
            }
            status => return Err(ended(task_id, status)),
        }
        if task.begun {
            tasks::send_abort(tx, key, task_id, &task, "cancelled").await?;
        }
        let end = End::with(TaskStatus::TaskCancelled, said("cancelled", "a person cancelled the load"));
        tasks::end(tx, feeds, key, task_id, &mut task, end).await?;
        Ok(task)
    };
    feeds.store.transact(key.shard(), body).await
}

/// Carries a person's word on a held load to the offers, where it takes effect; the result of it ends the load.
pub async fn decide(feeds: &Feeds, key: &FeedKey, task_id: i64, word: Word, who: &str) -> Result<Task> {
    let body = async |tx: &mut Tx| {
        let mut task = tasks::find(tx, key, task_id).await?;
        match task.status() {
            TaskStatus::TaskNeedsConfirmation => {}
            _ if task.error.as_ref().is_some_and(|error| error.code == "superseded") => {
                let detail = "a newer load came first; this one can no longer be decided";
                return Err(Error::conflict("superseded", detail));
            }
            TaskStatus::TaskInProgress if task.decision.is_some() => {
                return Err(Error::conflict("decided", "the load is decided already"));
            }
            status => {
                let detail = format!("load {task_id} is {}, not held", status_name(status));
                return Err(Error::conflict("not_held", detail));
            }
        }
        let decision = FeedDecision {
            seller_id: key.seller.clone(),
            namespace: key.namespace.clone(),
            task_id,
            word: word.into(),
            who: who.to_owned(),
        };
        let payload = prost::Message::encode_to_vec(&decision);
        let message = topics::Message::new(key.seller.as_str(), payload);
        topics::outbox::send(tx, model::topics::FEED_DECISIONS, vec![message]).await?;
        task.decision = Some(decision);
        task.set_status(TaskStatus::TaskInProgress);
        task.updated_at = feeds.clock.now().0;
        tx.put(&TASKS, key.task(task_id), &task)?;
        Ok(task)
    };
    feeds.store.transact(key.shard(), body).await
}

fn ended(task_id: i64, status: TaskStatus) -> Error {
    let detail = format!("load {task_id} is {} and cannot be cancelled", status_name(status));
    Error::conflict("ended", detail)
}
