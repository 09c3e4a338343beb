//! Feeds: a seller's file becomes a stream of unified offers.
//!
//! The reading side is here. A file of any supported format comes in as bytes and goes out as records, one at a time:
//!
//! ```text
//! bytes → unpack (gzip, zip) → text (UTF-8) → formats (one file each) → RawRecord { FeedOffer, issues } → unify → Content
//! ```
//!
//! - The format is recognised from the content, never from the name ([`records`]).
//! - Memory is constant: a [`window::Window`] holds the record that is being read and little more, whatever the size of
//!   the file. Every length that a file can choose has a limit in [`Limits`].
//! - **A bad record costs itself only.** Records are first cut out of the text by their outer marks, then read; what is
//!   broken inside of one is an issue of that record with its line, and reading goes on at the next. What breaks the file
//!   as a whole (a truncated end, a wrong root, a bomb) is [`Fatal`], and nothing after it is trusted.
//! - Own XML is checked against `schema/feed.xsd`. The schema is compiled to tables at start, an unsupported construct is
//!   refused there, and the tables are walked over quick-xml's events while the record is built, in one pass. `xmllint`
//!   is the second opinion, in the tests only.
//! - Nothing outside of the file is ever fetched: no DTD, no entity, no schema location. Entities that a file declares
//!   are not expanded.
//! - What real feeds do wrong and can be understood is read, and what was guessed or lost is a warning.
//!
//! Reading is blocking and belongs on a blocking thread. Whether an id stands twice in a file is decided by those who
//! read all of it ([`check`] here, the offers' own rows in a load).

pub mod check;
mod fatal;
pub mod formats;
mod issue;
mod limits;
mod offer;
pub mod report;
mod seen;
mod text;
mod unpack;
mod window;
pub mod xsd;

pub use fatal::Fatal;
pub use formats::{Format, RawRecord, Records, records};
pub use limits::Limits;
pub use offer::{FeedAttribute, FeedOffer};

/// The published schema of the own format, and an example of it.
pub const SCHEMA: &str = include_str!("../schema/feed.xsd");
pub const EXAMPLE: &str = include_str!("../schema/feed-example.xml");
