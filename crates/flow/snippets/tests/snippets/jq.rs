//! jq programs that would never end, fill the memory or the stack: the content is refused, and the server goes on.

use serde_json::{Value, json};

use crate::world::World;

/// Puts content through a program; what came back.
async fn put(program: &str, content: &str) -> (u16, Value) {
    let config =
        r#"Body { Output: JSON InputSameAsOutput: true SpecialConvertor: "jq:a.jq" Section { Name: "a" } }"#;
    let world = World::of(config, &[("a.jq", program)]).await;
    let answer = world.put("/a/1", content).await;
    let stored = world.get("/a/1").await;
    assert_eq!(stored.status == 200, answer.status == 200, "{program}");
    let detail = answer.json()["detail"].clone();
    (answer.status, if answer.status == 200 { stored.json()["a"].clone() } else { detail })
}

async fn is_refused(program: &str, content: &str, words: &str) {
    let (status, detail) = put(program, content).await;
    assert_eq!(status, 422, "{program}: {detail}");
    assert!(detail.as_str().unwrap().starts_with(words), "{program}: {detail}");
}

#[tokio::test]
async fn a_program_that_never_ends_is_stopped() {
    for program in [
        "def f: f; f",
        "[range(1e18)]",
        "last(range(0; infinite))",
        "[limit(1e18; repeat(0))]",
        "reduce repeat(1) as $x (0; . + $x)",
        "until(false; . + 1)",
    ] {
        is_refused(program, "1", "a: the jq program was stopped: it took ").await;
    }
}

#[tokio::test]
async fn deep_calls_and_deep_values_do_not_overflow_the_stack() {
    is_refused("def f: 1 + f; f", "1", "a: the jq program was stopped: ").await;
    is_refused("def f: [f]; f", "1", "a: the jq program was stopped: ").await;
    // Hundreds of thousands of levels, dropped when the program is stopped.
    let deepest = "reduce range(1e9) as $i (null; [[[[[[[[.]]]]]]]])";
    is_refused(deepest, "1", "a: the jq program was stopped: ").await;
    let deep = "reduce range(30000) as $i (null; [.])";
    is_refused(deep, "1", "a: the output of the jq program is nested more than 127 times").await;
    is_refused(&format!("error({deep})"), "1", "a: the jq program fails with an error that is nested").await;
    assert_eq!(put(&format!("{deep} | tojson | length"), "1").await, (200, json!(60_004)));
    let nested = json!({"text": "[".repeat(1_000_000)}).to_string();
    is_refused(".text | fromjson", &nested, "a: this is not JSON: recursion limit exceeded").await;
}

#[tokio::test]
async fn a_large_output_is_refused() {
    // A few steps make a text of 2^70 characters, were it written down.
    is_refused(
        "reduce range(70) as $i (\"x\"; [., .])",
        "1",
        "a: the output of the jq program is over 4194304",
    )
    .await;
    is_refused("\"x\" * 5000000", "1", "a: the output of the jq program is over 4194304 bytes").await;
    is_refused("repeat(1)", "1", "a: the jq program gave several outputs, not one").await;
}

#[tokio::test]
async fn programs_still_do_what_they_did() {
    for (program, content, made) in [
        ("[range(3)]", "1", json!([0, 1, 2])),
        ("[range(5; 0; -2)]", "1", json!([5, 3, 1])),
        ("[range(0; 1; 0.5)]", "1", json!([0, 0.5])),
        (".a | fromjson", r#"{"a": "{\"b\": [1, null]}"}"#, json!({"b": [1, null]})),
        ("\"12\" | tonumber", "1", json!(12)),
        ("[limit(3; repeat(7))]", "1", json!([7, 7, 7])),
        ("try error(\"x\") catch .", "1", json!("x")),
        ("[.[] | select(. > 1)] | add", "[1, 2, 3]", json!(5)),
    ] {
        assert_eq!(put(program, content).await, (200, made), "{program}");
    }
    is_refused("halt", "1", "a: the jq program halts").await;
    is_refused("error({a: 1})", "1", "a: {\"a\":1}").await;
    is_refused(".a.b", "[1]", "a: cannot index [1] with \"a\"").await;
}

#[tokio::test]
async fn an_output_that_is_not_json_is_the_programs_fault() {
    for (program, shown) in [("nan", "NaN"), ("{a: [nan]}", "{\"a\":[NaN]}"), ("infinite", "Infinity")] {
        let words = format!("a: the output of the jq program is not JSON: {shown}");
        is_refused(program, "1", &words).await;
    }
}
