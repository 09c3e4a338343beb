//! What must be true when the last life has settled.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use model::OfferId;

use super::plugin::{Plugin, TICKS, mirror};
use super::{Report, STAGE};
use crate::http::Client;
use crate::program::Program;
use crate::torture::cabinet::{get, lists_add_up, nothing_has_drifted};
use crate::torture::offers::Writer;

/// How long the last life may take to work off what is left.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(50);

pub(super) async fn everything(
    program: &Program,
    plugin: &Plugin,
    writers: &mut [Writer],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut client = Client::connect(program.http).await?;
    let began = Instant::now();
    for writer in writers.iter_mut() {
        let ids: Vec<_> = writer.known.keys().cloned().collect();
        for id in ids {
            let answer = client.get(&format!("/v1/offers/{id}")).await?;
            writer.compare(&id, &answer)?;
            rests(&mut client, plugin, &id, began).await?;
        }
        report.acknowledged += writer.acknowledged;
        report.offers += lists_add_up(&mut client, &writer.seller).await?.len();
    }
    (report.runs, report.failed, report.saved) = plugin.counts();
    plugin.check()?;
    ensure!(report.offers > 0 && report.runs > 0 && report.failed > 0, "nothing was tried: {report:?}");
    nothing_has_drifted(program)
}

/// The state that was saved last is true of the offer, the plug-in was told of it, and the timers have come.
async fn rests(client: &mut Client, plugin: &Plugin, id: &str, began: Instant) -> anyhow::Result<()> {
    let raw = id.parse::<OfferId>().ok().with_context(|| format!("{id} is no offer id"))?.raw();
    loop {
        let offer = get(client, &format!("/v1/offers/{id}")).await?;
        let wanted = mirror(offer["price"]["amount"].as_str(), offer["status"].as_str().unwrap_or_default());
        let stages = get(client, &format!("/v1/offers/{id}/stages")).await?;
        let mine = stages["items"].as_array().into_iter().flatten().find(|item| item["stage"] == STAGE);
        let version = mine.and_then(|mine| mine["state_version"].as_i64()).unwrap_or_default();
        let saved = plugin.saved(raw);
        let is_at_rest = saved
            .as_ref()
            .is_some_and(|(told, memo)| *told == version && memo.mirror == wanted && memo.ticks == TICKS);
        if is_at_rest {
            return Ok(());
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "{id} is {wanted:?}, its stage's newest save {saved:?}, the server says {mine:?}"
        );
        tokio::time::sleep(LOOK).await;
    }
}
