//! A stage of another program, reached over gRPC.
//!
//! - A call that cannot be made at all, or that the program does not want now, says nothing about any offer: the stage is
//!   [`Unavailable`], no run counts as tried. Such a call is made again at once, twice; what it asks for is pure.
//! - A call that the program refuses, or answers with nonsense, is made again in halves until the offers that cause it are
//!   found; they fail, the others run.
//! - Messages are bounded both ways; the scheduler bounds the time.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};
use wire::stages::{
    DescribeRequest, DescribeResponse, OnSavedRequest, ProcessRequest, RegistryRow, SavedRun,
    ShouldProcessRequest,
};

use super::answers::{answer, calls, check_order, outcome, question, size, wire_job};
use super::grpc::StageClient;
use crate::config::Settings;
use crate::directory::Connect;
use crate::stage::{Answer, Failed, Fields, Job, Outcome, Port, Unavailable};

/// Largest answer; a hundred offers of the largest kind fit.
const MAX_ANSWER_BYTES: usize = 32 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A connection is looked at this often, so that one that broke without a word is not waited for.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Waits before a call that could not be made is made again.
const RETRIES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(100)];
/// Refused calls of a batch that are made again in halves.
const MAX_SPLITS: usize = 32;

/// How the stages of other programs are reached.
pub fn connect(settings: &Settings) -> Box<Connect> {
    let settings = settings.clone();
    Box::new(move |id, row| {
        if row.address.is_empty() {
            // What is told to it waits for a process that has it.
            let error = "it comes with another version of the program".to_owned();
            return Some(Arc::new(Unreachable(error)));
        }
        let deadline = match row.deadline_ms {
            0 => settings.deadline,
            ms => Duration::from_millis(u64::from(ms)),
        };
        Some(match Plugin::new(id, row, settings.ask_timeout, deadline) {
            Ok(plugin) => Arc::new(plugin) as Arc<dyn Port>,
            Err(error) => Arc::new(Unreachable(error)),
        })
    })
}

