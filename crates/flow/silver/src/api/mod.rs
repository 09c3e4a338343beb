//! The HTTP door of silver, gold and the settings, for services; settings are changed by admins.

mod failures;
mod gold;
mod import;
pub mod json;
mod settings;
mod sskus;
mod stats;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Silver;

pub fn routes() -> OpenApiRouter<Silver> {
    OpenApiRouter::new()
        .routes(routes!(failures::list))
        .routes(routes!(failures::judge_all))
        .routes(routes!(failures::judge))
        .routes(routes!(stats::stats))
        .routes(routes!(import::import))
        .routes(routes!(sskus::silver))
        .routes(routes!(sskus::explain))
        .routes(routes!(gold::show))
        .routes(routes!(gold::preview))
        .routes(routes!(settings::show, settings::put))
        .routes(routes!(settings::history))
}
