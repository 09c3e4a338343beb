//! Every refusal of a configuration, with its words and its place.

use snippets::Registry;
use snippets::config::{Assets, Draft};
use snippets::prefixes::Prefixes;

const FILES: &[(&str, &str)] = &[
    ("ok.json", "{}"),
    ("broken.json", "{"),
    ("typo.json", "{\"properties\": {\"a\": {\"maxLenght\": 3}}}"),
    ("wrong.json", "{\"type\": 5}"),
    ("draft9.json", "{\"$schema\": \"http://example.org/draft-99/schema\"}"),
    ("away.json", "{\"$ref\": \"http://example.org/other.json\"}"),
    ("same.jq", "."),
    ("broken.jq", ".\n| {a: "),
    ("unknown.jq", ".\n| nosuch(1)"),
    ("m.proto", "syntax = \"proto3\"; message M { string id = 1; }"),
    ("broken.proto", "syntax = \"proto3\";\nmessage M { string = 1; }"),
    ("imports.proto", "syntax = \"proto3\";\nimport \"broken.proto\";"),
    ("unknown.proto", "syntax = \"proto3\";\nmessage M {\n  Nothing n = 1; }"),
];

fn refused(text: &str) -> String {
    match Draft::read(text, Assets::Embedded(FILES), &Registry::shipped()) {
        Ok(draft) => draft.numbered(&Prefixes::read("a 1").unwrap()).err().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

/// A configuration whose second line is the snippet `a` with these options.
fn of_snippet(options: &str) -> String {
    refused(&format!(
        "Body {{ Output: JSON InputSameAsOutput: true\nSection {{ Name: \"a\" Body {{ {options} }} }} }}"
    ))
}

#[test]
fn the_text_must_be_what_the_schema_says() {
    let check = |text: &str, expected: &str| assert_eq!(refused(text), expected, "{text}");
    check(
        "Body {\n  Outptu: JSON }",
        "line 2, column 3: field 'Outptu' not found for message 'dvor.snippets.v1.ConfigBody'",
    );
    check(
        "Body {\n Output: XML }",
        "line 2, column 10: value 'XML' was not found for enum 'dvor.snippets.v1.DataFormat'",
    );
    check(
        "Body { TtlMinutes: -1 }",
        "line 1, column 20: expected value to be an unsigned 32-bit integer, but the value -1 is out of range",
    );
    check("Body {\n", "line 2, column 1: expected '}' or a field name, but reached end of input");
    check("Body { Service: \"a\" Service: \"b\" }", "line 1, column 30: 'Service' is already set");
    check(&"Body{Section{".repeat(200), "line 1, column 655: sections are nested too deeply");
}

#[test]
fn sections_must_have_right_names() {
    let of_name = |name: &str| refused(&format!("Body {{ Output: JSON\nSection {{ Name: \"{name}\" }} }}"));
    assert_eq!(refused("Name: \"x\""), "line 1, column 1: the root has no name, not \"x\"");
    let letters = "names are made of a-z, 0-9, _ and .";
    assert_eq!(of_name("Org"), format!("line 2, column 11: \"Org\" cannot be a section's name: {letters}"));
    assert_eq!(of_name("орг"), format!("line 2, column 11: \"орг\" cannot be a section's name: {letters}"));
    let empty = "there is nothing between two slashes, or at an end";
    assert_eq!(of_name(""), "line 2, column 11: a section needs a name: Name: \"…\"");
    assert_eq!(of_name("a//b"), format!("line 2, column 11: \"a//b\" cannot be a section's name: {empty}"));
    assert_eq!(
        of_name("a/../b"),
        "line 2, column 11: \"a/../b\" cannot be a section's name: . and .. are not names"
    );
    assert_eq!(
        refused(
            "Body { Output: JSON InputSameAsOutput: true\nSection { Name: \"a/b\" }\nSection { Name: \"a\" Body { Section { Name: \"b\" } } } }"
        ),
        "line 3, column 38: section a/b is there twice, first in line 2"
    );
    assert_eq!(
        refused(
            "Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" Body {\nRecursive: [\"b\", \"c\"] Section { Name: \"b\" } } } }"
        ),
        "line 2, column 1: Recursive of a names \"c\", but there is no section a/c"
    );
}

#[test]
fn what_a_snippet_names_must_be_there_and_work() {
    let check = |options: &str, expected: &str| {
        assert_eq!(of_snippet(options), format!("line 2, column {expected}"), "{options}");
    };
    check("InputJsonSchema: \"no.json\"", "28: InputJsonSchema \"no.json\" of a: there is no file no.json");
    check(
        "InputJsonSchema: \"broken.json\"",
        "28: InputJsonSchema \"broken.json\" of a: this is not JSON: EOF while parsing an object at line 1 column 1",
    );
    check(
        "InputJsonSchema: \"typo.json\" StrictSchema: true",
        "28: InputJsonSchema \"typo.json\" of a: the keyword \"maxLenght\" in /properties/a is not known in this draft",
    );
    check(
        "OutputJsonSchema: \"wrong.json\"",
        "28: OutputJsonSchema \"wrong.json\" of a: /type: 5 is not one of \"array\", \"boolean\" or 5 other candidates",
    );
    check(
        "InputJsonSchema: \"draft9.json\"",
        "28: InputJsonSchema \"draft9.json\" of a: $schema \"http://example.org/draft-99/schema\" is none of the drafts 03, 04, 06, 07, 2019-09, 2020-12",
    );
    assert!(of_snippet("InputJsonSchema: \"away.json\"").contains("is not a file beside the configuration"));
    check(
        "SpecialValidator: \"no\"",
        "28: validator \"no\" of a: there is none of this name; there is jq, not_empty",
    );
    check(
        "SpecialConvertor: \"no\"",
        "28: convertor \"no\" of a: there is none of this name; there is jq, offer_card, pb",
    );
    check("SpecialConvertor: \"jq:no.jq\"", "28: convertor \"jq:no.jq\" of a: there is no file no.jq");
    check("SpecialConvertor: \"jq\"", "28: convertor \"jq\" of a: it needs a file: jq:FILE");
    check(
        "SpecialConvertor: \"jq:unknown.jq\"",
        "28: convertor \"jq:unknown.jq\" of a: line 2: there is no filter nosuch",
    );
    assert!(of_snippet("SpecialConvertor: \"jq:broken.jq\"").contains("line 2: expected"));
    check(
        "SpecialConvertor: \"pb\"",
        "28: convertor \"pb\" of a: it needs DescriptorSet and InputMessage or OutputMessage",
    );
    check(
        "SpecialConvertor: \"pb\" InputMessage: \"M\"",
        "28: convertor \"pb\" of a: message M needs a DescriptorSet",
    );
    check(
        "SpecialConvertor: \"pb\" InputMessage: \"X\" DescriptorSet: \"m.proto\"",
        "28: convertor \"pb\" of a: m.proto describes no message X",
    );
    for (file, place) in [
        ("broken.proto", "broken.proto, line 2, column 20: "),
        ("imports.proto", "broken.proto, line 2, column 20: "),
        ("unknown.proto", "unknown.proto, line 3, column 3: "),
    ] {
        let said =
            of_snippet(&format!("SpecialConvertor: \"pb\" InputMessage: \"M\" DescriptorSet: \"{file}\""));
        assert!(said.contains(&format!("convertor \"pb\" of a: {place}")), "{said}");
    }
}

#[test]
fn formats_and_languages_need_a_convertor_that_knows_them_all() {
    let check = |options: &str, expected: &str| {
        assert_eq!(of_snippet(options), format!("line 2, column {expected}"), "{options}");
    };
    check("Input: [JSON, PB]", "28: snippet a needs a SpecialConvertor: it takes JSON, PB and gives JSON");
    check("Input: TEXT", "28: snippet a needs a SpecialConvertor: it takes TEXT and gives JSON");
    check(
        "OutputLanguages: \"ru\"",
        "28: snippet a needs a SpecialConvertor: it takes JSON and gives JSON in ru",
    );
    check(
        "Input: [JSON, PB] SpecialConvertor: \"jq:same.jq\"",
        "46: convertor \"jq:same.jq\" of a does not make JSON of PB",
    );
    check(
        "Output: BINARY Input: JSON SpecialConvertor: \"jq:same.jq\"",
        "55: convertor \"jq:same.jq\" of a does not make BINARY of JSON",
    );
    check(
        "SpecialConvertor: \"pb\" DescriptorSet: \"m.proto\" InputMessage: \"M\" OutputLanguages: \"ru\"",
        "28: convertor \"pb\" of a does not support the language ru",
    );
    check(
        "SpecialConvertor: \"jq:same.jq\" OutputLanguages: \"rus sian\"",
        "59: \"rus sian\" of a is not a language such as ru or pt-BR",
    );
    assert_eq!(
        refused("Body { InputSameAsOutput: true\nSection { Name: \"a\" } }"),
        "line 2, column 11: snippet a has no Output"
    );
    assert_eq!(
        refused("Body { Output: JSON\nSection { Name: \"a\" } }"),
        "line 2, column 11: snippet a has neither Input nor InputSameAsOutput"
    );
}

#[test]
fn a_topic_needs_a_format_a_key_and_snippets_that_take_it() {
    let check = |options: &str, expected: &str| {
        assert_eq!(of_snippet(options), format!("line 2, column {expected}"), "{options}");
    };
    check("InputTopic: \"t\" KeyExtractor: \"key\"", "28: a reads topic \"t\", so it needs InputForLB");
    check("InputTopic: \"t\" InputForLB: JSON", "28: a reads topic \"t\", so it needs a KeyExtractor");
    check(
        "InputTopic: \"t\" InputForLB: PB KeyExtractor: \"key\"",
        "28: a reads PB from topic \"t\", which snippet a does not accept",
    );
    check(
        "InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"no\"",
        "61: extractor \"no\" of a: there is none of this name; there is header, json, key, pb",
    );
    check(
        "InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"json:a\"",
        "61: extractor \"json:a\" of a: it needs a JSON pointer: json:/a/b",
    );
    check(
        "InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"pb:id\"",
        "61: extractor \"pb:id\" of a: it needs DescriptorSet and InputMessage",
    );
    check(
        "InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"header:\"",
        "61: extractor \"header:\" of a: it needs a name: header:NAME",
    );
    check(
        "InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"key\" VersionExtractor: \"pb:x\" DescriptorSet: \"m.proto\" InputMessage: \"M\"",
        "81: extractor \"pb:x\" of a: M has no field x",
    );
    assert_eq!(
        refused(
            "Body { Output: JSON InputSameAsOutput: true InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"key\"\n\
             Section { Name: \"a\" } Section { Name: \"b\" Body { KeyExtractor: \"json:/id\" } } }"
        ),
        "line 2, column 50: a and b read topic \"t\" with different KeyExtractors; a message has one key"
    );
}

#[test]
fn a_snippet_without_a_number_is_refused_with_the_command_that_gives_one() {
    assert_eq!(
        refused(
            "Body { Output: JSON InputSameAsOutput: true\nSection { Name: \"a\" }\nSection { Name: \"b\" } }"
        ),
        "line 3, column 11: snippet b has no key prefix; `dvor snippets prefixes` adds it to key_prefixes.txt"
    );
}
