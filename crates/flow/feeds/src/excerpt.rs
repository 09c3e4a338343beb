//! The lines of a load's file around a place, for people: unpacked and in UTF-8, as the reader of the file saw them.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use memchr::memchr_iter;

use crate::processor::input;
use crate::text::Text;
use crate::upload::hash_of;
use crate::{Error, FeedKey, Feeds, Limits, Result, history, unpack};

/// Lines shown before and behind the one asked for.
const AROUND: u64 = 3;
/// More of one line is cut off.
const LINE_BYTES: usize = 2_000;
/// A place that takes longer to reach than this is not shown.
const PATIENCE: Duration = Duration::from_secs(5);

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: u64,
    /// At most [`LINE_BYTES`] of it.
    pub text: String,
    pub is_cut: bool,
}

/// What is there to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excerpt {
    Lines(Vec<Line>),
    /// The file is no longer kept.
    Gone,
    /// The file ends before the line.
    Beyond,
    /// The line is so far into the file that nobody should wait for it.
    TooFar,
    /// The file cannot be unpacked or read so far.
    Broken(String),
}

/// The lines around one line of a load's file.
pub async fn around(feeds: &Feeds, key: &FeedKey, task_id: i64, line: u64) -> Result<Excerpt> {
    let load = history::load(feeds, key, task_id).await?;
    let Some(hash) = load.task.file.as_ref().and_then(|file| hash_of(&file.hash)) else {
        return Ok(Excerpt::Gone);
    };
    let reading = match feeds.files.open(&hash).await {
        Ok(reading) => reading,
        Err(error) if error.kind() == files::Kind::NotFound => return Ok(Excerpt::Gone),
        Err(error) => return Err(Error::Engine(error)),
    };
    let input = input(reading);
    // The permit goes with the work, which goes on when nobody waits for it any more.
    let Ok(permit) = feeds.renderings.clone().acquire_owned().await else { return Ok(Excerpt::TooFar) };
    let found = tokio::task::spawn_blocking(move || {
        let found = read(input, line.max(1), PATIENCE);
        drop(permit);
        found
    });
    Ok(found.await.unwrap_or_else(|error| Excerpt::Broken(error.to_string())))
}

fn read(input: impl Read + Send + 'static, line: u64, patience: Duration) -> Excerpt {
    let began = Instant::now();
    let opened = unpack::unpack(input, &Limits::default(), &Arc::new(AtomicU64::new(0)));
    let opened = opened.and_then(|(_, unpacked)| Text::open(unpacked, usize::MAX));
    let mut text = match opened {
        Ok(text) => text,
        Err(fatal) => return Excerpt::Broken(fatal.message(model::Language::English)),
    };
    let mut window = Lines::around(line);
    let mut chunk = String::new();
    let mut broken = None;
    while !window.is_done() {
        chunk.clear();
        match text.read(&mut chunk) {
            Ok(0) => break,
            Ok(_) => window.take(chunk.as_bytes()),
            // What was read before the break may be all that is needed.
            Err(fatal) => {
                broken = Some(fatal.message(model::Language::English));
                break;
            }
        }
        if began.elapsed() > patience {
            return Excerpt::TooFar;
        }
    }
    match (window.end(line), broken) {
        (Some(lines), _) => Excerpt::Lines(lines),
        (None, Some(reason)) => Excerpt::Broken(reason),
        (None, None) => Excerpt::Beyond,
    }
}

/// Collects some lines out of a stream of text.
struct Lines {
    first: u64,
    last: u64,
    current: u64,
    found: Vec<(u64, Vec<u8>, bool)>,
}

impl Lines {
    fn around(line: u64) -> Self {
        Self {
            first: line.saturating_sub(AROUND).max(1),
            last: line.saturating_add(AROUND),
            current: 1,
            found: Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.current > self.last
    }

    fn take(&mut self, chunk: &[u8]) {
        let mut from = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.add(&chunk[from..end]);
            self.current += 1;
            from = end + 1;
            if self.is_done() {
                return;
            }
        }
        // Behind the last line's end there is no line.
        if from < chunk.len() {
            self.add(&chunk[from..]);
        }
    }

    fn add(&mut self, part: &[u8]) {
        if self.current < self.first || self.is_done() {
            return;
        }
        if self.found.last().is_none_or(|(number, ..)| *number != self.current) {
            self.found.push((self.current, Vec::new(), false));
        }
        if let Some((_, bytes, is_cut)) = self.found.last_mut() {
            let room = LINE_BYTES.saturating_sub(bytes.len());
            bytes.extend_from_slice(&part[..part.len().min(room)]);
            *is_cut |= part.len() > room;
        }
    }

    /// The lines, if the one that was asked for is among them.
    fn end(self, wanted: u64) -> Option<Vec<Line>> {
        let there = self.found.iter().any(|(number, ..)| *number == wanted);
        let line = |(number, bytes, is_cut): (u64, Vec<u8>, bool)| {
            // A cut may go through a character.
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim_end_matches(['\r', char::REPLACEMENT_CHARACTER]).to_owned();
            Line { number, text, is_cut }
        };
        there.then(|| self.found.into_iter().map(line).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], line: u64, expected: &[(u64, &str)]) {
        let found = read(std::io::Cursor::new(text.to_vec()), line, PATIENCE);
        let Excerpt::Lines(lines) = &found else { panic!("{found:?}") };
        let found: Vec<_> = lines.iter().map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_line_is_shown_with_its_neighbours() {
        let text = (1..=9).fold(String::new(), |text, number| text + &format!("line {number}\r\n"));
        let around = [
            (2, "line 2"),
            (3, "line 3"),
            (4, "line 4"),
            (5, "line 5"),
            (6, "line 6"),
            (7, "line 7"),
            (8, "line 8"),
        ];
        check(text.as_bytes(), 5, &around);
        check(text.as_bytes(), 1, &[(1, "line 1"), (2, "line 2"), (3, "line 3"), (4, "line 4")]);
        check(b"one\ntwo", 2, &[(1, "one"), (2, "two")]);
        assert_eq!(read(std::io::Cursor::new(b"one\ntwo".to_vec()), 9, PATIENCE), Excerpt::Beyond);
    }

    #[test]
    fn packed_and_foreign_text_is_shown_as_it_was_read() {
        use std::io::Write as _;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let (text, ..) = encoding_rs::WINDOWS_1251.encode("первая\nвторая\n");
        packed.write_all(&text).unwrap();
        check(&packed.finish().unwrap(), 2, &[(1, "первая"), (2, "вторая")]);
    }

    #[test]
    fn long_lines_are_cut_and_long_ways_given_up() {
        let text = format!("a\n{}\nb\n", "ж".repeat(100_000));
        let Excerpt::Lines(lines) = read(std::io::Cursor::new(text.into_bytes()), 2, PATIENCE) else {
            panic!()
        };
        assert!(lines[1].is_cut && lines[1].text.chars().all(|letter| letter == 'ж'));
        assert!(lines[1].text.len() <= LINE_BYTES && lines[2].text == "b" && !lines[2].is_cut);
        let long = std::io::repeat(b'x').take(64 << 20);
        assert_eq!(read(long, 2, Duration::ZERO), Excerpt::TooFar);
    }
}
