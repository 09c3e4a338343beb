//! What the command line and those who run an installation use. Every route needs the scope `admin`.

mod backup;
mod cluster;
mod constant;
mod snippets;
mod tables;
mod tokens;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub use backup::{BackupItem, BackupState, Backups, NewBackup};
pub use cluster::MemberItem;
pub use snippets::{DropSnippet, Dropped};
pub use tables::{Row, TableInfo};
pub use tokens::CreatedToken;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(tokens::routes())
        .merge(tables::routes())
        .merge(cluster::routes())
        .merge(constant::routes())
        .merge(backup::routes())
        .merge(snippets::routes())
}
