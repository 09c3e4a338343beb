use anyhow::Result;
use kit::Tasks;

use crate::app::App;

/// Reads the offers of followed sellers and migrations, and ends what shops had.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in united::TOPICS {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    united::start(&app.united, &app.topics, tasks);
    Ok(())
}
