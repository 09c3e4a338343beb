//! What would have no effect is refused when the configuration is read.

use snippets::Registry;
use snippets::config::{Assets, Draft};

const FILES: &[(&str, &str)] =
    &[("a.json", r#"{"type": "object"}"#), ("odd.json", r#"{"type": "object", "x-team": "search"}"#)];

fn refusal(text: &str) -> Option<String> {
    Draft::read(text, Assets::Embedded(FILES), &Registry::shipped()).err().map(|error| error.to_string())
}

#[test]
fn a_group_that_writes_nothing_is_no_part_of_another() {
    let idle = "Body { Output: JSON InputSameAsOutput: true\n\
        Section { Name: \"org\" Body { ChildrenOnly: false\n Recursive: \"idle\"\n\
        Section { Name: \"idle\" Body { ChildrenOnly: true Section { Name: \"x\" } } } } } }";
    let error = refusal(idle).unwrap();
    assert!(
        error.starts_with("line 3, ") && error.contains("org/idle, a group that writes nothing"),
        "{error}"
    );
    let working = idle.replace("ChildrenOnly: true Section", "ChildrenOnly: true Recursive: \"x\" Section");
    assert_eq!(refusal(&working), None);
}

#[test]
fn a_schema_that_nobody_is_checked_by_is_refused() {
    for (option, side) in [("InputJsonSchema", "takes"), ("OutputJsonSchema", "gives")] {
        let idle = format!(
            "Body {{ InputSameAsOutput: true\n {option}: \"a.json\"\n Section {{ Name: \"a\" Body {{ Output: TEXT }} }} }}"
        );
        let error = refusal(&idle).unwrap();
        let words = format!("{option} has no effect: no snippet for which it holds {side} JSON");
        assert!(error.starts_with("line 2, ") && error.contains(&words), "{error}");
        // One is enough.
        let working = idle.replace("Section", "Section { Name: \"b\" Body { Output: JSON } } Section");
        assert_eq!(refusal(&working), None);
    }
}

#[test]
fn unknown_keywords_mean_nothing_unless_the_schema_is_to_be_strict() {
    let lax =
        "Body { Output: JSON InputSameAsOutput: true InputJsonSchema: \"odd.json\" Section { Name: \"a\" } }";
    assert_eq!(refusal(lax), None);
    let strict = lax.replace("Section", "StrictSchema: true Section");
    assert!(refusal(&strict).unwrap().contains("the keyword \"x-team\""));
    let off = strict.replace("Name: \"a\"", "Name: \"a\" Body { StrictSchema: false }");
    assert_eq!(refusal(&off), None);
}
