use tonic::Code;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::program::{Server, until};

async fn services(channel: Channel, token: Option<&str>) -> Result<(), Code> {
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut request = tonic::Request::new(tokio_stream(ask));
    if let Some(token) = token {
        let value: MetadataValue<_> = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
    }
    let answer = ServerReflectionClient::new(channel).server_reflection_info(request).await;
    let mut answers = answer.map_err(|status| status.code())?.into_inner();
    let listed = answers.message().await.map_err(|status| status.code())?.unwrap();
    let Some(MessageResponse::ListServicesResponse(services)) = listed.message_response else {
        panic!("no list: {listed:?}");
    };
    assert!(services.service.iter().any(|service| service.name == "dvor.offers.v1.Offers"), "{services:?}");
    Ok(())
}

fn tokio_stream(ask: ServerReflectionRequest) -> impl futures::Stream<Item = ServerReflectionRequest> {
    futures::stream::iter([ask])
}

#[tokio::test]
async fn health_is_open_and_the_rest_needs_a_token() {
    let server = Server::start();
    let channel = Channel::from_shared(server.grpc.clone()).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel.clone());
    let state = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(state.status(), tonic_health::pb::health_check_response::ServingStatus::Serving);
    assert_eq!(services(channel.clone(), None).await, Ok(()));

    let token = server.token("service");
    until("the door is closed", async || services(channel.clone(), None).await == Err(Code::Unauthenticated))
        .await;
    assert_eq!(services(channel.clone(), Some("dvor_00_00")).await, Err(Code::Unauthenticated));
    assert_eq!(services(channel.clone(), Some(&token)).await, Ok(()));
    assert!(health.check(HealthCheckRequest::default()).await.is_ok());
}
