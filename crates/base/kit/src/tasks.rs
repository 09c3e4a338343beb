use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A request to stop, seen by every clone.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn call(&self) {
        self.0.cancel();
    }

    pub fn is_called(&self) -> bool {
        self.0.is_cancelled()
    }

    pub async fn called(&self) {
        self.0.cancelled().await;
    }

    /// One that is called with this one, and can be called alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Waits, and says whether it waited to the end (`false`: the shutdown came first).
    pub async fn sleep(&self, duration: Duration) -> bool {
        tokio::select! {
            () = self.called() => false,
            () = tokio::time::sleep(duration) => true,
        }
    }
}

/// A group of background tasks that end together.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    shutdown: Shutdown,
    /// Called when a task has panicked.
    broken: Shutdown,
}

impl Tasks {
    pub fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, ..Self::default() }
    }

    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Returns when a task has panicked. Its work is not done any more, and its tokens and locks stay held: the process
    /// should end, so that another process, or a restart, takes over.
    pub async fn broken(&self) {
        self.broken.called().await;
    }

    /// Runs `work` until it ends by itself; it is expected to end soon after the shutdown is called.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let broken = self.broken.clone();
        self.tracker.spawn(async move {
            let task = tokio::spawn(work);
            if let Err(error) = task.await
                && error.is_panic()
            {
                tracing::error!(task = name, "a background task panicked: {error}");
                broken.call();
            }
        });
    }

    /// Calls the shutdown and waits for all tasks; `false` when some had not ended in time.
    pub async fn end(&self, patience: Duration) -> bool {
        self.shutdown.call();
        self.tracker.close();
        tokio::time::timeout(patience, self.tracker.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ending_waits_for_tasks_and_says_who_did_not_come() {
        let tasks = Tasks::default();
        let shutdown = tasks.shutdown().clone();
        tasks.spawn("obedient", async move { shutdown.called().await });
        assert!(tasks.end(Duration::from_secs(1)).await);

        let tasks = Tasks::default();
        tasks.spawn("clumsy", async { panic!("on purpose") });
        tasks.broken().await;

        let tasks = Tasks::default();
        tasks.spawn("stubborn", std::future::pending());
        assert!(!tasks.end(Duration::from_secs(1)).await);
    }
}
