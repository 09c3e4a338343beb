//! What an admin can say to a stage. Each is noted in the audit log, as the API's calls are, and leads back to a page.

use axum::Form;
use axum::extract::{Path, State};
use serde::Deserialize;
use web::Problem;

use super::{address, refused};
use crate::Console;
use crate::frame::see_other;
use crate::pages::Answer;
use crate::visit::{Refusal, Visit};

pub(super) async fn pause(State(console): State<Console>, visit: Visit, Path(id): Path<String>) -> Answer {
    noted(&console, &visit, "stage.pause", &id).await?;
    done(&visit, &id, console.stages.pause(&id).await)
}

pub(super) async fn resume(State(console): State<Console>, visit: Visit, Path(id): Path<String>) -> Answer {
    noted(&console, &visit, "stage.resume", &id).await?;
    done(&visit, &id, console.stages.resume(&id).await)
}

#[derive(Deserialize)]
pub(super) struct Pace {
    /// Empty: the usual rate.
    #[serde(default)]
    rate: String,
}

pub(super) async fn walk(
    State(console): State<Console>,
    visit: Visit,
    Path(id): Path<String>,
    Form(pace): Form<Pace>,
) -> Answer {
    visit.require_admin()?;
    let rate = match pace.rate.trim() {
        "" => 0,
        text => text.parse().ok().filter(|rate| *rate > 0).ok_or_else(|| {
            let detail =
                visit.say("a rate is a whole number above zero", "скорость — целое число больше нуля");
            visit.refused(Problem::field("rate", "bad_rate", detail))
        })?,
    };
    noted(&console, &visit, "stage.traverse", &id).await?;
    done(&visit, &id, console.stages.traverse(&id, rate).await)
}

pub(super) async fn pause_walk(
    State(console): State<Console>,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    noted(&console, &visit, "stage.traverse.pause", &id).await?;
    done(&visit, &id, console.stages.pause_walk(&id).await)
}

pub(super) async fn resume_walk(
    State(console): State<Console>,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    noted(&console, &visit, "stage.traverse.resume", &id).await?;
    done(&visit, &id, console.stages.resume_walk(&id).await)
}

/// Lets admins pass, and notes what they are about to do.
pub(super) async fn noted(console: &Console, visit: &Visit, what: &str, whom: &str) -> Result<(), Refusal> {
    visit.require_admin()?;
    console.doors.audit(&visit.access, what, whom).await.map_err(|problem| visit.refused(problem))
}

fn done<T>(visit: &Visit, id: &str, result: stages::Result<T>) -> Answer {
    result.map_err(|error| refused(visit, error))?;
    Ok(see_other(&address(id)))
}
