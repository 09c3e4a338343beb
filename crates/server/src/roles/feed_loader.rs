use kit::Tasks;

use crate::app::App;

/// Fetches the feeds that are due.
pub fn start(app: &App, tasks: &Tasks) {
    if let Some(cluster) = app.cluster.clone() {
        let work = feeds::loader::run(app.feeds.clone(), cluster, tasks.shutdown().clone());
        tasks.spawn("feed loader", work);
    }
}
