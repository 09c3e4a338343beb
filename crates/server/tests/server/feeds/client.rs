//! Feeds as a client of the API sees them.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::program::{Server, answer, eventually};

/// A server that may call the shop, which is on this machine.
pub fn server() -> Server {
    Server::start_with(|command| {
        command.args(["--allow-private-addresses", "127.0.0.0/8"]);
        command.env("DVOR_FEEDS__MIN_PERIOD_MINUTES", "1");
    })
}

/// One feed of one seller.
pub struct Feed<'a> {
    pub server: &'a Server,
    pub seller: &'static str,
    pub namespace: &'static str,
    /// `None`: no token is needed yet.
    pub token: Option<String>,
}

impl<'a> Feed<'a> {
    pub fn of(server: &'a Server, namespace: &'static str) -> Self {
        Self { server, seller: "shop", namespace, token: None }
    }

    /// Calls a path below the feed's.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let path = format!("/v1/sellers/{}/feeds/{}{path}", self.seller, self.namespace);
        let mut request = self.server.request(method, &path);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        answer(request).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub async fn put(&self, settings: Value) -> Value {
        let (status, body) = self.call(Method::PUT, "", Some(&settings)).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// A verb that must be answered so.
    pub async fn post(&self, path: &str, expected: u16) -> Value {
        let (status, body) = self.call(Method::POST, path, None).await;
        assert_eq!(status, expected, "{path}: {body}");
        body
    }

    pub async fn upload(&self, body: &str) -> (StatusCode, Value) {
        let path = format!("/v1/sellers/{}/feeds/{}/uploads?name=goods", self.seller, self.namespace);
        let mut request = self.server.request(Method::POST, &path).body(body.to_owned());
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        answer(request).await
    }

    /// Uploads and waits until the load has ended, or waits for a person.
    pub async fn load(&self, body: &str) -> Value {
        let (status, load) = self.upload(body).await;
        assert_eq!(status, 202, "{load}");
        self.ended(load["task_id"].as_str().unwrap()).await
    }

    pub async fn ended(&self, task_id: &str) -> Value {
        let path = format!("/tasks/{task_id}");
        self.until(&path, |load| !["queued", "in_progress"].contains(&load["status"].as_str().unwrap())).await
    }

    /// Asks again until the answer is as wanted.
    pub async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(async || {
            let answer = self.get(path).await;
            let seen = || format!("{path}: {answer}\n{}", self.server.log());
            if wanted(&answer) { Ok(answer) } else { Err(seen()) }
        })
        .await
    }

    /// Prices of the feed's own offers by external id.
    pub async fn offers(&self) -> BTreeMap<String, String> {
        let all = self.all_offers().await;
        let own = all.iter().filter(|offer| offer["origin"]["namespace"] == self.namespace);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        own.map(|offer| (text(&offer["origin"]["external_id"]), text(&offer["price"]["amount"]))).collect()
    }

    /// The offers of the seller, wherever they come from.
    pub async fn all_offers(&self) -> Vec<Value> {
        let path = format!("/v1/sellers/{}/offers?preset=all&limit=100", self.seller);
        let mut request = self.server.request(Method::GET, &path);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let (status, page) = answer(request).await;
        assert_eq!((status, page["next_cursor"].as_str()), (StatusCode::OK, None), "{page}");
        page["items"].as_array().unwrap().clone()
    }
}

/// Lines of goods that every check accepts: (id, price).
pub fn goods(goods: impl IntoIterator<Item = (u32, u32)>) -> String {
    let line = |(id, price)| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":\"{price}\",\"address\":\"Новосибирск\"}}\n"
        )
    };
    goods.into_iter().map(line).collect()
}

pub async fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    eventually(async || look().ok_or_else(|| what.to_owned())).await
}

/// The name of a problem.
pub fn problem(body: &Value) -> &str {
    let kind = body["type"].as_str().unwrap_or_default();
    kind.strip_prefix("urn:dvor:problem:").unwrap_or_else(|| panic!("this is no problem: {body}"))
}
