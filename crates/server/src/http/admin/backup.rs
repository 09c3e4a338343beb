use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Audited, audited};
use crate::app::App;
use web::{Code, Problem, Result};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show, begin))
}

/// The last backup that this process began. It runs in the background, since it may take longer than a call.
#[derive(Default)]
pub struct Backups(Mutex<Option<Arc<Backup>>>);

struct Backup {
    path: PathBuf,
    started_at: Timestamp,
    rows: AtomicU64,
    outcome: OnceLock<Result<u64, String>>,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBackup {
    /// A file on the server's machine that is not there yet.
    #[schema(value_type = String)]
    pub path: PathBuf,
}

/// A backup and how far it is.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct BackupItem {
    #[schema(value_type = String)]
    pub path: PathBuf,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    pub state: BackupState,
    pub rows: u64,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackupState {
    Running,
    Done,
    Failed,
}

impl Backup {
    fn item(&self) -> BackupItem {
        let (state, rows, error) = match self.outcome.get() {
            None => (BackupState::Running, self.rows.load(Ordering::Relaxed), None),
            Some(Ok(rows)) => (BackupState::Done, *rows, None),
            Some(Err(error)) => (BackupState::Failed, self.rows.load(Ordering::Relaxed), Some(error.clone())),
        };
        BackupItem { path: self.path.clone(), started_at: self.started_at, state, rows, error }
    }
}

/// Begins a backup of all rows while work goes on. Only for callers on the server's machine: it writes a file there.
#[utoipa::path(post, path = "/backup", tag = "admin", request_body = NewBackup, responses(
    (status = 202, body = BackupItem),
))]
async fn begin(
    State(app): State<App>,
    access: Access,
    Json(new): Json<NewBackup>,
) -> Result<(StatusCode, Json<BackupItem>)> {
    access.require_admin()?;
    access.require_local()?;
    if !new.path.is_absolute() || new.path.exists() {
        return Err(Problem::field(
            "path",
            "bad_path",
            "an absolute path of a file that is not there yet is needed",
        ));
    }
    let shown = new.path.display().to_string();
    audited(&app.store, &app.clock, &access, &Audited { what: "backup.begin", whom: &shown }).await?;
    let backup = Arc::new(Backup {
        path: new.path,
        started_at: app.clock.now(),
        rows: AtomicU64::new(0),
        outcome: OnceLock::new(),
    });
    app.backups.take_turn(&backup)?;
    tokio::spawn(run(app.clone(), backup.clone()));
    Ok((StatusCode::ACCEPTED, Json(backup.item())))
}

/// The last backup that this process began.
#[utoipa::path(get, path = "/backup", tag = "admin", responses((status = 200, body = BackupItem)))]
async fn show(State(app): State<App>, access: Access) -> Result<Json<BackupItem>> {
    access.require_admin()?;
    let last = app.backups.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    last.map(|backup| Json(backup.item()))
        .ok_or_else(|| Problem::not_found("this process has begun no backup"))
}

impl Backups {
    /// One at a time.
    fn take_turn(&self, backup: &Arc<Backup>) -> Result<()> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|last| last.outcome.get().is_none()) {
            return Err(Problem::new(Code::Conflict, "another backup is running"));
        }
        *last = Some(backup.clone());
        Ok(())
    }
}

async fn run(app: App, backup: Arc<Backup>) {
    let progress = |rows| backup.rows.store(rows, Ordering::Relaxed);
    let outcome = store::backup(&app.store, &backup.path, progress).await;
    if let Err(error) = &outcome {
        tracing::error!("the backup failed: {error}");
    }
    // Only this task sets it.
    let _ = backup.outcome.set(outcome.map_err(|error| error.to_string()));
}
