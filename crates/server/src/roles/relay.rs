use kit::Tasks;

use crate::app::App;

/// Carries the outboxes of all systems to the topics, and clears old records away.
pub fn start(app: &App, tasks: &Tasks) {
    tasks.spawn("relay", topics::relay::run(app.topics.clone(), tasks.shutdown().clone()));
}
