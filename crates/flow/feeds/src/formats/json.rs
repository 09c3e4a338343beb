//! JSON: a list of offers, an object that holds one, JSON Lines, and `{"profile": …, "offers": […]}` as collected from
//! another site. Objects are cut out by their braces, then read: a broken one costs itself.

use serde_json::Value;

use super::fields::{self, Field};
use super::listed::{record_too_full, record_too_long};
use super::recognise::Format;
use super::{Found, Source};
use crate::fatal::Fatal;
use crate::issue;
use crate::limits::Limits;
use crate::offer::FeedOffer;
use crate::window::Window;
use model::Issue;

/// Under which names an object holds the list.
const LISTS: [&str; 5] = ["offers", "items", "products", "ads", "goods"];

struct Json {
    shape: Shape,
    /// Of `parsed`: what the seller's profile says for all offers.
    profile: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Inside of `[…]`; `nested`: which is itself in an object.
    List {
        nested: bool,
    },
    Lines,
    Ended,
}

pub(super) fn recognise(window: &mut Window, limits: &Limits) -> Result<(Format, Box<dyn Source>), Fatal> {
    if window.data().first() == Some(&b'[') {
        window.consume(1);
        let source = Json { shape: Shape::List { nested: false }, profile: None };
        return Ok((Format::Json, Box::new(source)));
    }
    // An object: one of many lines, or one that holds the list. Its keys tell.
    let mut at = 1;
    let mut profile = None;
    loop {
        at = space(window, at, limits)?;
        // A real file has less before its offers; one offer that is longer than a record may be says so itself.
        if at >= limits.record_bytes {
            return Ok(lines());
        }
        match window.data().get(at) {
            Some(b',') => at += 1,
            Some(b'"') => {
                let Some(key_end) = value_end(window, at, limits)? else { return Err(broken(window, at)) };
                let key: String = serde_json::from_slice(&window.data()[at..key_end]).unwrap_or_default();
                let colon = space(window, key_end, limits)?;
                if window.data().get(colon) != Some(&b':') {
                    return Ok(lines());
                }
                let value = space(window, colon + 1, limits)?;
                if LISTS.contains(&key.as_str()) && window.data().get(value) == Some(&b'[') {
                    window.consume(value + 1);
                    let format = if profile.is_some() { Format::Parsed } else { Format::Json };
                    return Ok((format, Box::new(Json { shape: Shape::List { nested: true }, profile })));
                }
                let Some(end) = value_end(window, value, limits)? else { return Ok(lines()) };
                if key == "profile" {
                    profile = serde_json::from_slice(&window.data()[value..end]).ok();
                }
                at = end;
            }
            _ => return Ok(lines()),
        }
    }
}

fn lines() -> (Format, Box<dyn Source>) {
    (Format::JsonLines, Box::new(Json { shape: Shape::Lines, profile: None }))
}

impl Source for Json {
    fn next(&mut self, window: &mut Window, limits: &Limits) -> Result<Option<Found>, Fatal> {
        loop {
            pass_space(window)?;
            match (self.shape, window.data().first()) {
                (Shape::Lines | Shape::Ended, None) => return Ok(None),
                (Shape::List { .. }, None) => {
                    return Err(Fatal::new("json_truncated", &[]).at(window.place(0)));
                }
                (Shape::List { .. } | Shape::Lines, Some(b',')) => window.consume(1),
                (Shape::List { nested }, Some(b']')) => {
                    window.consume(1);
                    self.end(window, nested, limits)?;
                }
                (Shape::Ended, Some(_)) => return Err(broken(window, 0)),
                (Shape::List { .. } | Shape::Lines, Some(_)) => return self.record(window, limits).map(Some),
            }
        }
    }
}

