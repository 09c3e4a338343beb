//! What holds for a section, and who said so.

use snippets::Registry;
use snippets::config::{Assets, Decided, Draft};

/// `OPTION VALUE by SECTION:LINE`, for each option in force.
fn explained(text: &str, name: &str) -> Vec<String> {
    let files = &[("m.proto", "syntax = \"proto3\"; message M { string id = 1; }")];
    let draft = Draft::read(text, Assets::Embedded(files), &Registry::shipped()).unwrap();
    let lines = draft.sections[name].in_force().into_iter().map(|one| {
        let by = match one.by {
            Decided::Default => "default".to_owned(),
            Decided::Set(set) => format!("{:?} line {}", set.section, set.place.line),
            Decided::SetAs(option, set) => format!("{option} {:?} line {}", set.section, set.place.line),
        };
        format!("{} {} {by}", one.option, one.value)
    });
    lines.collect()
}

#[test]
fn the_inputs_that_hold_are_shown_with_the_option_that_decided() {
    let text = "Body { Output: PB\nSection { Name: \"near\" Body { Input: PB\n\
                Section { Name: \"x\" Body { InputSameAsOutput: true\nOutput: TEXT } }\n\
                Section { Name: \"y\" Body { Service: \"other\" } }\n\
                Section { Name: \"z\" Body { Service: \"\" InputSameAsOutput: false } } } } }";
    let common = |input: &str, output: &str, service: &str| {
        [
            "ChildrenOnly true default",
            input,
            output,
            service,
            "TtlMinutes 0 default",
            "UploadOverLBRetryCount 0 default",
        ]
        .map(str::to_owned)
    };
    let main = "Service \"main\" default";
    let root = "Output PB \"\" line 1";
    assert_eq!(
        explained(text, "near/x"),
        common("Input [TEXT] InputSameAsOutput \"near/x\" line 3", "Output TEXT \"near/x\" line 4", main)
    );
    let near = "Input [PB] \"near\" line 2";
    assert_eq!(explained(text, "near/y"), common(near, root, "Service \"other\" \"near/y\" line 5"));
    assert_eq!(explained(text, "near/z"), common(near, root, main));
    assert_eq!(explained(text, "near"), common(near, root, main));
}

#[test]
fn of_two_ways_to_say_the_inputs_the_loser_is_not_shown() {
    let text = "Body { Output: PB InputSameAsOutput: true ChildrenOnly: false\n\
                Section { Name: \"a/b\" Body { Input: PB TtlMinutes: 5 } } }";
    assert_eq!(
        explained(text, "a/b"),
        [
            "ChildrenOnly false \"\" line 1",
            "Input [PB] \"a/b\" line 2",
            "Output PB \"\" line 1",
            "Service \"main\" default",
            "TtlMinutes 5 \"a/b\" line 2",
            "UploadOverLBRetryCount 0 default",
        ]
    );
    // A group that only the name asks for is not a snippet, whatever it inherits.
    assert_eq!(
        explained(text, "a")[..2],
        ["ChildrenOnly true default", "Input [PB] InputSameAsOutput \"\" line 1"]
    );
}
