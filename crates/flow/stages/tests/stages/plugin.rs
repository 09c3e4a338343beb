//! Stages of other programs, over real gRPC on loopback: what they may do, and what hostile ones cannot.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use cluster::work::run_due;
use kit::Clock;
use model::{Content, Offer, Status as OfferStatus};
use stages::api::grpc::{StageServer, StageService};
use stages::api::{PluginRequest, TlsRequest};
use stages::{Error, Scheduler, Settings, Stages};
use store::Store;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};
use wire::Any;
use wire::stages::outcome::{State as NewState, Update};
use wire::stages::{
    DescribeRequest, DescribeResponse, Job, OnSavedRequest, OnSavedResponse, Outcome, Patch, ProcessRequest,
    ProcessResponse, ShouldProcessRequest, ShouldProcessResponse, Timer, Wanted, timer, wanted,
};

use crate::support::{BEGINNING, World, catalog, offers_on, schema, seller};

pub(crate) type Answers = Box<dyn Fn(&ProcessRequest) -> Result<Vec<Outcome>, Status> + Send + Sync>;

/// A program of somebody else.
pub(crate) struct Program {
    pub(crate) answers: Mutex<Answers>,
    pub(crate) batches: Mutex<Vec<usize>>,
    pub(crate) saved: Mutex<Vec<(i64, Vec<u8>)>>,
    pub(crate) refuses_saved: AtomicUsize,
    hangs: Mutex<Duration>,
    describes: DescribeResponse,
}

#[tonic::async_trait]
impl StageService for Shared {
    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(self.0.describes.clone()))
    }

    async fn should_process(
        &self,
        request: Request<ShouldProcessRequest>,
    ) -> Result<Response<ShouldProcessResponse>, Status> {
        let items = request.into_inner().items;
        let ids = items.into_iter().map(|item| item.offer.unwrap_or_default().id);
        let answers =
            ids.map(|offer_id| Wanted { offer_id, kind: wanted::Kind::Yes.into(), at: 0 }).collect();
        Ok(Response::new(ShouldProcessResponse { answers }))
    }

    async fn process(&self, request: Request<ProcessRequest>) -> Result<Response<ProcessResponse>, Status> {
        let request = request.into_inner();
        self.0.batches.lock().unwrap().push(request.items.len());
        let pause = *self.0.hangs.lock().unwrap();
        tokio::time::sleep(pause * request.items.len() as u32).await;
        let answers = (self.0.answers.lock().unwrap())(&request)?;
        Ok(Response::new(ProcessResponse { answers }))
    }

    async fn on_saved(&self, request: Request<OnSavedRequest>) -> Result<Response<OnSavedResponse>, Status> {
        let request = request.into_inner();
        if self.0.refuses_saved.load(Ordering::SeqCst) > 0 {
            self.0.refuses_saved.fetch_sub(1, Ordering::SeqCst);
            return Err(Status::internal("not now"));
        }
        let state = request.state.unwrap_or_default().value;
        self.0.saved.lock().unwrap().push((request.offer.unwrap_or_default().id, state));
        Ok(Response::new(OnSavedResponse {}))
    }
}

#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Arc<Program>);

/// Answers each item by itself.
pub(crate) fn each(answer: impl Fn(&Job) -> Outcome + Send + Sync + 'static) -> Answers {
    Box::new(move |request| {
        let answer = |job: &Job| Outcome { offer_id: id(job), ..answer(job) };
        Ok(request.items.iter().map(answer).collect())
    })
}

fn id(job: &Job) -> i64 {
    job.offer.as_ref().unwrap().id
}

fn patch(paths: &[&str], values: Offer) -> Outcome {
    let paths = paths.iter().map(ToString::to_string).collect();
    Outcome { update: Some(Update::Patch(Patch { paths, values: Some(values) })), ..Outcome::default() }
}

fn retitled(title: &str) -> Outcome {
    let content = Content { title: title.to_owned(), ..Content::default() };
    patch(&["title"], Offer { content: Some(content), ..Offer::default() })
}

pub(crate) fn with_state(text: &str) -> Outcome {
    let state = Any { type_url: "test/State".to_owned(), value: text.as_bytes().to_vec() };
    Outcome { state: Some(NewState::NewState(state)), ..Outcome::default() }
}

impl Program {
    pub(crate) fn serving(answers: Answers) -> Shared {
        Shared(Arc::new(Self {
            answers: Mutex::new(answers),
            batches: Mutex::default(),
            saved: Mutex::default(),
            refuses_saved: AtomicUsize::new(0),
            hangs: Mutex::default(),
            describes: DescribeResponse { masks: vec!["title".to_owned()], ..DescribeResponse::default() },
        }))
    }
}

