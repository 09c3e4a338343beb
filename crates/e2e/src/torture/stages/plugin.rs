//! A stage of another program: its state is what it saw of the offer, and how often its timer came since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use model::{Offer, Status};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use stages::api::grpc::{StageServer, StageService};
use tonic::{Request, Response};
use wire::Any;
use wire::stages::{
    DescribeRequest, DescribeResponse, Job, OnSavedRequest, OnSavedResponse, Outcome, ProcessRequest,
    ProcessResponse, ShouldProcessRequest, ShouldProcessResponse, Timer, Wanted, outcome, timer, wanted,
};

/// Times that the timer comes after a change.
pub(super) const TICKS: u32 = 2;
const TICK_US: i64 = 200_000;
/// Tries of a change that fail, for those changes that fail at all.
const FAILURES: u32 = 2;

/// The running program; clones share it.
#[derive(Clone)]
pub(super) struct Plugin {
    pub(super) address: String,
    seen: Arc<Mutex<Observed>>,
}

struct Observed {
    rng: StdRng,
    busy: BTreeSet<i64>,
    overlaps: Vec<i64>,
    failed: BTreeMap<(i64, String), u32>,
    /// The newest saved state of each offer.
    saved: BTreeMap<i64, (i64, Memo)>,
    runs: u64,
    failures: u64,
    told: u64,
}

/// What the stage keeps of an offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memo {
    pub(super) mirror: String,
    pub(super) ticks: u32,
}

impl Memo {
    fn read(state: Option<&Any>) -> Self {
        let text = state.map_or("", |state| std::str::from_utf8(&state.value).unwrap_or_default());
        let (ticks, mirror) = text.split_once(' ').unwrap_or_default();
        Self { mirror: mirror.to_owned(), ticks: ticks.parse().unwrap_or_default() }
    }

    fn state(&self) -> Any {
        let value = format!("{} {}", self.ticks, self.mirror).into_bytes();
        Any { type_url: "torture/Memo".to_owned(), value }
    }
}

/// What the state must be true of, as the API shows it: price and status.
pub(super) fn mirror(amount: Option<&str>, status: &str) -> String {
    format!("{} {status}", amount.unwrap_or("-"))
}

fn mirror_of(offer: &Offer) -> String {
    let price = offer.content.as_ref().and_then(|content| content.price.as_ref());
    let amount = price.map(|price| format!("{}.{:02}", price.minor / 100, price.minor % 100));
    let status = Status::try_from(offer.status).map(|status| status.as_str_name().to_lowercase());
    mirror(amount.as_deref(), &status.unwrap_or_default())
}

impl Plugin {
    pub(super) async fn open(seed: u64) -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let seen = Observed {
            rng: StdRng::seed_from_u64(seed),
            busy: BTreeSet::new(),
            overlaps: Vec::new(),
            failed: BTreeMap::new(),
            saved: BTreeMap::new(),
            runs: 0,
            failures: 0,
            told: 0,
        };
        let address = format!("http://{}", listener.local_addr()?);
        let plugin = Self { address, seen: Arc::new(Mutex::new(seen)) };
        let server = tonic::transport::Server::builder().add_service(StageServer::new(plugin.clone()));
        let incoming = tonic::transport::server::TcpIncoming::from(listener);
        tokio::spawn(server.serve_with_incoming(incoming));
        Ok(plugin)
    }

    fn seen(&self) -> MutexGuard<'_, Observed> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No two runs of an offer have overlapped.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let seen = self.seen();
        ensure!(seen.overlaps.is_empty(), "runs of the offers {:?} overlapped", seen.overlaps);
        Ok(())
    }

    /// The newest state that it was told of, and its version.
    pub(super) fn saved(&self, offer: i64) -> Option<(i64, Memo)> {
        self.seen().saved.get(&offer).cloned()
    }

    /// Runs, those that failed, and saves that were told.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        let seen = self.seen();
        (seen.runs, seen.failures, seen.told)
    }

    /// Marks the offers as run, until the guard goes.
    fn enter(&self, items: &[Job]) -> Running {
        let ids: Vec<i64> = items.iter().filter_map(|job| job.offer.as_ref()).map(|offer| offer.id).collect();
        let mut seen = self.seen();
        for id in &ids {
            if !seen.busy.insert(*id) {
                seen.overlaps.push(*id);
            }
        }
        Running { plugin: self.clone(), ids }
    }

    fn answer(&self, job: &Job, now: i64) -> Outcome {
        let mut seen = self.seen();
        seen.runs += 1;
        let offer = job.offer.clone().unwrap_or_default();
        let (before, mirror) = (Memo::read(job.state.as_ref()), mirror_of(&offer));
        let mut answer = Outcome { offer_id: offer.id, ..Outcome::default() };
        if before.mirror != mirror && offer.version % 5 == 2 {
            let tries = seen.failed.entry((offer.id, mirror.clone())).or_default();
            if *tries < FAILURES {
                *tries += 1;
                seen.failures += 1;
                "not yet".clone_into(&mut answer.error);
                return answer;
            }
        }
        let after = if before.mirror == mirror {
            Memo { ticks: (before.ticks + 1).min(TICKS), mirror }
        } else {
            Memo { ticks: 0, mirror }
        };
        if after.ticks < TICKS {
            answer.timer = Some(Timer { kind: timer::Kind::At.into(), at: now + TICK_US });
        }
        answer.state = Some(outcome::State::NewState(after.state()));
        answer
    }
}

struct Running {
    plugin: Plugin,
    ids: Vec<i64>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut seen = self.plugin.seen();
        for id in &self.ids {
            seen.busy.remove(id);
        }
    }
}

#[tonic::async_trait]
impl StageService for Plugin {
    async fn describe(&self, _: Request<DescribeRequest>) -> tonic::Result<Response<DescribeResponse>> {
        Ok(Response::new(DescribeResponse::default()))
    }

    async fn should_process(
        &self,
        request: Request<ShouldProcessRequest>,
    ) -> tonic::Result<Response<ShouldProcessResponse>> {
        let offers = request.into_inner().items.into_iter().filter_map(|item| item.offer);
        let wanted = |offer: Offer| Wanted { offer_id: offer.id, kind: wanted::Kind::Yes.into(), at: 0 };
        Ok(Response::new(ShouldProcessResponse { answers: offers.map(wanted).collect() }))
    }

    async fn process(&self, request: Request<ProcessRequest>) -> tonic::Result<Response<ProcessResponse>> {
        let request = request.into_inner();
        let running = self.enter(&request.items);
        let (millis, is_out) = {
            let mut seen = self.seen();
            (seen.rng.random_range(0..20), seen.rng.random_bool(0.03))
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
        if is_out {
            return Err(tonic::Status::unavailable("not now"));
        }
        let answers = request.items.iter().map(|job| self.answer(job, request.now)).collect();
        drop(running);
        Ok(Response::new(ProcessResponse { answers }))
    }

    async fn on_saved(&self, request: Request<OnSavedRequest>) -> tonic::Result<Response<OnSavedResponse>> {
        let request = request.into_inner();
        let mut seen = self.seen();
        seen.told += 1;
        if seen.rng.random_bool(0.05) {
            return Err(tonic::Status::internal("try again"));
        }
        let id = request.offer.map_or(0, |offer| offer.id);
        let version = request.state_version;
        if seen.saved.get(&id).is_none_or(|(known, _)| *known < version) {
            seen.saved.insert(id, (version, Memo::read(request.state.as_ref())));
        }
        Ok(Response::new(OnSavedResponse {}))
    }
}
