//! Feeds through the whole program: upload and fetch, processor, offers, results, history.

pub mod client;
mod errors;
mod limits;
mod scenario;
mod shop;
mod verbs;
mod zip;

use crate::program::Server;

const LINES: &str = "{\"id\":\"1\",\"title\":\"Смартфон Galaxy S24 256 ГБ\",\"category\":\"Смартфоны\",\"price\":\"64990\",\"address\":\"Москва\"}\n\
{\"id\":\"2\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":\"15000\",\"address\":\"Новосибирск\"}\n\
{\"id\":\"2\",\"title\":\"Диван угловой\",\"category\":\"Диваны\",\"price\":\"15000\",\"address\":\"Новосибирск\"}\n\
{\"id\":\"3\",\"title\":\"\",\"price\":\"1\"}\n";

#[test]
fn an_uploaded_file_is_followed_to_its_statistics() {
    let server = Server::start();
    let file = server.data.path().join("goods.jsonl");
    std::fs::write(&file, LINES).unwrap();
    let file = file.to_str().unwrap();
    let upload = |more: &[&str]| {
        let said = server.command(&[&["feed", "upload", file, "--seller", "shop", "--json"], more].concat());
        assert_eq!(said.code, 0, "{said:?}\n{}", server.log());
        said.json()
    };
    let load = upload(&["--watch"]);
    let found = &load["statistics"];
    assert_eq!(load["status"], "succeeded", "{load}");
    assert_eq!((&found["total"], &found["duplicate"]), (&4.into(), &1.into()), "{load}");
    assert!(found["rejected"].as_i64().unwrap() >= 1, "{load}");
    let again = upload(&["--watch"]);
    assert_eq!(again["statistics"]["created"], 0, "{again}");
    assert_eq!(again["statistics"]["unchanged"], found["created"], "{again}");

    let missing = server.command(&["feed", "upload", "no-such-file", "--seller", "shop"]);
    missing.refused(3, &["no-such-file cannot be read"]);
}