/// What the program at an address says of itself.
pub(crate) async fn describe(id: &str, row: &RegistryRow) -> Result<DescribeResponse, String> {
    let plugin = Plugin::new(id, row, CONNECT_TIMEOUT, CONNECT_TIMEOUT)?;
    let described = tokio::time::timeout(2 * CONNECT_TIMEOUT, plugin.describe()).await;
    match described {
        Ok(answer) => answer.map_err(|refused| refused.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

pub(crate) struct Plugin {
    id: String,
    client: StageClient<Channel>,
    ask_timeout: Duration,
    deadline: Duration,
}

/// Why a call came to nothing.
enum Refused {
    /// It says nothing about what was asked.
    Away(String),
    /// It failed because of what was asked, or of how it was answered.
    Content(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Away(text) | Self::Content(text) => f.write_str(text),
        }
    }
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        let text = match status.message() {
            "" => format!("{:?}", status.code()),
            message => format!("{:?}: {message}", status.code()),
        };
        // What the program itself answers has no other cause.
        let is_away = status.source().is_some()
            || matches!(
                status.code(),
                Code::Unavailable
                    | Code::DeadlineExceeded
                    | Code::Cancelled
                    | Code::Aborted
                    | Code::ResourceExhausted
                    | Code::Unauthenticated
                    | Code::PermissionDenied
                    | Code::Unimplemented
            );
        match status.source().map(cause) {
            Some(cause) if is_away => Self::Away(format!("{text}: {cause}")),
            _ if is_away => Self::Away(text),
            _ => Self::Content(text),
        }
    }
}

/// The innermost reason, such as «connection refused».
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl Plugin {
    fn new(id: &str, row: &RegistryRow, ask_timeout: Duration, deadline: Duration) -> Result<Self, String> {
        let channel = endpoint(row)?.connect_lazy();
        let client = StageClient::new(channel).max_decoding_message_size(MAX_ANSWER_BYTES);
        Ok(Self { id: id.to_owned(), client, ask_timeout, deadline })
    }

    async fn describe(&self) -> Result<DescribeResponse, Refused> {
        let asked = DescribeRequest { stage: self.id.clone() };
        let call = || {
            let (mut client, request) = (self.client.clone(), request(asked.clone(), self.deadline));
            async move { client.describe(request).await }
        };
        Ok(again(call).await?.into_inner())
    }

    async fn ask(&self, jobs: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Refused> {
        let asked = ShouldProcessRequest {
            stage: self.id.clone(),
            now: jobs.first().map_or(0, |(job, _)| job.now.0),
            items: jobs.iter().map(|(job, changed)| question(job, changed)).collect(),
        };
        let call = || {
            let (mut client, request) = (self.client.clone(), request(asked.clone(), self.ask_timeout));
            async move { client.should_process(request).await }
        };
        let answers = match again(call).await {
            // Who leaves it out wants to be run after every change.
            Err(status) if status.code() == Code::Unimplemented && status.source().is_none() => {
                return Ok(vec![Answer::Yes; jobs.len()]);
            }
            answers => answers?.into_inner().answers,
        };
        let ids = jobs.iter().map(|(job, _)| job.offer.id);
        check_order(ids, answers.iter().map(|answer| answer.offer_id)).map_err(Refused::Content)?;
        Ok(answers.iter().map(answer).collect())
    }

    async fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Refused> {
        let asked = ProcessRequest {
            stage: self.id.clone(),
            now: jobs.first().map_or(0, |job| job.now.0),
            items: jobs.iter().map(wire_job).collect(),
        };
        let call = || {
            let (mut client, request) = (self.client.clone(), request(asked.clone(), self.deadline));
            async move { client.process(request).await }
        };
        let answers = again(call).await?.into_inner().answers;
        let ids = jobs.iter().map(|job| job.offer.id);
        check_order(ids, answers.iter().map(|answer| answer.offer_id)).map_err(Refused::Content)?;
        Ok(jobs.iter().zip(answers).map(|(job, said)| outcome(job, said)).collect())
    }
}

#[async_trait]
impl Port for Plugin {
    async fn should_process(&self, jobs: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Unavailable> {
        let mut answers = Vec::with_capacity(jobs.len());
        for range in calls(jobs.iter().map(|(job, _)| size(job))) {
            match self.ask(&jobs[range.clone()]).await {
                Ok(said) => answers.extend(said),
                Err(Refused::Away(error)) => return Err(Unavailable(error)),
                // They are run all the same, and it shows there which of them it is.
                Err(Refused::Content(error)) => {
                    tracing::warn!(stage = self.id, error, "a stage did not say what it wants");
                    answers.extend(range.map(|_| Answer::Yes));
                }
            }
        }
        Ok(answers)
    }

    async fn process(&self, jobs: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Unavailable> {
        let mut results = Vec::with_capacity(jobs.len());
        let mut splits = 0;
        let mut left = calls(jobs.iter().map(size));
        left.reverse();
        while let Some(range) = left.pop() {
            match self.run(&jobs[range.clone()]).await {
                Ok(outcomes) => results.extend(outcomes),
                Err(Refused::Away(error)) => return Err(Unavailable(error)),
                Err(Refused::Content(_)) if range.len() > 1 && splits < MAX_SPLITS => {
                    splits += 1;
                    let middle = range.start + range.len() / 2;
                    left.extend([middle..range.end, range.start..middle]);
                }
                Err(Refused::Content(error)) => {
                    results.extend(range.map(|_| Err(Failed::from(error.clone()))));
                }
            }
        }
        Ok(results)
    }

    async fn on_saved(&self, run: &SavedRun) -> Result<Result<(), String>, Unavailable> {
        let SavedRun { offer, state, state_version, saved_at, .. } = run.clone();
        let told = OnSavedRequest { stage: self.id.clone(), offer, state, state_version, saved_at };
        let call = || {
            let (mut client, request) = (self.client.clone(), request(told.clone(), self.deadline));
            async move { client.on_saved(request).await }
        };
        match again(call).await.map_err(Refused::from) {
            Ok(_) => Ok(Ok(())),
            Err(Refused::Content(error)) => Ok(Err(error)),
            Err(Refused::Away(error)) => Err(Unavailable(error)),
        }
    }

    async fn probe(&self) -> Result<(), Unavailable> {
        match self.describe().await {
            Ok(_) | Err(Refused::Content(_)) => Ok(()),
            Err(Refused::Away(error)) => Err(Unavailable(error)),
        }
    }
}

/// A call with its time.
fn request<T>(message: T, timeout: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(timeout);
    request
}

/// Makes a call, and makes it again if it could not be made.
async fn again<T, F: Future<Output = Result<T, Status>> + Send>(
    mut call: impl FnMut() -> F + Send,
) -> Result<T, Status> {
    for wait in RETRIES {
        match call().await {
            Err(status) if status.code() == Code::Unavailable => tokio::time::sleep(wait).await,
            done => return done,
        }
    }
    call().await
}

fn endpoint(row: &RegistryRow) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(row.address.clone()).map_err(|error| error.to_string())?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .user_agent(concat!("dvor/", env!("CARGO_PKG_VERSION")))
        .map_err(|error| error.to_string())?;
    if !row.address.starts_with("https://") {
        return Ok(endpoint);
    }
    let tls = row.tls.clone().unwrap_or_default();
    let mut config = ClientTlsConfig::new();
    config = match tls.ca.as_str() {
        "" => config.with_native_roots(),
        ca => config.ca_certificate(Certificate::from_pem(ca)),
    };
    if !tls.certificate.is_empty() {
        config = config.identity(Identity::from_pem(&tls.certificate, &tls.key));
    }
    if !tls.server_name.is_empty() {
        config = config.domain_name(&tls.server_name);
    }
    endpoint.tls_config(config).map_err(|error| format!("TLS: {}", cause(&error)))
}

/// An address that cannot be spoken to, with the reason.
struct Unreachable(String);

#[async_trait]
impl Port for Unreachable {
    async fn should_process(&self, _: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Unavailable> {
        Err(Unavailable(self.0.clone()))
    }

    async fn process(&self, _: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Unavailable> {
        Err(Unavailable(self.0.clone()))
    }

    async fn on_saved(&self, _: &SavedRun) -> Result<Result<(), String>, Unavailable> {
        Err(Unavailable(self.0.clone()))
    }

    async fn probe(&self) -> Result<(), Unavailable> {
        Err(Unavailable(self.0.clone()))
    }
}

/// Whether the address and its TLS can be spoken to at all.
pub(crate) fn check_reach(row: &RegistryRow) -> Result<(), String> {
    endpoint(row).map(drop)
}