impl Json {
    fn record(&self, window: &mut Window, limits: &Limits) -> Result<Found, Fatal> {
        let line = window.line();
        let end = match self.shape {
            Shape::Lines => line_or_value_end(window, limits)?,
            _ => value_end(window, 0, limits)?,
        };
        let Some(len) = end else {
            let data = window.data();
            let id = id_of(&data[..data.len().min(limits.record_bytes)]).unwrap_or_default();
            skip(window, self.shape == Shape::Lines)?;
            let offer = FeedOffer { id, ..FeedOffer::default() };
            return Ok(Found { line, offer, issues: vec![record_too_long(limits)], len: 0 });
        };
        if len == 0 {
            return Err(broken(window, 0));
        }
        let (mut offer, issues) = read(&window.data()[..len], line, limits);
        if let Some(profile) = &self.profile {
            complete(&mut offer, profile);
        }
        Ok(Found { line, offer, issues, len })
    }

    /// After the list: of an object, the rest of it.
    fn end(&mut self, window: &mut Window, nested: bool, limits: &Limits) -> Result<(), Fatal> {
        self.shape = Shape::Ended;
        if !nested {
            return Ok(());
        }
        loop {
            pass_space(window)?;
            match window.data().first() {
                None => return Err(Fatal::new("json_truncated", &[]).at(window.place(0))),
                Some(b'}') => {
                    window.consume(1);
                    return Ok(());
                }
                Some(b',' | b':') => window.consume(1),
                Some(_) => match value_end(window, 0, limits)? {
                    Some(len) if len > 0 => window.consume(len),
                    _ => return Err(broken(window, 0)),
                },
            }
        }
    }
}

fn read(bytes: &[u8], line: u64, limits: &Limits) -> (FeedOffer, Vec<Issue>) {
    let mut offer = FeedOffer::default();
    let mut issues = Vec::new();
    if memchr::memchr_iter(b',', bytes).count() > limits.record_values {
        offer.id = id_of(bytes).unwrap_or_default();
        return (offer, vec![record_too_full(limits)]);
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(object)) => {
            for (key, value) in &object {
                set(&mut offer, key, value, &mut issues);
            }
        }
        Ok(_) => issues.push(issue::error("json_not_an_object", "", &String::from_utf8_lossy(bytes))),
        Err(error) => {
            let mut issue = issue::with(issue::error("json_broken", "", ""), &[&words(&error)]);
            issue.line = if error.line() > 1 { line as i64 + error.line() as i64 - 1 } else { 0 };
            offer.id = id_of(bytes).unwrap_or_default();
            issues.push(issue);
        }
    }
    (offer, issues)
}

/// The id stands among the first keys of an object, or is not looked for any further.
const MAX_KEYS_BEFORE_ID: usize = 10_000;

