//! Refusals of what nothing would ever use, or what would go wrong only later, each with its place.

use snippets::Registry;
use snippets::config::{Assets, Draft};

use crate::world::World;

const FILES: &[(&str, &str)] = &[
    ("a.json", "{}"),
    ("same.jq", "."),
    ("m.proto", "syntax = \"proto3\"; message M { string id = 1; int64 v = 2; }"),
];

fn read(text: &str) -> Result<Draft, String> {
    Draft::read(text, Assets::Embedded(FILES), &Registry::shipped()).map_err(|error| error.to_string())
}

fn check(text: &str, expected: &str) {
    let found = read(text).map(|draft| draft.snippets().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(found, Err(expected.to_owned()), "{text}");
}

/// The options in the second line, at the snippet `a`.
fn of_snippet(options: &str, expected: &str) {
    let text = format!(
        "Body {{ Output: JSON InputSameAsOutput: true\nSection {{ Name: \"a\" Body {{\n{options} }} }} }}"
    );
    check(&text, expected);
}

/// The options in the second line, at the root, and at a group, where the snippet below overrides what can be.
fn unused(options: &str, below: &str, reason: &str) {
    let snippet = format!("Section {{ Name: \"x\" Body {{ {below} }} }}");
    let root = format!("Body {{ Output: JSON InputSameAsOutput: true\n{options}\n{snippet} }}");
    check(&root, &format!("line 2, column 1: {}", reason.replace("NAME", "the root")));
    let group = format!(
        "Body {{ Output: JSON InputSameAsOutput: true Section {{ Name: \"g\" Body {{\n{options}\n{snippet} }} }} }}"
    );
    check(&group, &format!("line 2, column 1: {}", reason.replace("NAME", "g")));
}

#[test]
fn a_number_that_stands_for_no_format_is_refused() {
    let none = "no format has the number 9; there is JSON, PB, TEXT, BINARY";
    of_snippet("Output: 9", &format!("line 3, column 1: Output: {none}"));
    of_snippet("InputForLB: 9", &format!("line 3, column 1: InputForLB: {none}"));
    of_snippet(" Input: [JSON, 9]", &format!("line 3, column 2: Input: {none}"));
    assert!(read("Body { Output: 0 InputSameAsOutput: true Section { Name: \"a\" } }").is_ok());
}

#[test]
fn what_is_named_must_be_there_where_no_snippet_uses_it() {
    unused(
        "SpecialValidator: \"no\"",
        "SpecialValidator: \"\"",
        "validator \"no\" of NAME: there is none of this name; there is jq, not_empty",
    );
    unused(
        "SpecialConvertor: \"jq:no.jq\"",
        "SpecialConvertor: \"\"",
        "convertor \"jq:no.jq\" of NAME: there is no file no.jq",
    );
    unused(
        "InputJsonSchema: \"no.json\"",
        "InputJsonSchema: \"\"",
        "InputJsonSchema \"no.json\" of NAME: there is no file no.json",
    );
    unused(
        "OutputJsonSchema: \"no.json\"",
        "OutputJsonSchema: \"\"",
        "OutputJsonSchema \"no.json\" of NAME: there is no file no.json",
    );
    let extractors = "there is none of this name; there is header, json, key, pb";
    unused("KeyExtractor: \"no\"", "", &format!("extractor \"no\" of NAME: {extractors}"));
    unused("VersionExtractor: \"no\"", "", &format!("extractor \"no\" of NAME: {extractors}"));
    of_snippet("KeyExtractor: \"no\"", &format!("line 3, column 1: extractor \"no\" of a: {extractors}"));
    unused("InputMessage: \"M\"", "", "InputMessage \"M\" of NAME: message M needs a DescriptorSet");
    assert!(read("Body { DescriptorSet: \"no.bin\" }").is_err_and(|error| error.starts_with("line 1, column 8: DescriptorSet \"no.bin\" of the root: ")));
    of_snippet(
        "InputMessage: \"X\" DescriptorSet: \"m.proto\"",
        "line 3, column 1: InputMessage \"X\" of a: m.proto describes no message X",
    );
}

/// What stands at the root may need what only the sections below say.
#[test]
fn it_is_enough_that_what_is_named_works_somewhere() {
    let text = "Body { Output: JSON InputSameAsOutput: true KeyExtractor: \"pb:id\" InputMessage: \"M\"
        Section { Name: \"plain\" }
        Section { Name: \"g\" Body { DescriptorSet: \"m.proto\" SpecialConvertor: \"pb\" Section { Name: \"x\" } } } }";
    read(text).unwrap();
}

#[test]
fn a_section_that_recursive_of_the_root_names_must_be_there() {
    check(
        "Body { Output: JSON InputSameAsOutput: true\nRecursive: \"nope\" Section { Name: \"a\" } }",
        "line 2, column 1: Recursive of the root names \"nope\", but there is no section nope",
    );
}

#[test]
fn topics_languages_and_ends_are_within_bounds() {
    let rule = "the name of a topic has 1 to 200 of the characters a-z A-Z 0-9 . _ -";
    for topic in ["a b", "..", "тема", &"t".repeat(201)] {
        of_snippet(
            &format!("InputTopic: \"{topic}\" InputForLB: JSON KeyExtractor: \"key\""),
            &format!("line 3, column 1: InputTopic of a: {rule}, not {topic:?}"),
        );
    }
    unused("InputTopic: \"a/b\"", "InputTopic: \"\"", &format!("InputTopic of NAME: {rule}, not \"a/b\""));
    of_snippet(
        "OutputLanguages: [\"ru\", \"en\", \"ru\"] SpecialConvertor: \"jq:same.jq\"",
        "line 3, column 1: \"ru\" of a is there twice",
    );
    of_snippet(
        "TtlMinutes: 4294967295",
        "line 3, column 1: TtlMinutes 4294967295 of a is more than a hundred years (52560000); 0 is for ever",
    );
    assert!(read("Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" Body { TtlMinutes: 52560000 } } }").is_ok());
}

#[test]
fn what_takes_no_parameter_gets_none() {
    let takes = |parameter: &str| format!("it takes nothing behind a colon, not {parameter:?}");
    of_snippet(
        "SpecialValidator: \"not_empty:foo\"",
        &format!("line 3, column 1: validator \"not_empty:foo\" of a: {}", takes("foo")),
    );
    of_snippet(
        "SpecialConvertor: \"pb:foo\"",
        &format!("line 3, column 1: convertor \"pb:foo\" of a: {}", takes("foo")),
    );
    of_snippet(
        "SpecialConvertor: \"offer_card:x\"",
        &format!("line 3, column 1: convertor \"offer_card:x\" of a: {}", takes("x")),
    );
    of_snippet(
        "KeyExtractor: \"key:zzz\"",
        &format!("line 3, column 1: extractor \"key:zzz\" of a: {}", takes("zzz")),
    );
}

#[test]
fn an_extractor_reads_the_format_of_the_messages() {
    let described = "DescriptorSet: \"m.proto\" InputMessage: \"M\" SpecialConvertor: \"pb\" Input: [JSON, PB] InputTopic: \"t\"";
    of_snippet(
        &format!("KeyExtractor: \"json:/id\" InputForLB: PB {described}"),
        "line 3, column 1: extractor \"json:/id\" of a does not read PB, which InputForLB says",
    );
    of_snippet(
        &format!("KeyExtractor: \"pb:id\" InputForLB: JSON {described}"),
        "line 3, column 1: extractor \"pb:id\" of a does not read JSON, which InputForLB says",
    );
    of_snippet(
        &format!("VersionExtractor: \"pb:v\" KeyExtractor: \"key\" InputForLB: JSON {described}"),
        "line 3, column 1: extractor \"pb:v\" of a does not read JSON, which InputForLB says",
    );
}

#[test]
fn a_name_is_there_and_not_too_long() {
    check(
        "Body {\nSection { Body { Output: JSON } } }",
        "line 2, column 1: a section needs a name: Name: \"…\"",
    );
    let (long, longer) = ("x".repeat(250), "x".repeat(251));
    let nested = |name: &str| {
        format!(
            "Body {{ Output: JSON InputSameAsOutput: true Section {{ Name: \"abcd\" Body {{\nSection {{ Name: \"{name}\" }} }} }} }}"
        )
    };
    assert!(read(&nested(&long)).is_ok());
    check(
        &nested(&longer),
        "line 2, column 11: this name has 256 bytes together with the sections around it; the most is 255",
    );
}

#[test]
fn the_mark_of_utf_8_means_nothing() {
    assert!(read("\u{feff}Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" } }").is_ok());
    check(
        "\u{feff}Body {\n Output: 9 }",
        "line 2, column 2: Output: no format has the number 9; there is JSON, PB, TEXT, BINARY",
    );
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.pb.txt");
    let refused = || snippets::read(Some(&path), &Registry::shipped()).err().unwrap().to_string();
    std::fs::write(&path, b"Body {\n Service: \"\xff\" }").unwrap();
    assert_eq!(refused(), format!("{}: line 2, column 12: this is not UTF-8", path.display()));
    std::fs::write(&path, b"Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" } }").unwrap();
    let numbers = folder.path().join("key_prefixes.txt");
    std::fs::write(&numbers, b"a 1\n\xff 2").unwrap();
    assert_eq!(refused(), format!("{}: line 2, column 1: this is not UTF-8", numbers.display()));
    std::fs::write(&numbers, b"a 1\nb").unwrap();
    assert_eq!(
        refused(),
        format!("{}: line 2: a line is `NAME NUMBER` or `NAME NUMBER retired`", numbers.display())
    );
}

#[tokio::test]
async fn protobuf_that_is_kept_as_it_came_is_the_message_that_is_named() {
    for option in ["InputMessage", "OutputMessage"] {
        let config = format!(
            "Body {{ Output: PB InputSameAsOutput: true DescriptorSet: \"m.proto\" {option}: \"M\" Section {{ Name: \"a\" }} }}"
        );
        let world = World::of(&config, FILES).await;
        let put =
            async |bytes: &'static [u8]| world.call("PUT", "/a/1", &[("content-type", "pb")], bytes).await;
        put(b"\x0a\x02id").await.is(200);
        let refused = put(b"\x0a\x09id").await.is(422);
        assert!(refused["detail"].as_str().unwrap().contains("this is not a message M"), "{refused}");
    }
}
