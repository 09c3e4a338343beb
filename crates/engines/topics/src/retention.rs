use kit::Shutdown;

use crate::Topics;

pub(crate) async fn run(_topics: &Topics, shutdown: &Shutdown) {
    shutdown.called().await;
}
