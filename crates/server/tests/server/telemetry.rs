use std::net::SocketAddr;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use reqwest::Method;
use serde_json::json;
use tokio::sync::mpsc;
use tonic::{Request, Response, Status};

use crate::program::{Server, answer, eventually};

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

/// From the upload through offers, united and silver to gold: one trace, however many transactions and topics lie between.
#[tokio::test]
async fn one_trace_goes_from_the_upload_to_gold() {
    let (address, mut exports) = collector();
    let server = Server::start_with(|command| {
        command.env("DVOR_OTEL__ENDPOINT", format!("http://{address}"));
    });
    let admin = server.token("admin");
    let shop = json!({"seller_id": "north", "colour": "BLUE"});
    let map = server.request(Method::PUT, "/v1/businesses/7/shops/1").bearer_auth(&admin).json(&shop);
    assert_eq!(answer(map).await.0, 200);
    let line = json!({"id": "sofa-1", "title": "Диван угловой", "category": "Диваны", "price": "15000",
        "address": "Москва", "weight": {"value": "30", "unit": "kg"}});
    let upload = server
        .request(Method::POST, "/v1/sellers/north/feeds/default/uploads?name=goods.jsonl")
        .bearer_auth(&admin)
        .header("traceparent", "00-1bf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .body(format!("{line}\n"));
    let (status, said) = answer(upload).await;
    assert_eq!(status, 202, "{said}");
    eventually(async || {
        let (status, gold) = server.get_as(&admin, "/v1/gold/7/sofa-1").await;
        if status == 200 { Ok(()) } else { Err(gold.to_string()) }
    })
    .await;
    // What waits to be exported goes out at the end.
    server.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || server.ended().0);
    let wanted = [
        "POST /v1/sellers/{seller}/feeds/{namespace}/uploads",
        "process load",
        "apply feed.offers",
        "apply united.parts",
        "apply united.offers",
        "make gold",
    ];
    let trace = 0x1bf7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes();
    let mut spans = Vec::new();
    let missing = |spans: &[Span]| {
        let is_there = |name: &&str| !spans.iter().any(|span| span.name == *name);
        wanted.into_iter().filter(is_there).collect::<Vec<_>>()
    };
    while !missing(&spans).is_empty() {
        let export = tokio::time::timeout(std::time::Duration::from_secs(20), exports.recv()).await;
        let Ok(Some(export)) = export else { break };
        let all = export.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        spans.extend(all.flat_map(|scope| scope.spans).filter(|span| span.trace_id == trace));
    }
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(missing(&spans), Vec::<&str>::new(), "of the trace there is {names:?}");
    // Each goes on from another of the same trace: the caller's span is the only one outside.
    let ids: Vec<_> = spans.iter().map(|span| span.span_id.clone()).collect();
    let of_the_way = spans.iter().filter(|span| wanted.contains(&span.name.as_str()));
    let begins: Vec<_> = of_the_way.filter(|span| !ids.contains(&span.parent_span_id)).collect();
    assert!(begins.iter().all(|span| span.name == wanted[0]), "{begins:?}");
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
