//! Inheritance, option by option.

use snippets::Registry;
use snippets::config::{Assets, Draft, option_names};

fn read(text: &str) -> Draft {
    Draft::read(text, Assets::Embedded(FILES), &Registry::shipped()).unwrap()
}

const FILES: &[(&str, &str)] = &[
    ("a.json", "{}"),
    ("b.json", "{\"type\": \"object\"}"),
    ("same.jq", "."),
    ("other.jq", "{a: .}"),
    ("ok.jq", "empty"),
    (
        "m.proto",
        "syntax = \"proto3\"; message M { string id = 1; int64 v = 2; } message N { string id = 1; }",
    ),
];

/// Each option with the value that the root sets and the one that a section below sets.
const CASES: &[(&str, &str, &str)] = &[
    ("ChildrenOnly", "true", "false"),
    ("Service", "\"main\"", "\"other\""),
    ("Output", "JSON", "TEXT"),
    ("Input", "[JSON]", "[JSON, PB]"),
    ("InputSameAsOutput", "true", "false"),
    ("InputJsonSchema", "\"a.json\"", "\"b.json\""),
    ("OutputJsonSchema", "\"a.json\"", "\"b.json\""),
    ("SpecialValidator", "\"not_empty\"", "\"jq:ok.jq\""),
    ("SpecialConvertor", "\"jq:same.jq\"", "\"jq:other.jq\""),
    ("Recursive", "", "[\"leaf\"]"),
    ("OutputLanguages", "[\"ru\"]", "[\"en\", \"pt-BR\"]"),
    ("TtlMinutes", "5", "7"),
    ("InputTopic", "\"t1\"", "\"t2\""),
    ("InputForLB", "JSON", "PB"),
    ("KeyExtractor", "\"key\"", "\"pb:id\""),
    ("UploadOverLBRetryCount", "1", "2"),
    ("DescriptorSet", "\"m.proto\"", "\"m.proto\""),
    ("InputMessage", "\"M\"", "\"N\""),
    ("OutputMessage", "\"N\"", "\"M\""),
    ("VersionExtractor", "\"pb:v\"", "\"header:v\""),
    ("StrictSchema", "false", "true"),
];

/// A configuration in which everything works together, whatever one section changes.
fn base(option: &str, root: &str, middle: &str) -> String {
    let usual = [
        ("Output", "JSON"),
        ("Input", "[JSON, PB]"),
        ("SpecialConvertor", "\"jq:same.jq\""),
        ("DescriptorSet", "\"m.proto\""),
        ("InputMessage", "\"M\""),
        ("InputForLB", "JSON"),
        ("KeyExtractor", "\"key\""),
    ];
    let set =
        |name: &str, value: &str| if value.is_empty() { String::new() } else { format!("{name}: {value}\n") };
    let rest: String =
        usual.iter().filter(|(name, _)| *name != option).map(|(name, value)| set(name, value)).collect();
    format!(
        "Body {{ {rest} {}
           Section {{ Name: \"heir\" }}
           Section {{ Name: \"middle\" Body {{ {} Section {{ Name: \"leaf\" }} }} }} }}",
        set(option, root),
        set(option, middle),
    )
}

#[test]
fn every_option_is_inherited_and_overridden_and_knows_who_set_it() {
    let tested: Vec<_> = CASES.iter().map(|case| case.0.to_owned()).collect();
    assert_eq!(tested, option_names(), "an option without a test");
    for (option, root, middle) in CASES {
        let draft = read(&base(option, root, middle));
        let check = |section: &str, value: &str, by: &str| {
            let setting = draft.sections[section].settings.get(option);
            let found = setting.map_or_else(|| "none".to_owned(), |setting| setting.value.to_string());
            assert_eq!(found, value, "{option} of {section}");
            assert_eq!(setting.map_or("", |setting| &setting.section), by, "{option} of {section}");
        };
        if *option == "Recursive" {
            check("middle", middle, "middle");
            check("middle/leaf", "none", "");
            continue;
        }
        check("heir", root, "");
        check("middle", middle, "middle");
        check("middle/leaf", middle, "middle");
        let inherited = read(&base(option, root, ""));
        let setting = inherited.sections["middle/leaf"].settings.get(option).unwrap();
        assert_eq!((setting.value.to_string().as_str(), setting.section.as_str()), (*root, ""), "{option}");
    }
}

#[test]
fn of_input_and_same_as_output_the_nearer_one_wins() {
    let accepted = |root: &str, leaf: &str| {
        let text = format!(
            "Body {{ Output: JSON DescriptorSet: \"m.proto\" InputMessage: \"M\" SpecialConvertor: \"jq:same.jq\" {root} \
             Section {{ Name: \"a\" Body {{ {leaf} }} }} }}"
        );
        match Draft::read(&text, Assets::Embedded(FILES), &Registry::shipped()) {
            Ok(draft) => {
                draft.sections["a"].inputs().iter().map(|format| format.name()).collect::<Vec<_>>().join(",")
            }
            Err(error) => error.message,
        }
    };
    assert_eq!(accepted("InputSameAsOutput: true", ""), "JSON");
    assert_eq!(accepted("InputSameAsOutput: true", "Input: PB"), "PB");
    assert_eq!(accepted("Input: PB", "InputSameAsOutput: true"), "JSON");
    assert_eq!(accepted("", "Input: PB InputSameAsOutput: true"), "PB");
    assert_eq!(accepted("Input: PB InputSameAsOutput: true", ""), "PB");
    assert_eq!(accepted("Input: PB", "InputSameAsOutput: false"), "PB");
    assert_eq!(
        accepted("InputSameAsOutput: true", "InputSameAsOutput: false"),
        "snippet a has neither Input nor InputSameAsOutput"
    );
}

#[test]
fn names_unfold_and_groups_are_snippets_only_when_they_say_so() {
    let draft = read(
        "Body { Output: JSON InputSameAsOutput: true
           Section { Name: \"photos/1.x\" Body { TtlMinutes: 60 } }
           Section { Name: \"photos/2.x\" }
           Section { Name: \"org\" Body { ChildrenOnly: false Section { Name: \"card\" } Section { Name: \"deep/er\" } } } }",
    );
    let kinds: Vec<_> =
        draft.sections.values().map(|section| (section.name.as_str(), section.is_snippet)).collect();
    assert_eq!(
        kinds,
        [
            ("org", true),
            ("org/card", true),
            ("org/deep", false),
            ("org/deep/er", true),
            ("photos", false),
            ("photos/1.x", true),
            ("photos/2.x", true),
        ]
    );
}

#[test]
fn an_empty_text_switches_an_inherited_name_off() {
    let draft = read(
        "Body { Output: JSON InputSameAsOutput: true InputJsonSchema: \"b.json\" SpecialConvertor: \"jq:same.jq\" OutputLanguages: \"ru\"
           InputTopic: \"t\" InputForLB: JSON KeyExtractor: \"key\"
           Section { Name: \"a\" Body { InputJsonSchema: \"\" SpecialConvertor: \"\" OutputLanguages: \"\" InputTopic: \"\" } } }",
    );
    assert!(draft.sections["a"].is_snippet);
}
