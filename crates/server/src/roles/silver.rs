use anyhow::Result;
use kit::Tasks;

use crate::app::App;
use crate::roles::Role;

/// Imports shipments, pays debts, makes gold and tells ERP.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in silver::TOPICS {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    app.silver.read_settings().await?;
    silver::start(&app.silver, &app.topics, tasks);
    Ok(())
}

/// Whoever writes united offers or imports them knows the settings and counts.
pub fn watch(app: &App, tasks: &Tasks) {
    if [Role::Api, Role::United, Role::Silver].into_iter().any(|role| app.config.roles.has(role)) {
        silver::watch(&app.silver, tasks);
    }
}
