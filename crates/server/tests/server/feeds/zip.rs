//! As much of zip as an XLSX file needs to be looked into.

use std::io::Read as _;

/// The text of one file in an archive.
pub fn entry(archive: &[u8], name: &str) -> String {
    let number = |at: usize, bytes: usize| {
        archive[at..at + bytes].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let end = archive.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").expect("the end of the directory");
    let (count, mut at) = (number(end + 10, 2), number(end + 16, 4));
    for _ in 0..count {
        let packed = number(at + 20, 4);
        let lengths = [number(at + 28, 2), number(at + 30, 2), number(at + 32, 2)];
        let local = number(at + 42, 4);
        if &archive[at + 46..at + 46 + lengths[0]] == name.as_bytes() {
            let begin = local + 30 + number(local + 26, 2) + number(local + 28, 2);
            let mut text = String::new();
            let packed = &archive[begin..begin + packed];
            flate2::read::DeflateDecoder::new(packed).read_to_string(&mut text).unwrap();
            return text;
        }
        at += 46 + lengths.iter().sum::<usize>();
    }
    panic!("there is no {name}");
}
