//! Offers through the whole server: tokens, both ports, and the events that leave.

use model::Content;
use offers::api::grpc::OffersClient;
use reqwest::Method;
use serde_json::{Value, json};
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use wire::model::{Attribute, Value as Typed, value};
use wire::offers::{CreateRequest, GetRequest, LookupRequest, Opinion, SellerRequest, opinion};

use crate::program::{Server, answer, eventually};

fn phone(seller: &str) -> Value {
    json!({
        "seller_id": seller,
        "category": {"id": "smartphones"},
        "title": "iPhone 13",
        "attributes": [{"id": "brand", "value": "Apple"}],
    })
}

#[tokio::test]
async fn an_offer_is_its_sellers_alone_and_its_changes_leave() {
    let server = Server::start();
    let (admin, own, other) = (server.token("admin"), server.token("seller:a"), server.token("seller:b"));
    let create = async |token: &str, seller: &str| {
        answer(server.request(Method::POST, "/v1/offers").bearer_auth(token).json(&phone(seller))).await
    };
    let (status, offer) = create(&own, "a").await;
    assert_eq!(status, 201, "{offer}");
    assert_eq!(create(&other, "a").await.0, 404);
    let path = format!("/v1/offers/{}", offer["id"].as_str().unwrap());
    assert_eq!(server.get(&path).await.0, 401);
    assert_eq!(server.get_as(&other, &path).await.0, 404);
    let patch = server.request(Method::PATCH, &path).bearer_auth(&own).header("if-match", "\"1\"");
    let (status, changed) = answer(patch.json(&json!({"title": "iPhone 13 mini"}))).await;
    assert_eq!((status.as_u16(), &changed["version"]), (200, &json!(2)), "{changed}");

    let records = eventually(async || {
        let records = server.get_as(&admin, "/v1/topics/offers.changes/records").await.1;
        let items = records["items"].as_array().filter(|items| items.len() == 2).cloned();
        items.ok_or_else(|| records.to_string())
    })
    .await;
    assert!(records.iter().all(|record| record["key"] == offer["id"]), "{records:?}");
}

#[derive(Clone)]
struct Token(MetadataValue<tonic::metadata::Ascii>);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

#[tokio::test]
async fn services_speak_grpc() {
    let server = Server::start();
    let (service, seller) = (server.token("service"), server.token("seller:b"));
    let channel = Channel::from_shared(server.grpc.clone()).unwrap().connect().await.unwrap();
    let client = |token: &str| {
        OffersClient::with_interceptor(channel.clone(), Token(format!("Bearer {token}").parse().unwrap()))
    };
    let (mut service, mut stranger) = (client(&service), client(&seller));
    let brand = Typed { kind: Some(value::Kind::Text("Apple".to_owned())) };
    let content = Content {
        category_id: "smartphones".to_owned(),
        title: "iPhone".to_owned(),
        attributes: vec![Attribute { id: "brand".to_owned(), values: vec![brand], ..Attribute::default() }],
        ..Content::default()
    };
    let create = CreateRequest {
        seller_id: "a".to_owned(),
        content: Some(content),
        idempotency_key: "once".to_owned(),
    };
    let offer = service.create(create.clone()).await.unwrap().into_inner();
    assert_eq!(service.create(create.clone()).await.unwrap().into_inner().id, offer.id);
    assert_eq!(stranger.create(create).await.unwrap_err().code(), Code::NotFound);

    let id = offers::changes::printed(offer.id);
    let get = GetRequest { id: id.clone() };
    assert_eq!(service.get(get.clone()).await.unwrap().into_inner(), offer);
    assert_eq!(stranger.get(get).await.unwrap_err().code(), Code::NotFound);
    let broken = service.get(GetRequest { id: "12345678901234567".to_owned() }).await.unwrap_err();
    assert_eq!(broken.code(), Code::InvalidArgument);
    assert_eq!(broken.metadata().get("problem").unwrap(), "bad_offer_id");
    let looked = stranger.lookup(LookupRequest { ids: vec![id.clone()] }).await.unwrap().into_inner();
    assert_eq!((looked.offers.len(), looked.missing), (0, vec![id.clone()]));

    let ban = Opinion { offer_id: id, verdict: opinion::Verdict::Ban.into(), ..Opinion::default() };
    assert_eq!(stranger.opine(ban.clone()).await.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(service.opine(ban).await.unwrap().into_inner().offer.unwrap().version, 2);
    let counts = service.counts(SellerRequest { seller_id: "a".to_owned() }).await.unwrap().into_inner();
    assert_eq!((counts.counts["banned"], counts.counts["active"]), (1, 0));
}

/// A seller uploads a photo and names its address in an offer. To any other seller the address is nothing.
#[tokio::test]
async fn an_uploaded_photo_is_shown_by_its_sellers_offers_alone() {
    let server = Server::start();
    let (own, other) = (server.token("seller:a"), server.token("seller:b"));
    let picture = image::RgbImage::from_fn(64, 48, |x, y| image::Rgb([x as u8, y as u8, 128]));
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let bytes = bytes.into_inner();
    let upload = async |token: &str| {
        let request = server.request(Method::POST, "/v1/sellers/a/photos").bearer_auth(token);
        answer(request.header("content-type", "image/png").body(bytes.clone())).await
    };
    assert_eq!(upload(&other).await.0, 404);
    let (status, uploaded) = upload(&own).await;
    assert_eq!(status, 201, "{uploaded}");
    let address = format!("/photos/{}/1600", uploaded["hash"].as_str().unwrap());
    assert_eq!(uploaded["url"], address);

    for (token, seller, state, code) in
        [(&own, "a", "ready", Value::Null), (&other, "b", "failed", json!("photo_not_uploaded"))]
    {
        let mut body = phone(seller);
        body["photos"] = json!([{"url": address}]);
        let (status, offer) =
            answer(server.request(Method::POST, "/v1/offers").bearer_auth(token).json(&body)).await;
        assert_eq!(status, 201, "{offer}");
        let path = format!("/v1/offers/{}", offer["id"].as_str().unwrap());
        let photo = eventually(async || {
            let (_, offer) = server.get_as(token, &path).await;
            let photo = &offer["photos"][0];
            if photo["state"] == "waiting" { Err(offer.to_string()) } else { Ok(photo.clone()) }
        })
        .await;
        assert_eq!((&photo["url"], &photo["state"]), (&json!(address), &json!(state)), "{photo}");
        assert_eq!(photo["error"]["code"], code, "{photo}");
        assert_eq!(photo["sizes"]["400"].is_object(), state == "ready", "{photo}");
    }
    // A feed or an API that sends anything else of this form is told so.
    let mut body = phone("a");
    body["photos"] = json!([{"url": "/photos/abc/1600"}]);
    let (status, refused) =
        answer(server.request(Method::POST, "/v1/offers").bearer_auth(&own).json(&body)).await;
    assert_eq!((status.as_u16(), &refused["errors"][0]["code"]), (422, &json!("bad_url")), "{refused}");
}
