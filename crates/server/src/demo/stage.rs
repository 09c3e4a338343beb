//! A stage of somebody else's program: it writes a description for offers that have none, and cannot do so for some.
//!
//! It is served over gRPC on a port of its own, as any plug-in is, and registered by the same function as the API's.

use anyhow::{Context as _, Result};
use kit::Tasks;
use model::{Content, Offer};
use stages::api::grpc::{StageServer, StageService};
use stages::api::{PluginRequest, SavedWish};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use wire::Any;
use wire::stages::outcome::{State, Update};
use wire::stages::{
    DescribeRequest, DescribeResponse, Job, OnSavedRequest, OnSavedResponse, Outcome, Patch, ProcessRequest,
    ProcessResponse, Question, ShouldProcessRequest, ShouldProcessResponse, Wanted, wanted,
};

use crate::app::App;

const ID: &str = "describe";
/// Of so many offers, one is too hard and one may be easier later.
const HARD: i64 = 5;

/// Serves the stage until the tasks end, and registers it.
pub(super) async fn open(app: &App, tasks: &Tasks) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("a port for the sample stage")?;
    let address = format!("http://{}", listener.local_addr().context("its address")?);
    let shutdown = tasks.shutdown().clone();
    tasks.spawn("demo stage", async move {
        let served = Server::builder().add_service(StageServer::new(Describer)).serve_with_incoming_shutdown(
            TcpIncoming::from(listener),
            async move { shutdown.called().await },
        );
        if let Err(error) = served.await {
            tracing::warn!("the sample stage ended: {error}");
        }
    });
    let request = PluginRequest {
        address,
        calls_per_second: 50.0,
        parallel: 4,
        deadline_ms: 1_000,
        saved: SavedWish::Call,
        ..PluginRequest::default()
    };
    app.stages.put_plugin(ID, request).await.context("register the sample stage")?;
    Ok(())
}

struct Describer;

#[tonic::async_trait]
impl StageService for Describer {
    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(DescribeResponse {
            stage: ID.to_owned(),
            description: "Writes a description for offers that have none".to_owned(),
            version: "1".to_owned(),
            masks: vec!["title".to_owned(), "description".to_owned()],
        }))
    }

    async fn should_process(
        &self,
        request: Request<ShouldProcessRequest>,
    ) -> Result<Response<ShouldProcessResponse>, Status> {
        let answer = |item: Question| {
            let offer = item.offer.unwrap_or_default();
            let kind = if lacks_description(&offer) { wanted::Kind::Yes } else { wanted::Kind::No };
            Wanted { offer_id: offer.id, kind: kind.into(), at: 0 }
        };
        let answers = request.into_inner().items.into_iter().map(answer).collect();
        Ok(Response::new(ShouldProcessResponse { answers }))
    }

    async fn process(&self, request: Request<ProcessRequest>) -> Result<Response<ProcessResponse>, Status> {
        let answers = request.into_inner().items.into_iter().map(run).collect();
        Ok(Response::new(ProcessResponse { answers }))
    }

    async fn on_saved(&self, _: Request<OnSavedRequest>) -> Result<Response<OnSavedResponse>, Status> {
        Ok(Response::new(OnSavedResponse {}))
    }
}

fn lacks_description(offer: &Offer) -> bool {
    offer.content.as_ref().is_some_and(|content| content.description.is_empty())
}

fn run(job: Job) -> Outcome {
    let offer = job.offer.unwrap_or_default();
    let answer = Outcome { offer_id: offer.id, ..Outcome::default() };
    if !lacks_description(&offer) {
        return answer;
    }
    let title = offer.content.unwrap_or_default().title;
    let words = title.split_whitespace().count();
    match offer.id % HARD {
        0 => return Outcome { error: format!("no words for {title:?}"), r#final: true, ..answer },
        1 => return Outcome { error: "the dictionary is lent out; try again".to_owned(), ..answer },
        _ => {}
    }
    let content = Content {
        description: format!("{title}. Спрашивайте, всё расскажем."),
        ..Content::default()
    };
    let values = Offer { content: Some(content), ..Offer::default() };
    let patch = Patch { paths: vec!["description".to_owned()], values: Some(values) };
    let state = Any { type_url: "dvor.demo/Words".to_owned(), value: words.to_string().into_bytes() };
    Outcome { update: Some(Update::Patch(patch)), state: Some(State::NewState(state)), ..answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: i64, description: &str) -> Job {
        let content =
            Content {
                title: "Лампа".to_owned(), description: description.to_owned(), ..Content::default()
            };
        Job { offer: Some(Offer { id, content: Some(content), ..Offer::default() }), state: None }
    }

    #[test]
    fn most_get_a_description_and_some_fail() {
        assert!(run(job(10, "")).r#final);
        let later = run(job(11, ""));
        assert!(!later.error.is_empty() && !later.r#final);
        let Some(Update::Patch(patch)) = run(job(12, "")).update else { panic!("no patch") };
        assert_eq!(patch.paths, ["description"]);
        assert_eq!(run(job(12, "Есть")), Outcome { offer_id: 12, ..Outcome::default() });
    }
}
