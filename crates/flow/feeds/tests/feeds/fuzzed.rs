//! What the fuzz targets look at, on files of our own: as they are, and damaged from a seed.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::formats::gzip;
use crate::read;

/// The files of a folder of the repository, in the order of their names.
fn files_in(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new("../../..").join(folder);
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Some bytes are others, missing, or there twice.
fn damage(file: &[u8], rng: &mut StdRng) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..bytes.len().max(1)).min(bytes.len());
        let end = (at + rng.random_range(1..20)).min(bytes.len());
        match rng.random_range(0..4) {
            0 => bytes.splice(at..end, []).for_each(drop),
            1 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece).for_each(drop);
            }
            2 => bytes.truncate(end),
            _ if at < bytes.len() => bytes[at] = rng.random(),
            _ => {}
        }
    }
    bytes
}

#[test]
fn a_file_is_read_alike_whole_and_in_pieces() {
    let mut rng = StdRng::seed_from_u64(11);
    let fixtures = files_in("crates/flow/feeds/tests/feeds/fixtures");
    let all = fixtures.into_iter().chain(files_in("fuzz/seeds/feeds_records"));
    for file in all.chain([feeds::EXAMPLE.as_bytes().to_vec()]) {
        feeds::fuzzing::file(&file);
        feeds::fuzzing::file(&gzip(&file));
        for _ in 0..100 {
            feeds::fuzzing::file(&damage(&file, &mut rng));
        }
    }
}

/// What was found so far, each by its own way of being cut.
#[test]
fn what_was_found_stays_mended() {
    // Text behind the last tag waited for more, and was called a tag that broke off when nothing came.
    let cut = read("<?xml version=\"1.0\"?>\n").1.unwrap();
    assert_eq!((cut.code, cut.line), ("format_unknown", 2));
    for length in 0..13 {
        feeds::fuzzing::file(format!("<?xml version=\"1.0\"?>{}\n", " ".repeat(length)).as_bytes());
    }
    // How much was shown of what stands behind the end of a list depended on how much of it had been read.
    feeds::fuzzing::file("[] что-то другое, и длиннее двадцати знаков".as_bytes());
}

#[test]
fn what_is_read_of_any_inside_is_unified() {
    let mut rng = StdRng::seed_from_u64(12);
    for inside in files_in("fuzz/seeds/feeds_formats") {
        feeds::fuzzing::inside(&inside);
        for _ in 0..50 {
            feeds::fuzzing::inside(&damage(&inside, &mut rng));
        }
    }
}
