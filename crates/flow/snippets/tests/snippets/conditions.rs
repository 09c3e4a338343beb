//! Writes that say what they know, and headers that cannot be honoured.

use crate::world::{Answer, World};

const CONFIG: &str = r#"Body { Output: JSON InputSameAsOutput: true
  Section { Name: "a" }
  Section { Name: "org" Body { Recursive: "x" Recursive: "y" Section { Name: "x" } Section { Name: "y" } } } }"#;

async fn put_if(world: &World, path: &str, header: (&str, &str), json: &str) -> Answer {
    world.call("PUT", path, &[("content-type", "json"), header], json.to_owned()).await
}

fn tag(answer: &Answer) -> String {
    answer.headers["etag"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_write_compares_and_swaps() {
    let world = World::of(CONFIG, &[]).await;
    for path in ["/a/1", "/org/1"] {
        put_if(&world, path, ("if-match", "*"), "1").await.is(412);
        world.get(path).await.is(404);
        let made = put_if(&world, path, ("if-none-match", "*"), "1").await;
        made.is(200);
        let refused = put_if(&world, path, ("if-none-match", "*"), "2").await.is(412);
        assert_eq!(refused["type"], "urn:dvor:problem:precondition_failed", "{refused}");
        let first = tag(&world.get(path).await);
        assert_eq!(tag(&made), first, "the answer to a PUT has the tag of what is there now");
        put_if(&world, path, ("if-match", "\"other\""), "2").await.is(412);
        put_if(&world, path, ("if-match", &format!("W/{first}")), "2").await.is(412);
        put_if(&world, path, ("if-match", &format!("\"other\", {first}")), "2").await.is(200);
        put_if(&world, path, ("if-match", &first), "3").await.is(412);
        let second = tag(&world.get(path).await);
        put_if(&world, path, ("if-none-match", &second), "3").await.is(412);
        put_if(&world, path, ("if-none-match", &first), "3").await.is(200);
        world.call("DELETE", path, &[("if-match", &second)], "").await.is(412);
        let third = tag(&world.get(path).await);
        world.call("DELETE", path, &[("if-match", &third)], "").await.is(200);
        world.call("DELETE", path, &[("if-match", "*")], "").await.is(412);
        world.get(path).await.is(404);
    }
    // Bytes have a tag of their own, which is as good.
    world.put("/a/1", "[1]").await.is(200);
    let bytes = world.call("GET", "/a/1", &[("accept", "application/octet-stream")], "").await;
    put_if(&world, "/a/1", ("if-match", &tag(&bytes)), "[2]").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_that_know_the_same_one_wins() {
    let world = World::of(CONFIG, &[]).await;
    world.put("/a/1", "0").await.is(200);
    let known = tag(&world.get("/a/1").await);
    let writers = (1..=20).map(|number| {
        let (world, known) = (&world, &known);
        async move { put_if(world, "/a/1", ("if-match", known), &number.to_string()).await.status }
    });
    let answers = futures::future::join_all(writers).await;
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|status| **status == 412).count(), 19, "{answers:?}");
}

/// A document in one language is not changed by who knows it in another.
#[tokio::test]
async fn a_condition_is_about_the_language_of_the_write() {
    let world = World::of(CONFIG, &[]).await;
    let json = ("content-type", "json");
    world.call("PUT", "/a/1", &[json, ("content-language", "ru")], "1").await.is(200);
    world.call("PUT", "/a/1", &[json, ("content-language", "en")], "2").await.is(200);
    let russian = tag(&world.get("/a/1/ru").await);
    let english = [json, ("content-language", "en"), ("if-match", &russian)];
    world.call("PUT", "/a/1", &english, "3").await.is(412);
    let right = [json, ("content-language", "ru"), ("if-match", &russian)];
    world.call("PUT", "/a/1", &right, "3").await.is(200);
    world.call("PUT", "/a/1", &[json, ("if-none-match", "*")], "4").await.is(200);
}

#[tokio::test]
async fn headers_that_cannot_be_honoured_are_refused() {
    let world = World::of(CONFIG, &[]).await;
    let json = ("content-type", "json");
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Headers<'_>, u16, &str); 6] = [
        (&[json, ("content-encoding", "gzip")], 415, "Content-Encoding"),
        (&[json, ("content-range", "bytes 0-1/5")], 400, "Content-Range"),
        (&[json, json], 400, "content-type is given twice"),
        (
            &[json, ("content-language", "ru"), ("content-language", "en")],
            400,
            "content-language is given twice",
        ),
        (&[json, ("content-encoding", "identity"), ("content-encoding", "gzip")], 400, "is given twice"),
        (&[json, ("content-language", "*")], 400, "only a DELETE"),
    ];
    for (headers, status, words) in cases {
        let refused = world.call("PUT", "/a/1", headers, "1").await.is(status);
        assert!(refused["detail"].as_str().unwrap().contains(words), "{refused}");
    }
    world.get("/a/1").await.is(404);
    world.call("PUT", "/a/1", &[json, ("content-encoding", "identity")], "1").await.is(200);
    let question = r#"{"names": ["a"], "keys": ["1"]}"#;
    world.call("POST", "/-/lookup", &[("content-encoding", "br")], question).await.is(415);
}
