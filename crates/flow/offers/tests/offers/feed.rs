//! A feed as the tests speak of it: loads in, results out.

use std::collections::BTreeMap;

use model::{Content, Issue, IssueType, Level, Money, Offer};
use offers::Offers;
use offers::autoload::sweep::Sweeps;
use offers::autoload::{Batches, DeadFeedRows};
use offers::tables::{FEED, FEED_HEAD, OFFER};
use prost::Message as _;
use store::{Range, Read as _, Shard};
use testing::OUTBOX;
use topics::Record;
use topics::consume::{Failure, Handler as _};
use wire::feeds::feed_message::Kind;
use wire::feeds::feed_result::Kind as ResultKind;
use wire::feeds::{
    BatchResult, FeedAbort, FeedBatch, FeedMessage, FeedRecord, FeedResult, FeedTerminal, OnMissing,
    TerminalResult,
};
use wire::offers::{FeedHead, FeedRow, OfferChange};

use crate::kept::run_due;

pub(crate) const SELLER: &str = "seller-1";
pub(crate) const NAMESPACE: &str = "default";

/// A seller's namespace.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) offers: Offers,
    pub(crate) namespace: String,
    /// The erasure that the loads were made after.
    pub(crate) after_erasure: i64,
}

/// A good record; the version changes its content and its fingerprint.
pub(crate) fn record(external_id: &str, version: u8) -> FeedRecord {
    let content = Content {
        title: format!("{external_id} {version}"),
        category_id: "phones".into(),
        price: Some(Money { minor: 100 * i64::from(version), currency: "RUB".into() }),
        ..Content::default()
    };
    FeedRecord {
        external_id: external_id.into(),
        line: 1,
        content: Some(content),
        fingerprint: vec![version; 16],
        title: external_id.into(),
        ..FeedRecord::default()
    }
}

pub(crate) fn records(ids: impl IntoIterator<Item = usize>, version: u8) -> Vec<FeedRecord> {
    ids.into_iter().map(|id| record(&format!("sku-{id}"), version)).collect()
}

pub(crate) fn broken(external_id: &str) -> FeedRecord {
    let issue = Issue {
        level: Level::Error.into(),
        r#type: IssueType::Geo.into(),
        code: "geo_missing".into(),
        ..Issue::default()
    };
    FeedRecord { issues: vec![issue], ..record(external_id, 9) }
}

pub(crate) fn skipped(external_id: &str) -> FeedRecord {
    FeedRecord { skipped_because: "catalog_unavailable".into(), ..record(external_id, 9) }
}

pub(crate) fn same(external_id: &str, version: u8) -> FeedRecord {
    FeedRecord { same: true, content: None, ..record(external_id, version) }
}

impl Feed {
    pub(crate) fn new(offers: &Offers) -> Self {
        Self::in_namespace(offers, NAMESPACE)
    }

    pub(crate) fn in_namespace(offers: &Offers, namespace: &str) -> Self {
        Self { offers: offers.clone(), namespace: namespace.into(), after_erasure: 0 }
    }

    fn shard() -> Shard {
        Shard::of(SELLER)
    }

    fn message(&self, task: i64, dry_run: bool, kind: Kind) -> Record {
        let message = FeedMessage {
            seller_id: SELLER.into(),
            namespace: self.namespace.clone(),
            task_id: task,
            dry_run,
            kind: Some(kind),
            after_erasure: self.after_erasure,
        };
        Record {
            partition: 0,
            offset: 0,
            key: SELLER.into(),
            payload: message.encode_to_vec().into(),
            headers: Vec::new(),
            timestamp: self.offers.clock.now(),
        }
    }

    pub(crate) fn batch_message(&self, task: i64, number: i64, records: Vec<FeedRecord>) -> Record {
        self.message(task, false, Kind::Batch(FeedBatch { number, records }))
    }

