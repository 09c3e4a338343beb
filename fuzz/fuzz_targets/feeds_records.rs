//! Any bytes as a feed file: packed or not, in any encoding and format.
#![no_main]

use std::io::Cursor;

use feeds::Limits;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(mut records) = feeds::records(Cursor::new(data.to_vec()), &Limits::default()) else { return };
    while let Ok(Some(record)) = records.next() {
        assert!(record.raw_bytes <= data.len() * 1_100, "a record is longer than the file can be");
    }
    assert!(records.read_bytes() <= data.len() as u64);
});
