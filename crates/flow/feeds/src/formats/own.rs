//! Our own XML, checked against `feed.xsd` while it is read.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::cut::{Cut, Cutter};
use super::events::{self, Attributes, Broken, Rigour, Visitor};
use super::plain;
use super::skeleton::{self, Token};
use super::{Found, Source};
use crate::fatal::Fatal;
use crate::issue;
use crate::limits::Limits;
use crate::offer::{FeedAttribute, FeedOffer};
use crate::window::Window;
use crate::xsd::{Content, Schema, Violation, Walker, compile};
use model::Issue;

struct Own {
    schema: Schema,
    offer: usize,
    /// What an element means, by its number.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Nothing,
    Offer,
    Title,
    Description,
    Category,
    Price,
    Condition,
    Attribute,
    Image,
    Video,
    Location,
    ContactName,
    Phone,
    Email,
    Url,
    Vendor,
    Barcode,
    Weight,
    Dimensions,
}

static OWN: LazyLock<Own> = LazyLock::new(|| {
    let schema = compile(crate::SCHEMA).expect("the schema in this program is checked by a test");
    let step = |parent, name| schema.child(parent, name).expect("a test reads an offer with every element");
    let offer = step(step(schema.root, "offers"), "offer");
    let mut slots = vec![Slot::Nothing; schema.elements.len()];
    slots[offer] = Slot::Offer;
    let direct = [
        ("title", Slot::Title),
        ("description", Slot::Description),
        ("category", Slot::Category),
        ("price", Slot::Price),
        ("condition", Slot::Condition),
        ("video", Slot::Video),
        ("location", Slot::Location),
        ("url", Slot::Url),
        ("vendor", Slot::Vendor),
        ("barcode", Slot::Barcode),
        ("weight", Slot::Weight),
        ("dimensions", Slot::Dimensions),
    ];
    for (name, slot) in direct {
        slots[step(offer, name)] = slot;
    }
    slots[step(step(offer, "attributes"), "attribute")] = Slot::Attribute;
    slots[step(step(offer, "images"), "image")] = Slot::Image;
    let contacts = step(offer, "contacts");
    for (name, slot) in [("name", Slot::ContactName), ("phone", Slot::Phone), ("email", Slot::Email)] {
        slots[step(contacts, name)] = slot;
    }
    Own { schema, offer, slots }
});

pub(crate) struct OwnXml {
    cutter: Cutter,
    outer: Walker<'static>,
    /// The text of the innermost open element around the records.
    text: String,
    /// Names of elements that are open around the records.
    open: Vec<String>,
    root_ended: bool,
    begun: bool,
}

impl OwnXml {
    pub(crate) fn new() -> Self {
        Self {
            cutter: Cutter::new("offer", "offers"),
            outer: Walker::new(&OWN.schema),
            text: String::new(),
            open: Vec::new(),
            root_ended: false,
            begun: false,
        }
    }

    /// One token outside of records. False: the end.
    fn around(&mut self, window: &mut Window, limits: &Limits) -> Result<bool, Fatal> {
        let broken = |window: &Window, what: &str| Fatal::new("xml_broken_top", &[what]).at(window.place(0));
        let len = match skeleton::token(window, limits)? {
            Token::Eof => {
                if self.root_ended {
                    return Ok(false);
                }
                return Err(Fatal::new("xml_truncated", &[]).at(window.place(0)));
            }
            Token::Other(len) => {
                let declaration = window.data().starts_with(b"<?xml ");
                if declaration && self.begun {
                    return Err(broken(window, "<?xml"));
                }
                len
            }
            Token::Doctype(len) => {
                if !self.open.is_empty() || self.root_ended {
                    return Err(broken(window, "<!DOCTYPE"));
                }
                len
            }
            Token::Text(len) | Token::CData(len) => {
                let text = skeleton::text(&window.data()[..len]);
                if self.open.is_empty() && !text.trim_ascii().is_empty() {
                    return Err(broken(window, &issue::shortened(text.trim())));
                }
                if self.text.len() + len < limits.token_bytes {
                    self.text.push_str(text);
                }
                len
            }
            Token::Start { name, len, empty } => {
                if self.root_ended || self.open.len() >= limits.depth {
                    return Err(broken(window, &format!("<{name}>")));
                }
                self.start(window, limits, &name, len)?;
                self.open.push(name);
                if empty {
                    self.end(window)?;
                }
                len
            }
            Token::End { name, len } => {
                if self.open.last() != Some(&name) {
                    return Err(broken(window, &format!("</{name}>")));
                }
                self.end(window)?;
                len
            }
        };
        self.begun = true;
        window.consume(len);
        Ok(true)
    }