    pub(crate) fn terminal_message(&self, task: i64, terminal: FeedTerminal) -> Record {
        self.message(task, false, Kind::Terminal(terminal))
    }

    /// Applies records as the consumer of the topic does: one transaction.
    pub(crate) async fn try_apply(&self, records: &[Record]) -> Result<(), Failure> {
        let handler = Batches(self.offers.clone());
        let decoded: Result<Vec<_>, _> = records.iter().map(|record| handler.decode(record)).collect();
        let messages = decoded.map_err(|reason| Failure::Determinate(reason.0))?;
        let messages = messages.into_iter().map(|(_, message)| message).collect();
        self.offers.store.transact(Self::shard(), async |tx| handler.apply(tx, messages).await).await
    }

    pub(crate) async fn apply(&self, records: &[Record]) {
        self.try_apply(records).await.unwrap();
    }

    pub(crate) async fn batch(&self, task: i64, number: i64, records: Vec<FeedRecord>) {
        self.apply(&[self.batch_message(task, number, records)]).await;
    }

    pub(crate) async fn dry_batch(&self, task: i64, number: i64, records: Vec<FeedRecord>) {
        self.apply(&[self.message(task, true, Kind::Batch(FeedBatch { number, records }))]).await;
    }

    pub(crate) async fn terminal(&self, task: i64, terminal: FeedTerminal) {
        self.apply(&[self.terminal_message(task, terminal)]).await;
    }

    pub(crate) async fn dry_terminal(&self, task: i64, terminal: FeedTerminal) {
        self.apply(&[self.message(task, true, Kind::Terminal(terminal))]).await;
    }

    pub(crate) async fn abort(&self, task: i64) {
        self.apply(&[self.message(task, false, Kind::Abort(FeedAbort::default()))]).await;
    }

    /// A whole load in one batch, swept, with the guard off.
    pub(crate) async fn load(&self, task: i64, records: Vec<FeedRecord>) {
        self.batch(task, 1, records).await;
        self.terminal(task, ends(1)).await;
        self.sweep().await;
    }

    pub(crate) async fn sweep(&self) {
        run_due(&self.offers, Sweeps, Self::shard()).await.unwrap();
        run_due(&self.offers, DeadFeedRows, Self::shard()).await.unwrap();
    }

    pub(crate) async fn row(&self, external_id: &str) -> Option<FeedRow> {
        let key = (SELLER, self.namespace.as_str(), external_id);
        self.offers.store.get(&FEED, Self::shard(), key).await.unwrap()
    }

    pub(crate) async fn head(&self) -> FeedHead {
        let key = (SELLER, self.namespace.as_str());
        self.offers.store.get(&FEED_HEAD, Self::shard(), key).await.unwrap().unwrap_or_default()
    }

    /// The offer that the seller's own id stands for.
    pub(crate) async fn offer(&self, external_id: &str) -> Offer {
        let row = self.row(external_id).await.unwrap();
        offers::read::require(&self.snapshot().await, model::OfferId::from_raw(row.offer_id).unwrap())
            .await
            .unwrap()
    }

    pub(crate) async fn snapshot(&self) -> store::Snapshot {
        self.offers.store.snapshot(Self::shard()).await.unwrap()
    }

    /// Every offer of the shard, the deleted ones included.
    pub(crate) async fn all_offers(&self) -> Vec<Offer> {
        let parts = self.snapshot().await.scan(&OFFER, Range::all(1_000_000)).await.unwrap();
        let offer = |(_, part): (_, wire::offers::OfferPart)| match part.kind {
            Some(wire::offers::offer_part::Kind::Content(offer)) => Some(offer),
            _ => None,
        };
        parts.into_iter().filter_map(offer).collect()
    }

    async fn sent(&self, topic: &str) -> Vec<Vec<u8>> {
        let rows = self.snapshot().await.scan(&OUTBOX, Range::all(1_000_000)).await.unwrap();
        let messages = rows.into_iter().filter(|(_, row)| row.topic == topic);
        messages.flat_map(|(_, row)| row.messages).map(|message| message.payload).collect()
    }