/// Serves the program; gives its address.
pub(crate) async fn serve(program: &Shared, tls: Option<ServerTlsConfig>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls).unwrap();
    }
    let served = server.add_service(StageServer::new(program.clone()));
    tokio::spawn(served.serve_with_incoming(TcpIncoming::from(listener)));
    address
}

/// A process with plug-ins and no stages of its own.
pub(crate) async fn world() -> World {
    let (store, clock) = (Store::memory(schema()), Clock::manual(BEGINNING));
    let offers = offers_on(store, clock.clone(), catalog());
    let deadline = Duration::from_millis(1_500);
    let settings = Settings { walk_per_second: 1_000_000, deadline, ..Settings::default() };
    let connect = stages::api::plugin::connect(&settings);
    let stages = Stages::new(offers.clone(), settings, Vec::new(), connect);
    stages.register().await.unwrap();
    World { offers, stages, clock }
}

pub(crate) fn at(address: SocketAddr) -> PluginRequest {
    PluginRequest {
        address: format!("http://{address}"),
        masks: Some(Vec::new()),
        ..PluginRequest::default()
    }
}

/// A world with the program registered as `colors`, its first walk over.
async fn settled(program: &Shared) -> World {
    let world = world().await;
    let address = serve(program, None).await;
    world.stages.put_plugin("colors", at(address)).await.unwrap();
    settle(&world).await;
    world
}

pub(crate) async fn settle(world: &World) {
    world.pass(Duration::from_secs(11)).await;
    world.stages.maintain_once().await.unwrap();
    world.rest().await;
    world.stages.maintain_once().await.unwrap();
}