    fn start(&mut self, window: &Window, limits: &Limits, name: &str, len: usize) -> Result<(), Fatal> {
        let tag = skeleton::text(&window.data()[..len]);
        let mut attributes = Vec::new();
        events::parse_attributes(tag, 1 + name.len(), Rigour::Strict, limits, &mut attributes)
            .map_err(|what| Fatal::new("xml_broken_top", &[&what]).at(window.place(0)))?;
        if !self.text.trim_ascii().is_empty() {
            self.outer.stray_text(&self.text);
        }
        self.text.clear();
        if let Some(element) = self.outer.start(name, 0) {
            check_attributes(&mut self.outer, element, &attributes, 0, |_, _| ());
        }
        self.judge(window)
    }

    fn end(&mut self, window: &Window) -> Result<(), Fatal> {
        self.outer.end(&self.text);
        self.text.clear();
        self.open.pop();
        self.root_ended = self.open.is_empty();
        self.judge(window)
    }

    /// A rule broken outside of offers is fatal.
    fn judge(&mut self, window: &Window) -> Result<(), Fatal> {
        let Some(violation) = self.outer.violations.first() else { return Ok(()) };
        let issue = issue_of(violation);
        let words = model::message::render(&issue, model::Language::English);
        Err(Fatal::new("xml_top_level", &[&words]).at(window.place(0)))
    }
}

impl Source for OwnXml {
    fn next(&mut self, window: &mut Window, limits: &Limits) -> Result<Option<Found>, Fatal> {
        loop {
            // `</offers` is the longest of what has to be told apart here.
            let data = window.at_least(8)?;
            let in_offers = self.open.last().is_some_and(|name| name == "offers") && self.open.len() == 2;
            if in_offers && self.cutter.begins(data) {
                break;
            }
            if !self.around(window, limits)? {
                return Ok(None);
            }
        }
        let line = window.line();
        let mut builder = Builder::new();
        if let Some(len) = plain::read(window.text(), limits, &mut builder) {
            let (offer, issues) = builder.finish(&window.text()[..len], line);
            return Ok(Some(Found { line, offer, issues, len }));
        }
        let cut = self.cutter.cut(window, limits)?;
        Ok(Some(match cut {
            Cut::Whole(len) => {
                let (offer, issues) = read(skeleton::text(&window.data()[..len]), line, limits);
                Found { line, offer, issues, len }
            }
            Cut::Unclosed(len) => {
                let (offer, mut issues) = read(skeleton::text(&window.data()[..len]), line, limits);
                if issues.is_empty() {
                    issues.push(broken_issue("xml_broken", "", "</offer>", 0));
                }
                Found { line, offer, issues, len }
            }
            Cut::TooLong(len) => {
                let (offer, issues) = super::listed::too_long(&window.data()[..len], limits);
                window.consume(len);
                self.cutter.skip(window)?;
                Found { line, offer, issues, len: 0 }
            }
        }))
    }
}

/// One `<offer>`: what could be read of it, and what is wrong.
fn read(text: &str, line: u64, limits: &Limits) -> (FeedOffer, Vec<Issue>) {
    let mut builder = Builder::new();
    // What is not well-formed makes the rest of the walk meaningless.
    let Err(Broken { code, what, at }) = events::read(text, Rigour::Strict, limits, &mut builder) else {
        return builder.finish(text, line);
    };
    if builder.offer.id.is_empty() {
        builder.offer.id = super::listed::scraps(text, limits).id;
    }
    (builder.offer, vec![broken_issue(code, "", &what, line_of(text, line, at))])
}

/// The line of a byte of a record; 0: the one on which the record begins.
fn line_of(text: &str, line: u64, at: usize) -> i64 {
    let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[..at.min(text.len())]).count() as i64;
    if lines == 0 { 0 } else { line as i64 + lines }
}

pub(super) fn broken_issue(code: &str, value: &str, what: &str, line: i64) -> Issue {
    Issue { line, ..issue::with(issue::error(code, "", value), &[what]) }
}

fn issue_of(violation: &Violation) -> Issue {
    let mut issue = issue::error(violation.code, &violation.field, &violation.value);
    issue.parameters.clone_from(&violation.parameters);
    if violation.code == "not_an_option" {
        issue.suggestion = violation.parameters.first().cloned().unwrap_or_default();
    }
    issue
}

fn check_attributes<'t>(
    walker: &mut Walker<'_>,
    element: usize,
    attributes: &'t Attributes<'_>,
    at: usize,
    mut take: impl FnMut(&'t str, Cow<'t, str>),
) {
    let mut present = 0;
    for (name, value) in attributes {
        if let Some((place, value)) = walker.attribute(element, name, value, at) {
            present |= 1 << place;
            take(name, value);
        }
    }
    walker.attributes_end(element, present, at);
}

/// More room in a text that is put together from pieces.
const JOINED_BYTES: usize = 128;

struct Builder<'a> {
    walker: Walker<'static>,
    text: Cow<'a, str>,
    offer: FeedOffer,
    attribute: FeedAttribute,
}

