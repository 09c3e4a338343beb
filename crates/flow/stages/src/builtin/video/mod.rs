//! Whether the video that an offer links to is still there, asked of its provider by oEmbed.
//!
//! ```text
//! run: state «asked» ─▶ on_saved asks the provider ─▶ the answer becomes the state ─▶ run: what is wrong, and a timer
//! ```
//!
//! A video that is gone is shown as a problem of the offer until it is back. It is asked about again after a week, one that
//! is gone after a day, and after one, six and 24 hours when the provider could not be asked. A call that was lost leaves
//! the state «asked» with a timer of an hour, and is made again. Videos of hosts that no provider is known for, and offers
//! without one, have no state.

mod ask;
mod steps;

use async_trait::async_trait;
use model::{Offer, OfferId, Status};
use offers::Offers;
use wire::Any;
use wire::stages::{Saved, VideoState};

pub use self::ask::{Provider, Videos};
use self::steps::{next, read, write};
use crate::stage::{Answer, Fields, Job, Outcome, Stage};
use crate::{Builtin, state};

const ID: &str = "video";

pub(super) fn builtin(offers: &Offers, videos: Videos) -> Builtin {
    let stage = Video { offers: offers.clone(), videos };
    Builtin { saved: Saved::Call, ..Builtin::new(ID, &["video_url", "status"], stage) }
}

struct Video {
    offers: Offers,
    videos: Videos,
}

impl Video {
    /// The url to look after, if the offer is one that is shown or may be again.
    fn url<'a>(&self, offer: &'a Offer) -> Option<&'a str> {
        if matches!(offer.status(), Status::Deleted | Status::SoldHere | Status::SoldElsewhere) {
            return None;
        }
        let url = offer.content.as_ref().map(|content| content.video_url.as_str())?;
        self.videos.provider_of(url).is_some().then_some(url)
    }
}

#[async_trait]
impl Stage for Video {
    type Prepared = ();

    fn should_process(&self, job: &Job<'_>, _: &Fields) -> Answer {
        let known = read(job.state);
        let is_settled = match self.url(job.offer) {
            Some(url) => known.is_some_and(|known| known.url == url),
            None => job.state.is_none() && job.offer.video_error.is_none(),
        };
        if is_settled { Answer::No } else { Answer::Yes }
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        Ok(next(job, self.url(job.offer)))
    }

    async fn on_saved(&self, offer: &Offer, saved: Option<&Any>) -> Result<(), String> {
        let Some(asked) =
            read(saved).filter(|state| state.phase() == wire::stages::video_state::Phase::Asked)
        else {
            return Ok(());
        };
        let Some(id) = OfferId::from_raw(offer.id) else { return Ok(()) };
        let (current, version) =
            state::read(&self.offers, ID, id).await.map_err(|error| error.to_string())?;
        // A repeat of what was answered since, or the video is another one by now.
        if current.as_ref() != saved {
            return Ok(());
        }
        let phase = self.videos.ask(&asked.url).await;
        let unanswered = match phase {
            wire::stages::video_state::Phase::Unknown => asked.unanswered.saturating_add(1),
            _ => 0,
        };
        let at = self.offers.clock.now().0;
        let answer = VideoState { phase: phase.into(), at, unanswered, ..asked };
        match state::update(&self.offers, ID, id, write(&answer), version).await {
            // Somebody was faster: then the state knows already.
            Ok(_) | Err(crate::Error::Offers(offers::Error::NoOffer(_))) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}