async fn work(world: &World) {
    run_due(&Scheduler(world.stages.clone()), &World::shards(), world.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_plug_in_changes_offers_and_keeps_state_and_timer() {
    let program = Program::serving(each(|job| {
        let offer = job.offer.as_ref().unwrap();
        let title = offer.content.as_ref().unwrap().title.to_uppercase();
        let at = offer.created_at + 60_000_000;
        let timer = Some(Timer { kind: timer::Kind::At.into(), at });
        Outcome { update: retitled(&title).update, timer, ..with_state("seen") }
    }));
    let world = settled(&program).await;
    let offer = world.offer(&seller(1), "lamp", 5).await;
    world.rest().await;
    let pair = world.pair(offer.id, "colors").await.unwrap();
    assert_eq!(world.read(offer.id).await.content.unwrap().title, "LAMP");
    assert_eq!((pair.state.unwrap().value, pair.timer_at), (b"seen".to_vec(), offer.created_at + 60_000_000));
    assert_eq!(world.read(offer.id).await.version, 2);
}

#[tokio::test]
async fn what_a_plug_in_may_not_do_fails_alone_and_harms_nobody() {
    let program = Program::serving(each(|job| {
        let offer = job.offer.clone().unwrap();
        let content = offer.content.clone().unwrap();
        let with = |content: Content| Offer { content: Some(content), ..Offer::default() };
        match content.title.as_str() {
            "id" => patch(&["id"], Offer { id: 7, ..offer }),
            "ban" => {
                let status = OfferStatus::Banned.into();
                patch(&["status"], Offer { status, ..Offer::default() })
            }
            "price" => {
                let price = Some(model::Money { minor: -5, currency: "RUB".to_owned() });
                patch(&["price"], with(Content { price, ..Content::default() }))
            }
            "giant" => patch(&["title"], with(Content { title: "x".repeat(1 << 20), ..Content::default() })),
            "state" => with_state(&"x".repeat(70_000)),
            "past" => {
                let timer = Some(Timer { kind: timer::Kind::At.into(), at: -1 });
                Outcome { timer, ..Outcome::default() }
            }
            "final" => Outcome { error: "never".to_owned(), r#final: true, ..Outcome::default() },
            _ => retitled("well"),
        }
    }));
    let world = settled(&program).await;
    let titles = ["id", "ban", "price", "giant", "state", "past", "final"];
    let mut bad = Vec::new();
    for title in titles {
        bad.push(world.offer(&seller(1), title, 5).await.id);
    }
    let good = world.offer(&seller(1), "good", 5).await;
    world.rest().await;
    assert_eq!(world.read(good.id).await.content.unwrap().title, "well");
    for (id, title) in bad.iter().zip(titles) {
        let (offer, pair) = (world.read(*id).await, world.pair(*id, "colors").await.unwrap());
        assert_eq!((offer.version, offer.content.unwrap().title.as_str()), (1, title), "nothing was saved");
        assert!(!pair.error.is_empty() && pair.tries == 1, "{title}: {pair:?}");
        assert_eq!(pair.parked_at != 0, title == "final", "{title}: {pair:?}");
    }
    let failures = world.stages.failures("colors", None, 10).await.unwrap();
    assert_eq!(failures.iter().map(|failure| failure.error.as_str()).collect::<Vec<_>>(), ["never"]);
}

#[tokio::test]
async fn an_offer_that_the_plug_in_cannot_take_is_found_and_the_others_run() {
    let program = Program::serving(Box::new(|request| {
        let title = |job: &Job| job.offer.clone().unwrap().content.unwrap().title;
        if request.items.iter().any(|job| title(job) == "poison") {
            return Err(Status::internal("it fell over"));
        }
        Ok(request.items.iter().map(|job| Outcome { offer_id: id(job), ..with_state("seen") }).collect())
    }));
    let world = settled(&program).await;
    let mut ids = Vec::new();
    for number in 0..20 {
        let title = if number == 13 { "poison".to_owned() } else { format!("t{number}") };
        ids.push(world.offer(&seller(1), &title, 5).await.id);
    }
    world.rest().await;
    for (number, id) in ids.iter().enumerate() {
        let pair = world.pair(*id, "colors").await.unwrap();
        assert_eq!(pair.state.is_none(), number == 13);
        assert_eq!(pair.tries, u32::from(number == 13));
    }
    let pair = world.pair(ids[13], "colors").await.unwrap();
    assert!(pair.error.contains("it fell over"), "{pair:?}");
}

/// Wrong numbers of answers, answers for others, and giant answers: the runs fail, with the reason.
#[tokio::test]
async fn answers_that_do_not_fit_are_refused() {
    let program = Program::serving(Box::new(|_| Ok(Vec::new())));
    let world = settled(&program).await;
    let (one, two) = (world.offer(&seller(1), "a", 5).await.id, world.offer(&seller(1), "b", 5).await.id);
    let now_with = async |answers: Answers| {
        *program.0.answers.lock().unwrap() = answers;
        world.pass(Duration::from_secs(3_600)).await;
        world.rest().await;
        assert_eq!(world.read(one).await.version, 1);
        world.pair(one, "colors").await.unwrap()
    };
    let pair = now_with(Box::new(|_| Ok(Vec::new()))).await;
    assert!(pair.error.contains("0 answers to 1 items"), "{pair:?}");
    let pair = now_with(Box::new(move |_| Ok(vec![Outcome { offer_id: two, ..retitled("x") }]))).await;
    assert!(pair.error.contains("stands at"), "{pair:?}");
    let giant = |job: &Job| Outcome { offer_id: id(job), ..with_state(&"x".repeat(40 << 20)) };
    let pair = now_with(Box::new(move |request| Ok(request.items.iter().map(giant).collect()))).await;
    assert!(pair.error.contains("too large"), "{pair:?}");
    let pair = now_with(each(|_| with_state("well"))).await;
    assert_eq!((pair.tries, pair.error.as_str(), pair.state.is_some()), (0, "", true));
}

#[tokio::test]
async fn a_plug_in_that_is_away_parks_nobody_and_a_slow_one_gets_smaller_batches() {
    let program = Program::serving(each(|_| with_state("seen")));
    let world = settled(&program).await;
    // 60 ms each: forty of them do not fit into the deadline, twenty do.
    *program.0.hangs.lock().unwrap() = Duration::from_millis(60);
    let mut ids = Vec::new();
    for number in 0..40 {
        ids.push(world.offer(&seller(1), &format!("t{number}"), 5).await.id);
    }
    for _ in 0..40 {
        world.pass(Duration::from_secs(31)).await;
        work(&world).await;
    }
    for id in &ids {
        let pair = world.pair(*id, "colors").await.unwrap();
        assert_eq!((pair.state.is_some(), pair.tries, pair.parked_at), (true, 0, 0));
    }
    let batches = program.0.batches.lock().unwrap().clone();
    assert_eq!((batches[0], batches[1]), (40, 20), "{batches:?}");
    world.agree().await;
}

#[tokio::test]
async fn nobody_at_the_address_counts_no_try() {
    let world = world().await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let unnamed = PluginRequest { masks: None, ..at(nobody) };
    let refused = world.stages.put_plugin("colors", unnamed).await.unwrap_err();
    assert!(matches!(&refused, Error::Field("masks", text) if text.contains("start it")), "{refused}");
    world.stages.put_plugin("colors", at(nobody)).await.unwrap();
    let offer = world.offer(&seller(1), "lamp", 5).await;
    for _ in 0..5 {
        world.pass(Duration::from_secs(40)).await;
        work(&world).await;
    }
    let pair = world.pair(offer.id, "colors").await.unwrap();
    assert!(pair.tries == 0 && pair.parked_at == 0 && pair.queued_at != 0, "{pair:?}");
    let entries = world.stages.entries();
    assert!(entries[0].breaker().last_error.contains("refused"), "{:?}", entries[0].breaker());
}

#[tokio::test]
async fn registering_asks_the_program_what_it_is() {
    let world = world().await;
    let program = Program::serving(each(|_| Outcome::default()));
    let address = serve(&program, None).await;
    let row = world.stages.put_plugin("colors", PluginRequest { masks: None, ..at(address) }).await.unwrap();
    assert_eq!(row.masks, ["title"]);
    let again =
        world.stages.put_plugin("colors", PluginRequest { masks: None, ..at(address) }).await.unwrap();
    assert_eq!(again.generation, row.generation, "nothing changed");
    let wider = world.stages.put_plugin("colors", at(address)).await.unwrap();
    assert!(wider.walk.unwrap().generation > row.walk.unwrap().generation, "it walks over all offers");
    let other = DescribeResponse { stage: "sizes".to_owned(), ..DescribeResponse::default() };
    let named = Shared(Arc::new(Program {
        describes: other,
        answers: Mutex::new(each(|_| Outcome::default())),
        batches: Mutex::default(),
        saved: Mutex::default(),
        refuses_saved: AtomicUsize::new(0),
        hangs: Mutex::default(),
    }));
    let address = serve(&named, None).await;
    let refused = world.stages.put_plugin("colors", at(address)).await.unwrap_err();
    assert!(refused.to_string().contains("is the stage \"sizes\""), "{refused}");
}

#[tokio::test]
async fn a_removed_id_is_taken_until_its_pairs_are_gone() {
    let program = Program::serving(each(|_| with_state("seen")));
    let world = settled(&program).await;
    let offer = world.offer(&seller(1), "lamp", 5).await;
    world.rest().await;
    world.stages.remove("colors").await.unwrap();
    let address = serve(&program, None).await;
    let refused = world.stages.put_plugin("colors", at(address)).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict(_)), "{refused}");
    world.rest().await;
    world.stages.maintain_once().await.unwrap();
    assert_eq!(world.pair(offer.id, "colors").await, None);
    world.stages.put_plugin("colors", at(address)).await.unwrap();
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[tokio::test]
async fn tls_needs_the_right_certificates_on_both_sides() {
    let dir = |name: &str| {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params
    };
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = dir("ca");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_pem = pem("CERTIFICATE", ca.clone().self_signed(&ca_key).unwrap().der());
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let signed = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = dir(name).signed_by(&key, &issuer).unwrap();
        (pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der()))
    };
    let (server, client) = (signed("colors.test"), signed("dvor"));
    let program = Program::serving(each(|_| with_state("seen")));
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&server.0, &server.1))
        .client_ca_root(Certificate::from_pem(&ca_pem));
    let address = serve(&program, Some(tls)).await;
    let with = |tls: TlsRequest| PluginRequest {
        address: format!("https://{address}"),
        tls: Some(tls),
        masks: None,
        ..PluginRequest::default()
    };
    let whole = TlsRequest {
        ca: ca_pem.clone(),
        certificate: client.0.clone(),
        key: client.1.clone(),
        server_name: "colors.test".to_owned(),
    };
    let world = world().await;
    let stages = &world.stages;
    let unsigned = TlsRequest { certificate: String::new(), key: String::new(), ..whole.clone() };
    assert!(stages.put_plugin("colors", with(unsigned)).await.is_err(), "it shows no certificate");
    let misnamed = TlsRequest { server_name: "other.test".to_owned(), ..whole.clone() };
    assert!(stages.put_plugin("colors", with(misnamed)).await.is_err(), "it is somebody else");
    assert_eq!(stages.put_plugin("colors", with(whole)).await.unwrap().masks, ["title"]);
    settle(&world).await;
    let offer = world.offer(&seller(1), "lamp", 5).await;
    world.rest().await;
    assert!(world.pair(offer.id, "colors").await.unwrap().state.is_some());
}
