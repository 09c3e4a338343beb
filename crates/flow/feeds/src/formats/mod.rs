//! One file per format. Each gives the same: a [`RawRecord`] after the other.

mod avito;
mod cut;
mod entities;
mod events;
mod fields;
mod google;
mod json;
mod listed;
mod own;
mod plain;
mod recognise;
mod skeleton;
mod table;
pub(crate) mod tree;
mod yml;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Issue, Level, names};

use crate::fatal::Fatal;
use crate::issue;
use crate::limits::Limits;
use crate::offer::FeedOffer;
use crate::text::Text;
use crate::unpack;
pub use crate::unpack::Packing;
use crate::window::Window;
pub use recognise::Format;

/// One record of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawRecord {
    /// Where it begins.
    pub line: u64,
    /// Empty: it has none, and an issue says so.
    pub external_id: String,
    /// What could be read.
    pub offer: FeedOffer,
    pub issues: Vec<Issue>,
    pub raw_bytes: usize,
}

impl RawRecord {
    pub fn is_bad(&self) -> bool {
        self.issues.iter().any(|issue| issue.level() == Level::Error)
    }
}

/// What a format found at the window's beginning; its bytes stay there until the next is asked for.
pub(crate) struct Found {
    pub(crate) line: u64,
    pub(crate) offer: FeedOffer,
    pub(crate) issues: Vec<Issue>,
    pub(crate) len: usize,
}

/// A format that is being read.
pub(crate) trait Source: Send {
    fn next(&mut self, window: &mut Window, limits: &Limits) -> Result<Option<Found>, Fatal>;
}

/// The text of a reference of XML or HTML, without its `&` and `;`.
pub(crate) fn entity(name: &str) -> Option<std::borrow::Cow<'static, str>> {
    entities::resolve(name, events::Rigour::Lenient)
}

/// A file that is being read.
pub struct Records {
    window: Window,
    source: Box<dyn Source>,
    format: Format,
    packing: Packing,
    limits: Limits,
    read_bytes: Arc<AtomicU64>,
    /// The bytes of the last record.
    last: usize,
    ended: bool,
    link_is_id: bool,
}

/// Reads any supported file as a stream of records, in constant memory. Blocking.
pub fn records(input: impl Read + Send + 'static, limits: &Limits) -> Result<Records, Fatal> {
    let read_bytes = Arc::new(AtomicU64::new(0));
    let (packing, unpacked) = unpack::unpack(input, limits, &read_bytes)?;
    let mut window = Window::new(Text::open(unpacked, limits.piece_bytes)?);
    let (format, source) = recognise::recognise(&mut window, limits)?;
    let limits = limits.clone();
    Ok(Records {
        window,
        source,
        format,
        packing,
        limits,
        read_bytes,
        last: 0,
        ended: false,
        link_is_id: format == Format::Parsed,
    })
}

impl Records {
    /// The next record; none: the file has ended as it should.
    #[expect(
        clippy::should_implement_trait,
        reason = "an error ends the file, and an iterator would hide it"
    )]
    pub fn next(&mut self) -> Result<Option<RawRecord>, Fatal> {
        if self.ended {
            return Ok(None);
        }
        self.window.consume(std::mem::take(&mut self.last));
        let found = self.source.next(&mut self.window, &self.limits);
        let Some(found) = found.inspect_err(|_| self.ended = true)? else {
            self.ended = true;
            return Ok(None);
        };
        self.last = found.len;
        Ok(Some(self.finish(found)))
    }

    /// The bytes of the record that [`Self::next`] gave last, in UTF-8. Empty for one that was too long.
    pub fn raw(&self) -> &[u8] {
        &self.window.data()[..self.last]
    }

    /// For feeds that a service has collected: an offer without an id is known by its link, even where the profile stands
    /// behind the offers and the file could not be recognised by it.
    pub fn take_links_for_ids(&mut self) {
        self.link_is_id = true;
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn packing(&self) -> Packing {
        self.packing
    }

    pub fn encoding(&self) -> &'static str {
        self.window.source().encoding()
    }

    /// The encoding that the file names although its bytes are in another.
    pub fn contradicted_encoding(&self) -> Option<&str> {
        self.window.source().contradicted()
    }

    /// Bytes of the file as it is, packed or not, that were read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of text so far.
    pub fn text_bytes(&self) -> u64 {
        self.window.offset()
    }

    /// What all formats have in common: the id, and characters that were lost.
    fn finish(&self, found: Found) -> RawRecord {
        let Found { line, mut offer, mut issues, len } = found;
        let vin = || offer.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case("vin"));
        if offer.id.is_empty()
            && let Some(vin) = vin()
        {
            offer.id = vin.value.trim().to_owned();
        }
        if offer.id.is_empty() && self.link_is_id && !offer.url.is_empty() {
            offer.id = blake3::hash(offer.url.as_bytes()).to_hex()[..32].into();
        }
        let mut external_id = offer.id.clone();
        // A record that could not be read at all may have had an id.
        if external_id.is_empty() && !issues.iter().any(|issue| issue.level() == Level::Error) {
            issues.push(issue::error("id_missing", "id", ""));
        } else if !external_id.is_empty() && names::check_external_id(&external_id).is_err() {
            let characters = external_id.chars().count().to_string();
            let limit = names::MAX_EXTERNAL_ID_BYTES.to_string();
            issues.push(issue::with(issue::error("too_long", "id", &external_id), &[&characters, &limit]));
            external_id = String::new();
        }
        let replaced = self.window.source().replaced()
            && memchr::memmem::find(&self.window.data()[..len], "\u{FFFD}".as_bytes()).is_some();
        if replaced {
            issues.push(issue::warning("characters_lost", "", ""));
        }
        RawRecord { line, external_id, offer, issues, raw_bytes: len }
    }
}
