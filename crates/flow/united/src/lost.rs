//! Messages of [`model::topics::UNITED_MOVES`] were removed before they were read.
//!
//! Among them may be questions and answers of migrations, and parts that went after an offer. A request that is not settled is
//! asked again, and the source, which keeps what it sent, sends it again. Shops of businesses whose offers moved to one that may
//! have missed something are filled anew, and what they ended is ended once more. All of it may be done again.

use std::collections::BTreeSet;

use store::{Range, Read as _, Tx};
use topics::consume::Gap;
use wire::united::r#move::Kind;
use wire::united::{MigrationRequest, MigrationRow, MigrationState};

use crate::moves::send;
use crate::shops::refill;
use crate::tables::{MIGRATIONS, MOVED, shard_of};
use crate::{Migration, Result, United};

/// Rows of one question.
const PAGE: usize = 200;

/// Asks again for every offer that is not here yet, and says again of those that are. Returns how many requests there are.
pub(crate) async fn ask_again(united: &United, gap: &Gap) -> Result<usize> {
    let concerns = |business: u32| gap.concerns(business.to_string().as_bytes());
    let (mut after, mut asked): (Option<(u32, String)>, usize) = (None, 0);
    loop {
        let behind = after.as_ref().map(|(target, id)| (*target, id.as_str()));
        let page = united.migrations(None, behind, PAGE).await?;
        for Migration { target, request_id, row } in &page {
            if !concerns(*target) && !concerns(row.source_business_id) {
                continue;
            }
            let body = async |tx: &mut Tx| say_again(tx, *target, request_id).await;
            united.store.transact(shard_of(*target), body).await?;
            asked += 1;
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some((last.target, last.request_id)),
            None => return Ok(asked),
        }
    }
}

async fn say_again(tx: &mut Tx, target: u32, request_id: &str) -> Result<()> {
    let Some(row) = tx.get(&MIGRATIONS, (target, request_id)).await? else { return Ok(()) };
    let source = row.source_business_id;
    let is_asked = row.state() == MigrationState::Asked;
    let MigrationRow { shop_sku, source_business_id, .. } = row;
    let request_id = request_id.to_owned();
    let request = MigrationRequest { request_id, source_business_id, target_business_id: target, shop_sku };
    send(tx, source, if is_asked { Kind::Question(request) } else { Kind::Taken(request) }).await
}

/// Fills the shops anew whose parts may have been lost on their way to where the offers live. Returns how many shops there are.
pub(crate) async fn refill_movers(united: &United, gap: &Gap) -> Result<usize> {
    let mut senders: BTreeSet<u32> = BTreeSet::new();
    loop {
        let before = senders.len();
        let mut after: Option<(u32, String)> = None;
        loop {
            let range = Range::all(PAGE);
            let behind = match &after {
                Some(key) => Some((shard_of(key.0), range.clone().after((key.0, key.1.as_str()))?)),
                None => None,
            };
            let page = united
                .store
                .scan_after(&MOVED, &range, behind, PAGE, |key, row| Some((key, row.home)))
                .await?;
            for ((source, _), home) in &page {
                // A part that went through several homes comes from the first of them.
                if gap.concerns(home.to_string().as_bytes()) || senders.contains(home) {
                    senders.insert(*source);
                }
            }
            match page.into_iter().next_back() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        if senders.len() == before {
            break;
        }
    }
    refill(united, |business| senders.contains(&business)).await
}
