//! Photos that could not be had are asked for again: after an hour, six hours, a day and a week.
//!
//! The state is how often that has happened for the urls that fail now, with a hash of them: other urls begin anew. The
//! request goes through the outbox of the run's save, so it is sent if and only if the run is saved.

use std::time::Duration;

use async_trait::async_trait;
use kit::Timestamp;
use model::{Offer, PhotoState, Status};
use wire::Any;

use crate::Builtin;
use crate::stage::{Answer, Fields, Job, Outcome, Stage, StateChange, Timer};

const HOUR: Duration = Duration::from_secs(3_600);
const WAITS: [Duration; 4] = [
    HOUR,
    Duration::from_secs(6 * 3_600),
    Duration::from_secs(24 * 3_600),
    Duration::from_secs(7 * 24 * 3_600),
];
const TYPE: &str = "dvor/stages.photos";
/// Bytes of the hash of urls.
const HASH_BYTES: usize = 8;

pub(super) fn builtin() -> Builtin {
    Builtin::new("photos", &["photos", "status"], Photos)
}

struct Photos;

/// How often the urls of this hash were asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    urls: [u8; HASH_BYTES],
    times: u8,
}

impl Asked {
    fn read(state: Option<&Any>) -> Option<Self> {
        let (urls, rest) = state?.value.split_first_chunk::<HASH_BYTES>()?;
        Some(Self { urls: *urls, times: *rest.first()? })
    }

    fn write(self) -> Any {
        Any { type_url: TYPE.to_owned(), value: [&self.urls[..], &[self.times]].concat() }
    }
}

/// The urls that failed, if the offer is one that is shown or may be again.
fn failed(offer: &Offer) -> Vec<String> {
    if matches!(offer.status(), Status::Deleted | Status::SoldHere | Status::SoldElsewhere) {
        return Vec::new();
    }
    let failed = offer.photos.iter().filter(|photo| photo.state() == PhotoState::Failed);
    failed.map(|photo| photo.url.clone()).collect()
}

fn hash(urls: &[String]) -> [u8; HASH_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for url in urls {
        hasher.update(url.as_bytes());
        hasher.update(&[0]);
    }
    let mut first = [0; HASH_BYTES];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..HASH_BYTES]);
    first
}

/// What the offer's photos need now: nothing, or to be asked for again at this moment.
fn next(job: &Job<'_>) -> Option<(Asked, Vec<String>, Timestamp)> {
    let urls = failed(job.offer);
    if urls.is_empty() {
        return None;
    }
    let of_now = hash(&urls);
    let before = Asked::read(job.state).filter(|asked| asked.urls == of_now);
    let asked = before.unwrap_or(Asked { urls: of_now, times: 0 });
    let wait = WAITS.get(usize::from(asked.times))?;
    Some((asked, urls, Timestamp(job.offer.updated_at).plus(*wait)))
}

#[async_trait]
impl Stage for Photos {
    type Prepared = ();

    fn should_process(&self, job: &Job<'_>, _: &Fields) -> Answer {
        match next(job) {
            Some((_, _, at)) => Answer::At(at.max(job.now)),
            // The state of photos that are there now is dropped by a run.
            None if job.state.is_some() && failed(job.offer).is_empty() => Answer::Yes,
            None => Answer::Clear,
        }
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        let Some((asked, urls, at)) = next(job) else {
            let state = if failed(job.offer).is_empty() { StateChange::Clear } else { StateChange::Keep };
            return Ok(Outcome { state, timer: Timer::Clear, ..Outcome::default() });
        };
        if at > job.now {
            return Ok(Outcome { timer: Timer::At(at), ..Outcome::default() });
        }
        let times = asked.times + 1;
        // An answer that fails again changes nothing of the offer, so the next asking has its timer now.
        let timer = match WAITS.get(usize::from(times)) {
            Some(wait) => Timer::At(job.now.plus(*wait)),
            None => Timer::Clear,
        };
        Ok(Outcome {
            state: StateChange::Set(Asked { times, ..asked }.write()),
            timer,
            photos_again: urls,
            ..Outcome::default()
        })
    }
}
