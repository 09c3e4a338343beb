//! gzip and zip, with limits. What is neither passes as it is.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};

use crate::fatal::Fatal;
use crate::limits::Limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zip,
}

/// The bytes of the file, unpacked once.
pub(crate) fn unpack(
    mut input: impl Read + Send + 'static,
    limits: &Limits,
    read_bytes: &Arc<AtomicU64>,
) -> Result<(Packing, Box<dyn Read + Send>), Fatal> {
    let mut head = Vec::new();
    input.by_ref().take(4).read_to_end(&mut head).map_err(|error| Fatal::input(&error))?;
    let packing = match head.as_slice() {
        [0x1F, 0x8B, ..] => Packing::Gzip,
        LOCAL_FILE => Packing::Zip,
        _ => Packing::Plain,
    };
    let input = BufReader::with_capacity(
        128 << 10,
        Raw {
            inner: Cursor::new(head).chain(input),
            read_bytes: Arc::clone(read_bytes),
            limit: limits.raw_bytes,
        },
    );
    let inner: Box<dyn Read + Send> = match packing {
        Packing::Plain => Box::new(input),
        Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
        Packing::Zip => Box::new(Zip::open(input).map_err(|error| Fatal::from_io(&error))?),
    };
    let unpacked = Unpacked { inner, read_bytes: Arc::clone(read_bytes), limits: limits.clone(), bytes: 0 };
    Ok((packing, Box::new(unpacked)))
}

/// Counts what is read, and tells errors of the input from those of unpacking.
struct Raw<R> {
    inner: Chain<Cursor<Vec<u8>>, R>,
    read_bytes: Arc<AtomicU64>,
    limit: u64,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| Fatal::input(&error).into_io())?,
            }
        };
        let total = self.read_bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
        if total > self.limit {
            return Err(Fatal::new("feed_too_large", &[&self.limit.to_string()]).into_io());
        }
        Ok(read)
    }
}

struct Unpacked {
    inner: Box<dyn Read + Send>,
    read_bytes: Arc<AtomicU64>,
    limits: Limits,
    bytes: u64,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        let packed = self.read_bytes.load(Ordering::Relaxed).max(1);
        let bomb =
            self.bytes > self.limits.ratio_from_bytes && self.bytes / packed > self.limits.unpack_ratio;
        if bomb {
            return Err(Fatal::new("archive_bomb", &[&self.limits.unpack_ratio.to_string()]).into_io());
        }
        if self.bytes > self.limits.unpacked_bytes {
            return Err(Fatal::new("feed_too_large", &[&self.limits.unpacked_bytes.to_string()]).into_io());
        }
        Ok(read)
    }
}

const LOCAL_FILE: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The one file of an archive, read forwards: the directory at the end of it is not needed, so nothing is kept.
struct Zip<R> {
    entry: Entry<R>,
    /// Of the header; none: it follows the data.
    sum: Option<u32>,
    seen: flate2::Crc,
}

enum Entry<R> {
    Stored { input: BufReader<R>, left: u64 },
    Deflated(DeflateDecoder<BufReader<R>>),
    Ended,
}

struct Header {
    name: String,
    flags: u16,
    method: u16,
    sum: u32,
    packed_bytes: u32,
}

impl<R: Read> Zip<R> {
    fn open(mut input: BufReader<R>) -> io::Result<Self> {
        let header = loop {
            let header = header(&mut input)?;
            if !header.name.ends_with('/') {
                break header;
            }
        };
        let sized = header.flags & 8 == 0;
        let entry = match header.method {
            _ if header.flags & 1 != 0 => return Err(refuse("a password")),
            STORED if sized && header.packed_bytes != u32::MAX => {
                Entry::Stored { input, left: u64::from(header.packed_bytes) }
            }
            DEFLATED => Entry::Deflated(DeflateDecoder::new(input)),
            _ => return Err(refuse("this way of packing")),
        };
        Ok(Self { entry, sum: sized.then_some(header.sum), seen: flate2::Crc::new() })
    }

    /// The data has ended: it must be whole, and the only file.
    fn finish(&mut self) -> io::Result<()> {
        let mut input = match std::mem::replace(&mut self.entry, Entry::Ended) {
            Entry::Stored { input, .. } => input,
            Entry::Deflated(decoder) => decoder.into_inner(),
            Entry::Ended => return Ok(()),
        };
        let sum = match self.sum {
            Some(sum) => sum,
            None => descriptor(&mut input)?,
        };
        if sum != self.seen.sum() {
            return Err(Fatal::new("archive_broken", &["checksum"]).into_io());
        }
        let rest = input.fill_buf()?;
        if rest.starts_with(LOCAL_FILE) {
            let next = header(&mut input)?;
            let ignored = next.name.starts_with("__MACOSX/") || next.name.ends_with('/');
            if !ignored {
                return Err(Fatal::new("archive_several_files", &[&next.name]).into_io());
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Zip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = match &mut self.entry {
            Entry::Stored { input, left } => {
                let most = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let read = input.read(&mut buffer[..most])?;
                if read == 0 && *left > 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left -= read as u64;
                read
            }
            Entry::Deflated(decoder) => decoder.read(buffer)?,
            Entry::Ended => 0,
        };
        self.seen.update(&buffer[..read]);
        if read == 0 {
            self.finish()?;
        }
        Ok(read)
    }
}

fn header(input: &mut impl Read) -> io::Result<Header> {
    let mut fixed = [0; 30];
    input.read_exact(&mut fixed)?;
    if !fixed.starts_with(LOCAL_FILE) {
        return Err(Fatal::new("archive_broken", &["header"]).into_io());
    }
    let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
    let long = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let mut name = vec![0; usize::from(short(26))];
    input.read_exact(&mut name)?;
    io::copy(&mut input.take(u64::from(short(28))), &mut io::sink())?;
    Ok(Header {
        name: String::from_utf8_lossy(&name).into_owned(),
        flags: short(6),
        method: short(8),
        sum: long(14),
        packed_bytes: long(18),
    })
}

/// The checksum behind the data, with or without its mark, and the two sizes after it.
fn descriptor(input: &mut BufReader<impl Read>) -> io::Result<u32> {
    let mut word = [0; 4];
    input.read_exact(&mut word)?;
    if word == *DESCRIPTOR {
        input.read_exact(&mut word)?;
    }
    let sum = u32::from_le_bytes(word);
    io::copy(&mut input.take(8), &mut io::sink())?;
    // Sizes of eight bytes in large archives: the next mark shows it.
    if !input.fill_buf()?.starts_with(b"PK") {
        io::copy(&mut input.take(8), &mut io::sink())?;
    }
    Ok(sum)
}

fn refuse(what: &str) -> io::Error {
    Fatal::new("archive_unsupported", &[what]).into_io()
}
