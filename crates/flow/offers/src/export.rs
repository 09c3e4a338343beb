//! All that a seller has listed, archived offers too, a page at a time.

use async_trait::async_trait;
use futures::stream::{self, Stream};
use futures::{StreamExt as _, TryStreamExt as _};
use model::Offer;
use serde_json::Value;
use store::{Range, Read as _, Shard};
use tokio::sync::mpsc;

use crate::archive::{self, format};
use crate::follow::MAX_FOLLOWERS;
use crate::tables::{CONTENT, FOLLOWERS, OFFER};
use crate::{Offers, Result};

pub(crate) const OFFERS_AT_ONCE: usize = 100;
/// Archived offers that wait to be taken.
const AHEAD: usize = 16;

/// Somebody who keeps something of sellers' offers beside the offers themselves.
#[async_trait]
pub trait Keeper: Send + Sync {
    /// What is kept of these offers of a seller, a line of the export each. `followers` are the names under which the seller
    /// is followed, or was.
    async fn kept(&self, followers: &[String], offers: &[Offer]) -> std::result::Result<Vec<Value>, String>;
}

impl Offers {
    /// What others keep of these offers of a seller.
    pub async fn kept_by_others(
        &self,
        seller: &str,
        offers: &[Offer],
    ) -> std::result::Result<Vec<Value>, String> {
        if self.keepers.is_empty() || offers.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = self.store.snapshot(Shard::of(seller)).await.map_err(|error| error.to_string())?;
        let range = Range::prefix((seller,), MAX_FOLLOWERS).map_err(|error| error.to_string())?;
        let rows = snapshot.scan(&FOLLOWERS, range).await.map_err(|error| error.to_string())?;
        let followers: Vec<String> = rows.into_iter().map(|((_, follower), _)| follower).collect();
        let mut lines = Vec::new();
        for keeper in &self.keepers {
            lines.extend(keeper.kept(&followers, offers).await?);
        }
        Ok(lines)
    }

    /// Every offer of the seller, first those of the tables, deleted ones too, then those of the archive. An offer that
    /// goes to the archive meanwhile may come twice; none is left out.
    pub fn export(&self, seller: &str) -> impl Stream<Item = Result<Offer>> + Send + use<> {
        kept(self.clone(), seller.to_owned()).chain(archived(self.clone(), seller.to_owned()))
    }
}

fn kept(offers: Offers, seller: String) -> impl Stream<Item = Result<Offer>> + Send {
    let shard = Shard::of(&seller);
    let pages = stream::try_unfold(Some(None::<(i64, String)>), move |place| {
        let (offers, seller) = (offers.clone(), seller.clone());
        async move {
            let Some(last) = place else { return Ok(None) };
            let mut range = Range::all(OFFERS_AT_ONCE);
            if let Some((id, kind)) = &last {
                range = range.after((*id, kind.as_str()))?;
            }
            let rows = offers.store.snapshot(shard).await?.scan(&OFFER, range).await?;
            let next = rows.last().map(|(key, _)| Some(key.clone()));
            let found: Vec<_> = rows
                .into_iter()
                .filter(|((_, kind), _)| kind == CONTENT)
                .filter_map(|(_, part)| crate::read::content(part))
                .filter(|offer| offer.seller_id == seller)
                .map(Ok)
                .collect();
            Ok::<_, crate::Error>(Some((stream::iter(found), next)))
        }
    });
    pages.try_flatten()
}

fn archived(offers: Offers, seller: String) -> impl Stream<Item = Result<Offer>> + Send {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let work = async move {
        if let Err(error) = send_archived(&offers, &seller, &sender).await {
            // Nobody listens any more: then there is nobody to tell.
            let _ = sender.send(Err(error)).await;
        }
    };
    let received =
        stream::unfold(receiver, async |mut receiver| receiver.recv().await.map(|offer| (offer, receiver)));
    // The work runs within the stream, so that it ends with it.
    let work = stream::once(work).filter_map(async |()| None);
    stream::select(received, work)
}

async fn send_archived(offers: &Offers, seller: &str, sender: &mpsc::Sender<Result<Offer>>) -> Result<()> {
    let Some(files) = &offers.files else { return Ok(()) };
    let shard = Shard::of(seller);
    let mut behind = None;
    while let Some(member) = archive::next_members(offers, shard, behind.as_ref(), 1).await?.pop() {
        let (seller, sender) = (seller.to_owned(), sender.clone());
        let (store, runtime) = (offers.store.clone(), tokio::runtime::Handle::current());
        let month = member.month;
        let read = move |ranges| {
            format::each_of_seller(ranges, &seller, |offer| {
                let known = runtime.block_on(async {
                    archive::ids::month_of(&store.snapshot(shard).await?, offer.id).await
                });
                match known {
                    Ok(Some(there)) if there == month => sender.blocking_send(Ok(offer)).is_ok(),
                    Ok(_) => true,
                    Err(error) => {
                        // The same: a listener who is gone needs no error.
                        let _ = sender.blocking_send(Err(error));
                        false
                    }
                }
            })
        };
        archive::read(files, member.hash, read).await?;
        behind = Some(member);
    }
    Ok(())
}