/// Of an object of which only the beginning is there: its id, so that its offer is not taken for one that is gone.
fn id_of(data: &[u8]) -> Option<String> {
    let space =
        |at: usize| at + data[at.min(data.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = space(1);
    for _ in 0..MAX_KEYS_BEFORE_ID {
        if data.get(at) != Some(&b'"') {
            return None;
        }
        let key_end = Scan { at, depth: 0, quoted: false }.run(data)?;
        let key: String = serde_json::from_slice(&data[at..key_end]).ok()?;
        let colon = space(key_end);
        let value = space(colon + 1);
        let value_end = Scan { at: value, depth: 0, quoted: false }.run(data)?;
        if data.get(colon) != Some(&b':') {
            return None;
        }
        if fields::field(&key) == Some(Field::Id) {
            return match serde_json::from_slice(&data[value..value_end]).ok()? {
                Value::String(text) => Some(text.trim().to_owned()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
        }
        let comma = space(value_end);
        at = if data.get(comma) == Some(&b',') { space(comma + 1) } else { return None };
    }
    None
}

/// The error's own place counts from the record.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

fn set(offer: &mut FeedOffer, key: &str, value: &Value, issues: &mut Vec<Issue>) {
    match value {
        Value::Null => {}
        Value::String(text) => fields::set(offer, key, text, issues),
        Value::Number(number) => fields::set(offer, key, &number.to_string(), issues),
        Value::Bool(flag) => fields::set(offer, key, if *flag { "true" } else { "false" }, issues),
        Value::Array(values) => match key {
            "attributes" | "params" | "характеристики" => {
                for value in values {
                    attribute(offer, value);
                }
            }
            "category" | "category_path" => {
                offer.category_path = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            _ => {
                for value in values {
                    // An image may be an object with its address.
                    let inner = value.get("url").or_else(|| value.get("src")).unwrap_or(value);
                    set_scalar(offer, key, inner, issues);
                }
            }
        },
        Value::Object(object) => set_object(offer, key, object, issues),
    }
}

fn set_object(
    offer: &mut FeedOffer,
    key: &str,
    object: &serde_json::Map<String, Value>,
    issues: &mut Vec<Issue>,
) {
    match key {
        "attributes" | "params" => {
            for (name, value) in object {
                fields::attribute(offer, name, &scalar(value), "");
            }
        }
        "price" => {
            for name in ["amount", "value", "price"] {
                object.get(name).into_iter().for_each(|value| offer.price = scalar(value));
            }
            object.get("currency").into_iter().for_each(|value| offer.currency = scalar(value));
        }
        "category" => {
            object.get("id").into_iter().for_each(|value| offer.category_id = scalar(value));
            for name in ["path", "name"] {
                object.get(name).into_iter().for_each(|value| set(offer, "category", value, issues));
            }
        }
        "dimensions" => {
            for (name, value) in object {
                match name.as_str() {
                    "unit" => offer.size_unit = scalar(value),
                    _ => set_scalar(offer, name, value, issues),
                }
            }
        }
        "weight" => {
            object.get("value").into_iter().for_each(|value| offer.weight = scalar(value));
            object.get("unit").into_iter().for_each(|value| offer.weight_unit = scalar(value));
        }
        "location" | "contacts" | "contact" | "seller" => {
            for (name, value) in object {
                let name = if name == "name" && key != "location" { "contact_name" } else { name };
                set(offer, name, value, issues);
            }
        }
        _ => issues.push(issue::warning("json_object_ignored", key, "")),
    }
}

fn set_scalar(offer: &mut FeedOffer, key: &str, value: &Value, issues: &mut Vec<Issue>) {
    fields::set(offer, key, &scalar(value), issues);
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => String::new(),
    }
}

/// `{"name": …, "value": …, "unit": …}`.
fn attribute(offer: &mut FeedOffer, value: &Value) {
    let part = |name: &str| value.get(name).map(scalar).unwrap_or_default();
    fields::attribute(offer, &part("name"), &part("value"), &part("unit"));
}

/// What the profile says and the offer does not.
fn complete(offer: &mut FeedOffer, profile: &Value) {
    let mut from = FeedOffer::default();
    if let Value::Object(object) = profile {
        for (key, value) in object {
            let key = if key == "name" { "contact_name" } else { key };
            set(&mut from, key, value, &mut Vec::new());
        }
    }
    let fill = |own: &mut String, other: String| {
        if own.is_empty() {
            *own = other;
        }
    };
    fill(&mut offer.contact_name, from.contact_name);
    fill(&mut offer.email, from.email);
    if offer.phones.is_empty() {
        offer.phones = from.phones;
    }
    if offer.lat.is_empty() && offer.address.is_empty() {
        (offer.lat, offer.lon, offer.address) = (from.lat, from.lon, from.address);
    }
}

/// The first byte from `at` on that is no white space; or one of it, where there is more than a record may have.
fn space(window: &mut Window, mut at: usize, limits: &Limits) -> Result<usize, Fatal> {
    loop {
        let data = window.data();
        at += blank(&data[at.min(data.len())..]);
        if at < data.len() || at >= limits.record_bytes || !window.more()? {
            return Ok(at);
        }
    }
}

/// Consumes white space, however much there is.
fn pass_space(window: &mut Window) -> Result<(), Fatal> {
    loop {
        let blank = blank(window.data());
        window.consume(blank);
        if !window.data().is_empty() || !window.more()? {
            return Ok(());
        }
    }
}

fn blank(data: &[u8]) -> usize {
    data.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value that begins at `from` ends; none: it is longer than a record may be. What is inside is not checked.
fn value_end(window: &mut Window, from: usize, limits: &Limits) -> Result<Option<usize>, Fatal> {
    let mut scan = Scan { at: from, depth: 0, quoted: false };
    loop {
        let data = window.data();
        if let Some(end) = scan.run(&data[..data.len().min(from + limits.record_bytes)]) {
            return Ok(Some(end));
        }
        if data.len() >= from + limits.record_bytes {
            return Ok(None);
        }
        if !window.more()? {
            return Err(Fatal::new("json_truncated", &[]).at(window.place(window.data().len())));
        }
    }
}

/// Of JSON Lines: a value may go over several lines; a broken one ends with its line.
fn line_or_value_end(window: &mut Window, limits: &Limits) -> Result<Option<usize>, Fatal> {
    if window.data().first() == Some(&b'{') {
        loop {
            let data = window.data();
            let end = memchr::memchr(b'\n', data);
            let line = &data[..end.unwrap_or(data.len())];
            let whole = Scan { at: 0, depth: 0, quoted: false }.run(line);
            if let Some(whole) = whole {
                return Ok((whole <= limits.record_bytes).then_some(whole));
            }
            if let Some(end) = end {
                // The next line begins another object: this one is broken.
                let next = data[end..].trim_ascii_start();
                if next.first() == Some(&b'{') {
                    return Ok(Some(end));
                }
                if !next.is_empty() || window.ended() {
                    break;
                }
            }
            if data.len() > limits.record_bytes {
                return Ok(None);
            }
            if !window.more()? && end.is_none() {
                break;
            }
        }
        return value_end(window, 0, limits);
    }
    loop {
        let data = window.data();
        if let Some(end) = memchr::memchr(b'\n', data) {
            return Ok(Some(end));
        }
        if data.len() > limits.record_bytes {
            return Ok(None);
        }
        if !window.more()? {
            return Ok(Some(window.data().len()));
        }
    }
}

struct Scan {
    at: usize,
    depth: usize,
    quoted: bool,
}

impl Scan {
    /// Goes on where it was; some end: the value is whole.
    fn run(&mut self, data: &[u8]) -> Option<usize> {
        while self.at < data.len() {
            let byte = data[self.at];
            if self.quoted {
                match memchr::memchr2(b'"', b'\\', &data[self.at..]) {
                    None => {
                        self.at = data.len();
                        return None;
                    }
                    Some(found) if data[self.at + found] == b'\\' => {
                        // The escaped byte may not be there yet.
                        if self.at + found + 1 >= data.len() {
                            self.at += found;
                            return None;
                        }
                        self.at += found + 2;
                    }
                    Some(found) => {
                        self.at += found + 1;
                        self.quoted = false;
                        if self.depth == 0 {
                            return Some(self.at);
                        }
                    }
                }
                continue;
            }
            match byte {
                b'"' => self.quoted = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' if self.depth == 0 => return Some(self.at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(self.at + 1);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}

/// Passes over a value that was too long.
fn skip(window: &mut Window, lines: bool) -> Result<(), Fatal> {
    let mut scan = Scan { at: 0, depth: 0, quoted: false };
    loop {
        let data = window.data();
        if lines {
            if let Some(end) = memchr::memchr(b'\n', data) {
                window.consume(end);
                return Ok(());
            }
            scan.at = data.len();
        } else if let Some(end) = scan.run(data) {
            window.consume(end);
            return Ok(());
        }
        let passed = scan.at;
        window.consume(passed);
        scan.at = 0;
        if !window.more()? {
            return if lines { Ok(()) } else { Err(Fatal::new("json_truncated", &[]).at(window.place(0))) };
        }
    }
}

fn broken(window: &mut Window, at: usize) -> Fatal {
    let shown = window.excerpt(at, 20);
    Fatal::new("json_broken_top", &[&shown]).at(window.place(at))
}
