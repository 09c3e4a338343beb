//! Texts that clients send back to us: ids of offers, cursors of lists. What is read is printed and read as the same.
#![no_main]

use model::OfferId;
use offers::cabinet::Place;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(id) = text.parse::<OfferId>() {
        let printed = id.to_string();
        assert_eq!((printed.len(), printed.parse(), OfferId::from_raw(id.raw())), (17, Ok(id), Some(id)));
        let digits: String = text.chars().filter(|letter| *letter != '-').collect();
        assert_eq!(digits, printed, "an id is written in one way but for its dashes");
    }
    if let Some(place) = Place::parse(text) {
        assert_eq!(Place::parse(&place.cursor()), Some(place));
    }
    if let Ok(cursor) = feeds::errors::read_cursor(text) {
        assert_eq!(feeds::errors::read_cursor(&feeds::errors::write_cursor(&cursor)).ok(), Some(cursor));
    }
    snippets::fuzzing::letter_id(data);
    if let Ok(word) = model::erasure::read(data) {
        assert_eq!(model::erasure::read(&model::erasure::write(&word.seller_id, word.asked_at)), Ok(word));
    }
});
