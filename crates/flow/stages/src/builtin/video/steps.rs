//! What becomes of an offer's video: a pure step from what is known of it.

use std::time::Duration;

use kit::Timestamp;
use model::{Issue, IssueType, Level, Offer};
use prost::Message as _;
use wire::Any;
use wire::stages::VideoState;
use wire::stages::video_state::Phase;

use crate::stage::{Job, Outcome, StateChange, Timer, Update};

const HOUR: Duration = Duration::from_hours(1);
/// An answer that has not come by then was lost.
const PATIENCE: Duration = HOUR;
/// A video that is there is asked about again after this,
const THERE_AGAIN: Duration = Duration::from_hours(7 * 24);
/// and one that is not after this.
const GONE_AGAIN: Duration = Duration::from_hours(24);
/// The same when the provider could not be asked, by how often that happened in a row.
const UNKNOWN_AGAIN: [Duration; 3] = [HOUR, Duration::from_hours(6), Duration::from_hours(24)];

const TYPE: &str = "type.googleapis.com/dvor.stages.v1.VideoState";
const MAX_SHOWN_CHARS: usize = 200;

pub(super) fn read(state: Option<&Any>) -> Option<VideoState> {
    VideoState::decode(state?.value.as_slice()).ok()
}

pub(super) fn write(state: &VideoState) -> Any {
    Any { type_url: TYPE.to_owned(), value: state.encode_to_vec() }
}

/// The run of an offer whose video has this url; `None`: there is nothing to look after.
pub(super) fn next(job: &Job<'_>, url: Option<&str>) -> Outcome {
    let Some(url) = url else {
        let state = if job.state.is_some() { StateChange::Clear } else { StateChange::Keep };
        return Outcome { update: show(job.offer, None), state, timer: Timer::Clear, ..Outcome::default() };
    };
    let Some(known) = read(job.state).filter(|known| known.url == url) else {
        return Outcome { update: show(job.offer, None), ..ask(url, 0, job.now) };
    };
    let again = Timestamp(known.at).plus(wait(&known));
    if again <= job.now {
        // What was wrong with it stays until there is an answer.
        return ask(url, known.unanswered, job.now);
    }
    let update = match known.phase() {
        Phase::Asked | Phase::Unknown => Update::Nothing,
        Phase::There => show(job.offer, None),
        Phase::Gone => show(job.offer, Some(issue("video_gone", url))),
        Phase::Private => show(job.offer, Some(issue("video_private", url))),
    };
    Outcome { update, timer: Timer::At(again), ..Outcome::default() }
}

/// The question is asked by `on_saved`, once this is saved.
fn ask(url: &str, unanswered: u32, now: Timestamp) -> Outcome {
    let asked = VideoState { url: url.to_owned(), phase: Phase::Asked.into(), at: now.0, unanswered };
    Outcome {
        state: StateChange::Set(write(&asked)),
        timer: Timer::At(now.plus(PATIENCE)),
        ..Outcome::default()
    }
}

fn wait(known: &VideoState) -> Duration {
    match known.phase() {
        Phase::Asked => PATIENCE,
        Phase::There => THERE_AGAIN,
        Phase::Gone | Phase::Private => GONE_AGAIN,
        Phase::Unknown => {
            let place = known.unanswered.saturating_sub(1) as usize;
            UNKNOWN_AGAIN[place.min(UNKNOWN_AGAIN.len() - 1)]
        }
    }
}

fn show(offer: &Offer, video_error: Option<Issue>) -> Update {
    if offer.video_error == video_error {
        return Update::Nothing;
    }
    let offer = Box::new(Offer { video_error, ..Offer::default() });
    Update::Patch { offer, paths: vec!["video_error".to_owned()] }
}

fn issue(code: &str, url: &str) -> Issue {
    Issue {
        level: Level::Warning.into(),
        r#type: IssueType::Video.into(),
        code: code.to_owned(),
        field: "video_url".to_owned(),
        value: fetch::shown(url).chars().take(MAX_SHOWN_CHARS).collect(),
        ..Issue::default()
    }
}
