//! What hostile input meets first, for `fuzz/` and for the tests that run the same on seeded input.

use std::sync::OnceLock;

use crate::address::{is_language, parse};
use crate::config::{Assets, Config, Draft};
use crate::prefixes::Prefixes;
use crate::{Error, Registry};

/// Reads any bytes as a configuration: it is read or refused with a place, and numbered names are all there.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Draft::read(text, Assets::Embedded(&[]), &Registry::shipped()) {
        Ok(draft) => {
            let mut prefixes = Prefixes::default();
            prefixes.add_missing(draft.snippets());
            let count = draft.snippets().count();
            let config = draft.numbered(&prefixes).expect("every snippet has a number now");
            assert_eq!(config.snippets().count(), count);
        }
        Err(error) => assert!(error.place.is_some_and(|place| place.line > 0 && place.column > 0), "{error}"),
    }
    // The file of numbers is read by the same people.
    if let Ok(prefixes) = Prefixes::read(text) {
        assert_eq!(Prefixes::read(&prefixes.write()), Ok(prefixes));
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
        let draft = Draft::read(text, Assets::Embedded(&[]), &Registry::shipped());
        let prefixes = Prefixes::read("a 1\norg/card 2\nphotos/1.x 3");
        draft.and_then(|draft| draft.numbered(&prefixes?)).expect("the sample is a right configuration")
    })
}