impl Builder<'_> {
    fn new() -> Self {
        Self {
            walker: Walker::new(&OWN.schema),
            text: Cow::Borrowed(""),
            offer: FeedOffer::default(),
            attribute: FeedAttribute::default(),
        }
    }

    /// The offer, and the rules that its text breaks.
    fn finish(self, text: &str, line: u64) -> (FeedOffer, Vec<Issue>) {
        let issue =
            |violation: &Violation| Issue { line: line_of(text, line, violation.at), ..issue_of(violation) };
        (self.offer, self.walker.violations.iter().map(issue).collect())
    }
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn start(&mut self, name: &'a str, attributes: &Attributes<'a>, _at: usize, end: usize) {
        let element = if self.walker.depth() == 0 {
            self.walker.enter(OWN.offer, end);
            Some(OWN.offer)
        } else {
            self.walker.start(name, end)
        };
        self.text = Cow::Borrowed("");
        let Some(element) = element else { return };
        if attributes.is_empty() && OWN.schema.attributes(element).is_empty() {
            return;
        }
        let (slot, offer, attribute) = (OWN.slots[element], &mut self.offer, &mut self.attribute);
        check_attributes(&mut self.walker, element, attributes, end, |name, value| {
            let value = value.into_owned();
            match (slot, name) {
                (Slot::Offer, "id") => offer.id = value,
                (Slot::Category, "id") => offer.category_id = value,
                (Slot::Price, "currency") => offer.currency = value,
                (Slot::Attribute, "name") => attribute.name = value,
                (Slot::Attribute, "unit") => attribute.unit = value,
                (Slot::Location, "lat") => offer.lat = value,
                (Slot::Location, "lon") => offer.lon = value,
                (Slot::Weight, "unit") => offer.weight_unit = value,
                (Slot::Dimensions, "length") => offer.length = value,
                (Slot::Dimensions, "width") => offer.width = value,
                (Slot::Dimensions, "height") => offer.height = value,
                (Slot::Dimensions, "unit") => offer.size_unit = value,
                _ => {}
            }
        });
    }

    fn text(&mut self, text: Cow<'a, str>) {
        match self.walker.current().map(|element| OWN.schema.content(element)) {
            Some(Content::Text(_)) => {}
            content => match text.trim_ascii() {
                "" if matches!(content, Some(Content::Empty)) => {}
                "" => return,
                _ => return self.walker.stray_text(&text),
            },
        }
        match &mut self.text {
            before if before.is_empty() => self.text = text,
            Cow::Owned(before) => before.push_str(&text),
            Cow::Borrowed(before) => {
                // There is a reference in the text, and most often something after it.
                let mut joined = String::with_capacity(before.len() + text.len() + JOINED_BYTES);
                joined.push_str(before);
                joined.push_str(&text);
                self.text = Cow::Owned(joined);
            }
        }
    }

    fn blank(&mut self, text: &'a str) {
        let content = self.walker.current().map(|element| OWN.schema.content(element));
        // Between elements it means nothing.
        if !matches!(content, Some(Content::All(_) | Content::Sequence(_))) {
            self.text(Cow::Borrowed(text));
        }
    }

    fn end(&mut self) {
        let text = std::mem::replace(&mut self.text, Cow::Borrowed(""));
        let Some((element, value)) = self.walker.end(&text) else { return };
        let offer = &mut self.offer;
        // A text that was put together already is not copied again.
        let whole = matches!(value, Cow::Borrowed(value) if value.len() == text.len());
        let changed = if whole { None } else { Some(value.into_owned()) };
        let value = changed.unwrap_or_else(|| text.into_owned());
        match OWN.slots[element] {
            Slot::Nothing | Slot::Offer | Slot::Dimensions => {}
            Slot::Title => offer.title = value,
            Slot::Description => offer.description = value,
            Slot::Category => {
                let names = value.split('/').flat_map(|part| part.split('>'));
                let names = names.map(str::trim).filter(|name| !name.is_empty());
                offer.category_path = names.map(str::to_owned).collect();
            }
            Slot::Price => offer.price = value,
            Slot::Condition => offer.condition = value,
            Slot::Attribute => {
                let attribute = std::mem::take(&mut self.attribute);
                offer.attributes.push(FeedAttribute { value, ..attribute });
            }
            Slot::Image => offer.images.push(value),
            Slot::Video => offer.video = value,
            Slot::Location => offer.address = value,
            Slot::ContactName => offer.contact_name = value,
            Slot::Phone => offer.phones.push(value),
            Slot::Email => offer.email = value,
            Slot::Url => offer.url = value,
            Slot::Vendor => offer.vendor = value,
            Slot::Barcode => offer.barcode = value,
            Slot::Weight => offer.weight = value,
        }
    }

    fn guessed(&mut self, _code: &'static str, _value: &str) {}
}
