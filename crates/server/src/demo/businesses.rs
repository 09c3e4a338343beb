//! Two businesses with two shops each. The sellers of the first sell some goods alike, so gold has something to choose; an
//! offer moves from the second to the first, and one part is such that it cannot be imported.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kit::Shutdown;
use serde_json::json;
use silver::settings::{self, FLAPPING, GOLD_RULES};
use wire::united::{
    Colour, MigrationRequest, Offer, OfferContent, OfferMeta, OriginalSpecification, PartnerContent,
    PreciseWeight, StringValue, UnitedOffer,
};

use super::sellers::{BOOKS, GARDEN, TOOLS};
use crate::app::App;

const HARDWARE: u32 = 100;
const LIBRARY: u32 = 200;
/// An SSKU of which two shops say different things.
pub const CHOSEN: (u32, &str) = (HARDWARE, "hammer-450");
const MOVED: &str = "garden-b";
const WHO: &str = "sample admin";
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Business, shop, seller, colour. A WHITE shop is one that silver does not keep.
const SHOPS: [(u32, u32, &str, Colour); 4] = [
    (HARDWARE, 1001, TOOLS, Colour::Blue),
    (HARDWARE, 1002, GARDEN, Colour::Dbs),
    (LIBRARY, 2001, BOOKS, Colour::Blue),
    (LIBRARY, 2002, GARDEN, Colour::White),
];

/// A folder that was kept from an earlier run has all of it already; then nothing of this changes anything.
pub(super) async fn settle(app: &App) -> Result<()> {
    for (business, shop, seller, colour) in SHOPS {
        app.united.map_shop(business, shop, seller, colour).await.context("map a shop")?;
    }
    let rules = json!({
        "groups": { "logistics": { "sources": [], "choose": "max" } },
        "parameters": { "barcode": { "sources": [], "choose": "union" } },
    });
    for (key, value) in [(GOLD_RULES, rules), (FLAPPING, json!(5))] {
        let set = settings::set(&app.store, key, &value.to_string(), None, WHO, app.clock.now()).await;
        set.with_context(|| format!("the setting {key}"))?;
    }
    app.united.put(HARDWARE, "scales-1", too_light()).await.context("a part that cannot be imported")
}

/// Scales that weigh less than nothing.
fn too_light() -> UnitedOffer {
    let name = StringValue { meta: None, value: Some("Весы напольные".to_owned()) };
    let weight = PreciseWeight { meta: None, value_mg: Some(-2_000_000) };
    let original =
        OriginalSpecification { name: Some(name), weight: Some(weight), ..OriginalSpecification::default() };
    let partner = PartnerContent { original: Some(original), original_terms: None };
    let part = Offer {
        meta: Some(OfferMeta { rgb: Some(Colour::Blue.into()), ..OfferMeta::default() }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        ..Offer::default()
    };
    UnitedOffer { basic: None, service: [(1009, part)].into() }
}

/// Asks for the offer that moves, as soon as it is there to move.
pub(super) async fn migrate(app: App, shutdown: Shutdown) {
    while shutdown.sleep(LOOK_EVERY).await {
        match app.united.offer_view(LIBRARY, MOVED).await {
            Ok(view) if view.row.is_some() => break,
            Ok(_) => {}
            Err(error) => tracing::warn!("the sample business cannot be looked at: {error:#}"),
        }
    }
    let request = MigrationRequest {
        request_id: "sample-move-1".to_owned(),
        source_business_id: LIBRARY,
        target_business_id: HARDWARE,
        shop_sku: MOVED.to_owned(),
    };
    if shutdown.is_called() {
        return;
    }
    if let Err(error) = app.united.migrate(request).await {
        tracing::warn!("a sample offer did not move: {error:#}");
    }
}
