//! What hostile input meets first, for `fuzz/` and for the tests that run the same on seeded input.

use std::sync::OnceLock;

use crate::address::{is_language, parse};
use crate::api::letters::{parse_id, write_id};
use crate::config::{Assets, Config, Draft, Value, printed};
use crate::prefixes::Prefixes;
use crate::{ConfigError, Error, Registry};

/// Reads any bytes as a configuration: it is read or refused with a place, means the same when it is printed and read
/// again, and numbered names are all there.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match read(text) {
        Ok(draft) => {
            let printed = printed(text).expect("what is a configuration can be read");
            match read(&printed) {
                Ok(again) => assert_eq!(meant(&again), meant(&draft), "{printed}"),
                Err(error) => panic!("{error} in {printed}"),
            }
            let mut prefixes = Prefixes::default();
            prefixes.add_missing(draft.snippets());
            let count = draft.snippets().count();
            let config = draft.numbered(&prefixes).expect("every snippet has a number now");
            assert_eq!(config.snippets().count(), count);
        }
        Err(error) => assert!(error.place.is_some_and(|place| place.line > 0 && place.column > 0), "{error}"),
    }
    // The file of numbers is read by the same people.
    if let Ok(mut prefixes) = Prefixes::read(text) {
        prefixes.add_missing(["a", "a/b", "c"].into_iter());
        assert_eq!(Prefixes::read(&prefixes.write()), Ok(prefixes));
    }
}

fn read(text: &str) -> Result<Draft, ConfigError> {
    Draft::read(text, Assets::Embedded(&[]), &Registry::shipped())
}

/// An option in force: its name, its value, and the section that it comes from.
type Setting<'a> = (&'a str, &'a Value, &'a str);

/// Each section with its options in force, without their places in the text.
fn meant(draft: &Draft) -> Vec<(&str, bool, Vec<Setting<'_>>)> {
    let mut sections = Vec::new();
    for section in draft.sections.values() {
        let settings = section.settings.iter();
        let settings = settings.map(|(name, setting)| (name, &setting.value, setting.section.as_str()));
        sections.push((section.name.as_str(), section.is_snippet, settings.collect()));
    }
    sections
}

/// Reads any bytes as the id of a letter, which is also a cursor.
pub fn letter_id(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(id) = parse_id(text) {
        assert_eq!(parse_id(&write_id(&id)).ok(), Some(id));
    }
}

/// Reads any bytes as the path of a URL: what it names is exactly what was written.
pub fn address(data: &[u8]) {
    let Ok(path) = std::str::from_utf8(data) else { return };
    let config = sample();
    match parse(path, config) {
        Ok(address) => {
            let name = &address.target.section.name;
            assert!(!address.key.is_empty() && !address.key.contains('\0') && address.key.len() <= 1_024);
            assert!(address.language.as_deref().is_none_or(is_language));
            let key: String =
                percent_encoding::percent_encode(address.key.as_bytes(), percent_encoding::NON_ALPHANUMERIC)
                    .to_string();
            let rest = address.language.as_ref().map_or_else(String::new, |language| format!("/{language}"));
            let again = parse(&format!("/{name}/{key}{rest}"), config).ok();
            let again = again.map(|again| (again.target.section.name.clone(), again.key, again.language));
            assert_eq!(again, Some((name.clone(), address.key, address.language)));
        }
        Err(error) => assert!(matches!(error, Error::BadRequest(_)), "{error}"),
    }
}

fn sample() -> &'static Config {
    static SAMPLE: OnceLock<Config> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let text = "Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" Body { } } \
                    Section { Name: \"org\" Body { Recursive: \"card\" Section { Name: \"card\" } } } \
                    Section { Name: \"photos/1.x\" } }";
        let draft = read(text);
        let prefixes = Prefixes::read("a 1\norg/card 2\nphotos/1.x 3");
        draft.and_then(|draft| draft.numbered(&prefixes?)).expect("the sample is a right configuration")
    })
}
