use reqwest::Method;
use serde_json::{Value, json};

use crate::program::{Server, answer};

#[tokio::test]
async fn records_are_published_read_by_groups_and_committed() {
    let server = Server::start();
    assert_eq!(answer(server.request(Method::PUT, "/v1/topics/orders")).await.0, 200);
    let records: Vec<_> = (0..5)
        .map(|n| json!({"key": "k", "payload": {"n": n}, "headers": [{"name": "h", "value": "v"}]}))
        .collect();
    let (status, placed) = server.post("/v1/topics/orders/records", json!({"records": records})).await;
    assert_eq!(status, 201, "{placed}");
    let partition = placed["items"][0]["partition"].clone();
    assert_eq!(placed["items"][4], json!({"partition": partition, "offset": 4}));

    let read = async |query: &str| {
        let (status, page) = server.get(&format!("/v1/topics/orders/records?{query}")).await;
        assert_eq!(status, 200, "{page}");
        let numbers =
            page["items"].as_array().unwrap().iter().map(|record| record["payload"]["n"].as_i64().unwrap());
        (numbers.collect::<Vec<_>>(), page["next_cursor"].clone())
    };
    assert_eq!(read("group=g&limit=3").await.0, [0, 1, 2]);
    let body = json!({"group": "g", "positions": [{"partition": partition, "next": 3}]});
    assert_eq!(server.post("/v1/topics/orders/commit", body).await.0, 204);
    assert_eq!(read("group=g").await.0, [3, 4]);
    assert_eq!(read("group=other").await.0, [0, 1, 2, 3, 4]);

    // Without a group: the last ones, and then what comes.
    let (last, cursor) = read("limit=2").await;
    assert_eq!(last, [3, 4]);
    let more = json!({"records": [{"key": "k", "payload": {"n": 5}}]});
    assert_eq!(server.post("/v1/topics/orders/records", more).await.0, 201);
    let (next, cursor) = read(&format!("cursor={}", cursor.as_str().unwrap())).await;
    assert_eq!(next, [5]);
    assert_eq!(read(&format!("cursor={}", cursor.as_str().unwrap())).await.0, [0_i64; 0]);

    let (_, groups) = server.get("/v1/topics/orders/groups").await;
    let lag =
        groups["items"].as_array().unwrap().iter().find(|item| item["group"] == "g").unwrap()["lag"].clone();
    assert_eq!(lag, 3);
}

#[tokio::test]
async fn wrong_questions_are_answered_as_problems() {
    let server = Server::start();
    answer(server.request(Method::PUT, "/v1/topics/t")).await;
    let status = async |path: &str, body: Value| server.post(path, body).await.0.as_u16();
    assert_eq!(status("/v1/topics/none/records", json!({"records": [{"payload": 1}]})).await, 404);
    assert_eq!(
        status("/v1/topics/t/records", json!({"records": [{"payload": 1, "encoding": "text"}]})).await,
        422
    );
    assert_eq!(
        status("/v1/topics/t/records", json!({"records": [{"payload": "%%", "encoding": "base64"}]})).await,
        422
    );
    assert_eq!(status("/v1/topics/t/records", json!({"record": []})).await, 422);
    let far = json!({"group": "g", "positions": [{"partition": 9999, "next": 0}]});
    assert_eq!(status("/v1/topics/t/commit", far).await, 422);
    assert_eq!(server.get("/v1/topics/t/records?group=g&cursor=0").await.0, 422);
    assert_eq!(server.get("/v1/topics/t/records?cursor=x").await.0, 422);
    assert_eq!(server.get("/v1/topics/t/records?limit=0").await.0, 422);
    assert_eq!(server.get("/v1/topics/t/records?group=a%20b").await.0, 422);
}
