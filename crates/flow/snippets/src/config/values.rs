//! Values that an option cannot have, wherever it is set.

use super::options::Settings;
use super::outline::Place;
use crate::address::is_language;
use crate::error::ConfigError;

/// A hundred years. What lives longer has no end, which is 0.
const MAX_TTL_MINUTES: u32 = 100 * 365 * 24 * 60;
const MAX_SERVICE_BYTES: usize = 64;

pub(super) fn check(name: &str, settings: &Settings, place: Place) -> Result<(), ConfigError> {
    let refuse = |option: &str, message: String| Err(ConfigError::at(settings.place(option, place), message));
    let minutes = settings.number("TtlMinutes");
    if minutes > MAX_TTL_MINUTES {
        let message = format!(
            "TtlMinutes {minutes} of {name} is more than a hundred years ({MAX_TTL_MINUTES}); 0 is for ever"
        );
        return refuse("TtlMinutes", message);
    }
    if let Some(Err(error)) = settings.text("InputTopic").map(|topic| topics::check_name("topic", topic)) {
        return refuse("InputTopic", format!("InputTopic of {name}: {error}"));
    }
    let service = settings.text("Service").unwrap_or_default();
    if service.len() > MAX_SERVICE_BYTES || service.contains('\0') {
        return refuse("Service", format!("{service:?} is not a name of a service"));
    }
    let languages = settings.texts("OutputLanguages");
    for (index, language) in languages.iter().enumerate() {
        if !is_language(language) {
            let message = format!("{language:?} of {name} is not a language such as ru or pt-BR");
            return refuse("OutputLanguages", message);
        }
        if languages[..index].contains(language) {
            return refuse("OutputLanguages", format!("{language:?} of {name} is there twice"));
        }
    }
    Ok(())
}
