use std::net::SocketAddr;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use reqwest::Method;
use tokio::sync::mpsc;
use tonic::{Request, Response, Status};

use crate::program::{Server, answer};

/// Stands in for a collector and hands on what it is given.
struct Collector(mpsc::UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).map_err(|_| Status::cancelled("the test is over"))?;
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn collector() -> (SocketAddr, mpsc::UnboundedReceiver<ExportTraceServiceRequest>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let incoming = tonic::transport::server::TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let service = TraceServiceServer::new(Collector(sender));
    tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
    (address, receiver)
}

#[tokio::test]
async fn traces_reach_a_collector_and_continue_the_callers() {
    let (address, mut exports) = collector();
    let server = Server::start_with(|command| {
        command
            .env("DVOR_OTEL__ENDPOINT", format!("http://{address}"))
            .env("DVOR_OTEL__SERVICE_NAME", "shop");
    });
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let call = server.request(Method::GET, "/v1/topics").header("traceparent", traceparent);
    assert_eq!(answer(call).await.0, 200);
    // What waits to be exported goes out at the end.
    server.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || server.ended().0);
    let mut found = false;
    while let Ok(Some(export)) =
        tokio::time::timeout(std::time::Duration::from_secs(20), exports.recv()).await
    {
        for spans in &export.resource_spans {
            assert!(format!("{:?}", spans.resource).contains("shop"));
            let spans = spans.scope_spans.iter().flat_map(|scope| &scope.spans);
            found |= spans.into_iter().any(|span| {
                span.name == "GET /v1/topics"
                    && span.trace_id == 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes()
            });
        }
        if found {
            break;
        }
    }
    assert!(found, "no span of the call arrived");
    assert_eq!(ended.await.unwrap(), 0);
}

#[tokio::test]
async fn logs_are_json_lines_when_nobody_watches() {
    let server = Server::start();
    let log = server.log();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
    assert!(
        lines.iter().any(|line| line["level"] == "WARN" && line.to_string().contains("no access token")),
        "{log}"
    );
    assert!(lines.iter().any(|line| line["message"] == "ready" && line["http"].is_string()), "{log}");
}
