//! Offers expire after their time. The work is done by `offers::due`, whose due row commits with every prolongation and
//! serves the archive too; this is its entry in the registry, so that it is listed and can be paused.

use async_trait::async_trait;
use model::Offer;
use offers::stages::EXPIRE;

use crate::Builtin;
use crate::stage::{Answer, Fields, Job, Outcome, Stage};

pub(super) fn builtin() -> Builtin {
    Builtin { untold: true, ..Builtin::new(EXPIRE, &["expires_at"], Expire) }
}

struct Expire;

#[async_trait]
impl Stage for Expire {
    type Prepared = ();

    fn should_process(&self, _: &Job<'_>, _: &Fields) -> Answer {
        Answer::No
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, _: &Job<'_>, (): &()) -> Result<Outcome, String> {
        Ok(Outcome::default())
    }
}
