//! Reading own XML on one core: validated and parsed, and unified too, beside quick-xml's bare event loop over the same
//! file; and the memory that a file of gigabytes takes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use e2e::bench::{self, Figure};
use e2e::own_feed::{End, OwnFeed};
use feeds::{Knowledge, Limits, Settings};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Offers of the measured file.
    #[arg(long, default_value_t = 200_000)]
    offers: u64,
    /// Also read a packed file of this size, made while it is read, and print the memory it took.
    #[arg(long)]
    gigabytes: Option<u64>,
    /// How often each is measured; the best counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(gigabytes) = arguments.gigabytes {
        return memory(gigabytes);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("feed.xml");
    let mut file = BufWriter::new(File::create(&path)?);
    let bytes = std::io::copy(&mut OwnFeed::new(End::Offers(arguments.offers)), &mut file)?;
    file.flush()?;
    println!("{} offers, {} MB", arguments.offers, bytes / 1_000_000);
    let knowledge = Knowledge::shipped();
    let (mut bare, mut parsed, mut unified) = (f64::MAX, f64::MAX, f64::MAX);
    // By turns, so that what goes on in the background meets all.
    for _ in 0..arguments.rounds {
        bare = bare.min(seconds(|| bare_loop(&path))?);
        parsed = parsed.min(seconds(|| read(&path, arguments.offers, None))?);
        unified = unified.min(seconds(|| read(&path, arguments.offers, Some(&knowledge)))?);
    }
    let speed = |seconds: f64| bytes as f64 / seconds / 1e6;
    let figures = [
        Figure::new("validated and parsed", "MB/s", speed(parsed), "≥ 0.5").beside(speed(bare)),
        Figure::new("with unify", "MB/s", speed(unified), "≥ 0.2").beside(speed(bare)),
        Figure::new("unified offers", "offers/s", arguments.offers as f64 / unified, "-"),
    ];
    bench::print("own XML, one core; reference: quick-xml's bare event loop", &figures);
    println!("peak memory {} MB", peak_megabytes()?);
    bench::save("parse", &figures)
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

fn bare_loop(path: &Path) -> Result<()> {
    let mut reader = quick_xml::Reader::from_reader(BufReader::with_capacity(128 << 10, File::open(path)?));
    let mut buffer = Vec::new();
    let mut events = 0_u64;
    loop {
        match reader.read_event_into(&mut buffer)? {
            quick_xml::events::Event::Eof => break,
            _ => events += 1,
        }
        buffer.clear();
    }
    ensure!(events > 0, "the file is empty");
    Ok(())
}

fn read(path: &Path, offers: u64, knowledge: Option<&Knowledge>) -> Result<()> {
    let mut records = feeds::records(File::open(path)?, &Limits::default())?;
    let settings = Settings::default();
    let mut good = 0;
    while let Some(record) = records.next()? {
        ensure!(!record.is_bad(), "line {}: {:?}", record.line, record.issues);
        if let Some(knowledge) = knowledge {
            let (content, _) = feeds::unify(&record.offer, knowledge, &settings);
            ensure!(!content.title.is_empty(), "line {}: no title", record.line);
        }
        good += 1;
    }
    ensure!(good == offers, "{good} offers instead of {offers}");
    Ok(())
}

/// A check of a packed file of gigabytes, which exists only as it is read.
fn memory(gigabytes: u64) -> Result<()> {
    let feed = OwnFeed::new(End::Bytes(gigabytes << 30));
    let packed = flate2::read::GzEncoder::new(feed, flate2::Compression::fast());
    let knowledge = Knowledge::shipped();
    let settings = Settings::default();
    let began = Instant::now();
    let judge = &mut |record: &mut feeds::RawRecord| {
        let (_, issues) = feeds::unify(&record.offer, &knowledge, &settings);
        record.issues.extend(issues);
    };
    let (summary, fatal) = feeds::check::check::<anyhow::Error>(
        Box::new(packed) as Box<dyn Read + Send>,
        &Limits::default(),
        judge,
        &mut |_| Ok(()),
    )?;
    ensure!(fatal.is_none(), "{fatal:?}");
    println!(
        "{} offers, {} MB of text in {:.0} s, {} errors; peak memory {} MB (wanted < 200)",
        summary.offers,
        summary.text_bytes / 1_000_000,
        began.elapsed().as_secs_f64(),
        summary.errors,
        peak_megabytes()?
    );
    Ok(())
}

fn peak_megabytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kilobytes: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kilobytes / 1_024)
}