    /// What the namespace's feed was told of a task, in order.
    pub(crate) async fn results(&self, task: i64) -> Vec<ResultKind> {
        let sent = self.sent(model::topics::FEED_RESULTS).await;
        let results = sent.iter().map(|payload| FeedResult::decode(payload.as_slice()).unwrap());
        let own = results.filter(|result| result.task_id == task && result.namespace == self.namespace);
        own.filter_map(|result| result.kind).collect()
    }

    pub(crate) async fn changes(&self) -> Vec<OfferChange> {
        let sent = self.sent(model::topics::OFFERS_CHANGES).await;
        sent.iter().map(|payload| OfferChange::decode(payload.as_slice()).unwrap()).collect()
    }

    /// The result of a batch that fits one part.
    pub(crate) async fn batch_result(&self, task: i64, number: i64) -> BatchResult {
        let mut found: Vec<_> = self
            .results(task)
            .await
            .into_iter()
            .filter_map(|kind| match kind {
                ResultKind::Batch(batch) if batch.number == number => Some(batch),
                _ => None,
            })
            .collect();
        assert_eq!(found.len(), 1, "batch {number} of task {task} is told once");
        found.pop().unwrap()
    }

    /// The tally of a batch in words.
    pub(crate) async fn tally(&self, task: i64, number: i64) -> String {
        words(&self.batch_result(task, number).await.tally.unwrap())
    }

    pub(crate) async fn ends(&self, task: i64) -> Vec<TerminalResult> {
        let kinds = self.results(task).await;
        let end = |kind| match kind {
            ResultKind::Terminal(end) => Some(end),
            _ => None,
        };
        kinds.into_iter().filter_map(end).collect()
    }

    /// How a task ended, and its totals, in words.
    pub(crate) async fn end(&self, task: i64) -> String {
        let ends = self.ends(task).await;
        assert_eq!(ends.len(), 1, "a task ends once: {ends:?}");
        format!("{}: {}", ends[0].end().as_str_name(), words(&ends[0].totals.unwrap()))
    }

    /// The rows of every table of the offers in the seller's shard.
    pub(crate) async fn row_counts(&self) -> BTreeMap<&'static str, usize> {
        let snapshot = self.snapshot().await;
        let mut counts = BTreeMap::new();
        for spec in offers::tables() {
            let id = self.offers.store.schema().id(spec.system, spec.name).unwrap();
            counts.insert(spec.name, snapshot.scan_raw(id, Range::all(1_000_000)).await.unwrap().len());
        }
        counts
    }
}

/// A terminal message for so many batches, without a guard.
pub(crate) fn ends(batches: i64) -> FeedTerminal {
    FeedTerminal { batches, on_missing: OnMissing::Delete.into(), ..FeedTerminal::default() }
}

pub(crate) fn makes_manual(batches: i64) -> FeedTerminal {
    FeedTerminal { on_missing: OnMissing::MakeManual.into(), ..ends(batches) }
}

pub(crate) fn guarded(batches: i64) -> FeedTerminal {
    FeedTerminal { guard_percent: 50, ..ends(batches) }
}

/// The numbers that are not zero.
pub(crate) fn words(tally: &wire::feeds::Tally) -> String {
    let numbers = [
        ("created", tally.created),
        ("updated", tally.updated),
        ("unchanged", tally.unchanged),
        ("rejected", tally.rejected),
        ("banned", tally.banned),
        ("duplicate", tally.duplicate),
        ("skipped", tally.skipped),
        ("stale", tally.stale),
        ("deleted", tally.deleted),
        ("made_manual", tally.made_manual),
    ];
    let words: Vec<_> = numbers
        .iter()
        .filter(|(_, number)| *number != 0)
        .map(|(name, number)| format!("{number} {name}"))
        .collect();
    words.join(", ")
}
