//! Something happens every few seconds, in turns: prices change and a feed is fetched, a moderator speaks, a seller edits an
//! offer made by hand.

use std::time::Duration;

use anyhow::{Context as _, Result};
use feeds::{FeedKey, feed};
use kit::Shutdown;
use model::{Content, Location, Money, Offer, OfferId};
use offers::write::{Expected, by_api};
use offers::{Preset, validate};
use prost::Message as _;
use wire::offers::Opinion;
use wire::offers::opinion::Verdict;

use super::sellers::{BOOKS, FETCHED, GARDEN, TOOLS};
use super::shop::Shop;
use crate::app::App;

const EVERY: Duration = Duration::from_secs(3);
/// Turns between two looks at all prices.
const PRICES_EVERY: usize = 10;
const PIANO: &str = "Пианино чёрное, самовывоз";

pub(super) async fn go_on(app: App, shop: Shop, shutdown: Shutdown) {
    while shutdown.sleep(EVERY).await {
        let turn = shop.turn_over();
        let done = match turn % 3 {
            0 => judge(&app, turn).await,
            1 => fetch(&app, turn).await,
            _ => edit(&app, turn).await,
        };
        // Once a day in earnest.
        let looked = match turn % PRICES_EVERY {
            0 => app.stages.traverse("price", 0).await.map(drop).context("predict prices"),
            _ => Ok(()),
        };
        if let Err(error) = done.and(looked) {
            tracing::warn!("a sample event did not happen: {error:#}");
        }
    }
}

/// The sellers have changed prices; one of them wants it seen at once.
async fn fetch(app: &App, turn: usize) -> Result<()> {
    let (seller, namespace, _) = FETCHED[turn / 3 % 3];
    let key = FeedKey::new(seller, namespace)?;
    feed::fetch_now(&app.feeds, &key).await.context("fetch a feed")
}

/// A moderator bans an offer, and the next time lifts the ban, by the topic that moderation has.
async fn judge(app: &App, turn: usize) -> Result<()> {
    let seller = [TOOLS, GARDEN, BOOKS][turn / 3 % 3];
    let (banned, _) = app.offers.page(seller, Preset::Banned, None, 1).await?;
    let (active, _) = app.offers.page(seller, Preset::Active, None, 20).await?;
    let lifted = banned.first().filter(|_| turn.is_multiple_of(2));
    let Some(offer) = lifted.or_else(|| active.get(turn % active.len().max(1))) else { return Ok(()) };
    let Some(id) = OfferId::from_raw(offer.id) else { return Ok(()) };
    let (verdict, reasons, text) = match lifted {
        Some(_) => (Verdict::Unban, Vec::new(), String::new()),
        None => (Verdict::Ban, vec!["photo_mismatch".to_owned()], "На фото другой товар".to_owned()),
    };
    let opinion = Opinion {
        offer_id: id.to_string(),
        verdict: verdict.into(),
        reasons,
        text,
        timestamp: app.clock.now().0,
        moderator: "sample moderator".to_owned(),
    };
    let message = topics::Message::new(id.to_string(), opinion.encode_to_vec());
    app.topics.publish(model::topics::MODERATION_OPINIONS, vec![message]).await.context("an opinion")?;
    Ok(())
}

/// A seller keeps one offer by hand and keeps changing its price.
async fn edit(app: &App, turn: usize) -> Result<()> {
    let (by_hand, _) = app.offers.page(TOOLS, Preset::Manual, None, 1).await?;
    let price = Some(Money { minor: (45_000 + 100 * (turn as i64 % 50)) * 100, currency: "RUB".to_owned() });
    let actor = by_api("sample seller", "edit");
    match by_hand.first().and_then(|offer| OfferId::from_raw(offer.id)) {
        Some(id) => {
            let change = |offer: &Offer| {
                Ok(Content { price: price.clone(), ..offer.content.clone().unwrap_or_default() })
            };
            app.offers.edit(id, Expected::Any, &actor, change).await.context("edit an offer")?;
        }
        None => {
            let content = validate::settle(&app.offers.catalog, piano(price));
            validate::require(&app.offers.catalog, &content).context("a sample offer")?;
            app.offers.create(TOOLS, content, &actor).await.context("make an offer")?;
        }
    }
    Ok(())
}

fn piano(price: Option<Money>) -> Content {
    Content {
        title: PIANO.to_owned(),
        category_id: "pianos".to_owned(),
        description: "Немецкое, 1958 год. Настроено.".to_owned(),
        location: Some(Location { address: "Новосибирск".to_owned(), ..Location::default() }),
        price,
        ..Content::default()
    }
}
