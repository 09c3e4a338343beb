use cluster::work;
use feeds::loader::DueFeeds;
use kit::Tasks;

use crate::app::App;

/// Fetches the feeds that are due.
pub fn start(app: &App, tasks: &Tasks) {
    let (feeds, cluster) = (app.feeds.clone(), app.cluster.clone());
    let work = work::run(cluster.clone(), DueFeeds { feeds, cluster }, tasks.shutdown().clone());
    tasks.spawn("feed loader", work);
}
