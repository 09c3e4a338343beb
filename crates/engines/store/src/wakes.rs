use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::Shard;

/// Wake-ups after commits. They carry no data but a channel's name and the shard: the tables are the truth, and a
/// lost wake-up only makes work wait for the next safety poll.
#[derive(Clone, Default)]
pub struct Wakes(Arc<Mutex<HashMap<String, Vec<Arc<Receiver>>>>>);

#[derive(Default)]
struct Receiver {
    shards: Mutex<BTreeSet<Shard>>,
    notify: Notify,
}

/// One listener of a channel.
pub struct WakeReceiver {
    receiver: Arc<Receiver>,
}

impl Wakes {
    pub fn listen(&self, channel: &str) -> WakeReceiver {
        let receiver = Arc::new(Receiver::default());
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners = channels.entry(channel.to_owned()).or_default();
        // A listener whose other end is gone is held by this list alone.
        listeners.retain(|listener| Arc::strong_count(listener) > 1);
        listeners.push(receiver.clone());
        WakeReceiver { receiver }
    }

    pub fn wake(&self, channel: &str, shard: Shard) {
        let channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in channels.get(channel).into_iter().flatten() {
            listener.shards.lock().unwrap_or_else(PoisonError::into_inner).insert(shard);
            listener.notify.notify_one();
        }
    }
}

impl WakeReceiver {
    /// Waits until some shard was woken, and gives all that were since the last call.
    pub async fn woken(&self) -> BTreeSet<Shard> {
        loop {
            let shards = self.take();
            if !shards.is_empty() {
                return shards;
            }
            self.receiver.notify.notified().await;
        }
    }

    /// What was woken since the last call, without waiting.
    pub fn take(&self) -> BTreeSet<Shard> {
        std::mem::take(&mut *self.receiver.shards.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
