use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde::{Serialize, de::DeserializeOwned};
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::plugins;

const DEFAULTS: &str = include_str!("../../../../config/default.toml");
/// Names that begin like a key's but belong to somebody else.
const OTHER_NAMES: [&str; 3] = ["DVOR_CONFIG", "DVOR_TOKEN", "DVOR_TEST"];

/// All keys in the order of `config/default.toml`, each with the value in force and where it came from.
#[derive(Clone, Debug)]
pub struct Settings {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub value: Value,
    pub source: Source,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Environment { name: String },
    Flag { name: String },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Self::Environment { name } | Self::Flag { name } => f.write_str(name),
        }
    }
}

impl Settings {
    pub fn defaults() -> Self {
        let found = keys_of(DEFAULTS).expect("config/default.toml is tested to be valid");
        let entry = |(key, value, _)| Entry { key, value, source: Source::Default };
        Self { entries: found.into_iter().map(entry).collect() }
    }

    /// Lays a file's values over what is there.
    pub fn lay_file(&mut self, path: &Path, text: &str) -> Result<()> {
        let shown = path.display();
        let found = keys_of(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            anyhow!("{shown}, line {line}: {}", error.message().replace('\n', ", "))
        })?;
        for (key, value, line) in found {
            let source = Source::File { path: path.to_owned(), line };
            self.set(&key, value, source)?;
        }
        Ok(())
    }

    /// Lays `DVOR_…` variables over what is there. One that is no key but looks like one is refused; others are left
    /// alone, since a platform may set names of its own (`DVOR_SERVICE_HOST` in Kubernetes).
    pub fn lay_environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) -> Result<()> {
        for (name, text) in variables {
            let Some(rest) = name.strip_prefix("DVOR_") else { continue };
            if OTHER_NAMES.iter().any(|other| name.starts_with(other)) {
                continue;
            }
            let key = rest.to_lowercase().replace("__", ".");
            let Some(entry) = self.entries.iter().find(|entry| entry.key == key) else {
                match closest(&key, self.entries.iter().map(|entry| entry.key.as_str()), 0.86) {
                    Some(known) => bail!(
                        "{name} is not a setting; did you mean DVOR_{}?",
                        known.replace('.', "__").to_uppercase()
                    ),
                    None => continue,
                }
            };
            let source = Source::Environment { name: name.clone() };
            let value = value_of_text(&entry.value, &text).ok_or_else(|| {
                let text = without_passwords(&text);
                anyhow!("{name}: {text:?} is not {}", describe(&entry.key, &entry.value))
            })?;
            self.set(&key, value, source)?;
        }
        Ok(())
    }

    /// Lays a flag's text over what is there.
    pub fn lay_flag(&mut self, key: &str, text: &str) -> Result<()> {
        let name = format!("--{}", key.replace('_', "-"));
        let default = self.value(key)?.clone();
        let default = if key == "store" { Value::String(String::new()) } else { default };
        let value = value_of_text(&default, text)
            .ok_or_else(|| anyhow!("{name}: {text:?} is not {}", describe(key, &default)))?;
        self.set(key, value, Source::Flag { name })
    }

    /// Shows another value for a key, without another source.
    pub fn fill(&mut self, key: &str, value: Value) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.value = value;
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn value(&self, key: &str) -> Result<&Value> {
        Ok(&self.entry(key)?.value)
    }

    /// Where a key's value came from, as the beginning of a sentence about it.
    pub fn place(&self, key: &str) -> String {
        match self.entry(key).map(|entry| &entry.source) {
            Ok(source @ (Source::Flag { .. } | Source::Environment { .. })) => source.to_string(),
            Ok(source) => format!("{source}: {key}"),
            Err(_) => key.to_owned(),
        }
    }

    pub fn text(&self, key: &str) -> Result<String> {
        self.read(key, Ok)
    }

    pub fn number<T: TryFrom<i64>>(&self, key: &str) -> Result<T> {
        self.read(key, |number: i64| T::try_from(number).map_err(|_| anyhow!("{number} is out of range")))
    }

    /// The key's value made into what the program needs; a failure names the place.
    pub fn read<T: DeserializeOwned, R>(&self, key: &str, make: impl FnOnce(T) -> Result<R>) -> Result<R> {
        let entry = self.entry(key)?;
        let value = entry.value.clone().try_into().map_err(anyhow::Error::from);
        value
            .and_then(make)
            .map_err(|error| anyhow!("{}: {}", self.place(key), without_passwords(&error.to_string())))
    }

    fn entry(&self, key: &str) -> Result<&Entry> {
        self.entries.iter().find(|entry| entry.key == key).ok_or_else(|| anyhow!("there is no setting {key}"))
    }

    fn set(&mut self, key: &str, value: Value, source: Source) -> Result<()> {
        if !self.entries.iter().any(|entry| entry.key == key)
            && let Some(default) = plugins::default(key, &source)?
        {
            self.entries.push(Entry { key: key.to_owned(), value: default, source: source.clone() });
        }
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) else {
            return Err(self.unknown(key, &source));
        };
        if !fits(key, &entry.value, &value) {
            bail!("{source}: {key} must be {}, not {}", describe(key, &entry.value), value.type_str());
        }
        (entry.value, entry.source) = (value, source);
        Ok(())
    }

    fn unknown(&self, key: &str, source: &Source) -> anyhow::Error {
        let section = format!("{key}.");
        if let Some(entry) = self.entries.iter().find(|entry| entry.key.starts_with(&section)) {
            return anyhow!("{source}: {key} is a section; did you mean {:?}?", entry.key);
        }
        match closest(key, self.entries.iter().map(|entry| entry.key.as_str()), 0.7) {
            Some(known) => anyhow!("{source}: unknown key {key:?}; did you mean {known:?}?"),
            None => anyhow!("{source}: unknown key {key:?}; `dvor config show` lists all keys"),
        }
    }
}

/// The known word most like this one, if any is like it at all.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, at_least: f64) -> Option<&'a str> {
    let rated = known.into_iter().map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    rated
        .filter(|(rate, _)| *rate >= at_least)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// A URL without its password, for people and logs.
pub fn redact(text: &str) -> String {
    let mut shown = text.to_owned();
    if let Some((scheme, rest)) = text.split_once("://") {
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if let Some((user, host)) = authority.rsplit_once('@') {
            let user = user.split_once(':').map_or(user.to_owned(), |(name, _)| format!("{name}:***"));
            shown = format!("{scheme}://{user}@{host}{tail}");
        }
    }
    let Some((before, query)) = shown.split_once('?') else { return shown };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _))
            if ["password", "secret", "key", "token"]
                .iter()
                .any(|word| name.to_lowercase().contains(word)) =>
        {
            format!("{name}=***")
        }
        _ => parameter.to_owned(),
    });
    format!("{before}?{}", parameters.collect::<Vec<_>>().join("&"))
}

/// A sentence that may repeat a mistyped url, without what stands between a name and an `@`.
fn without_passwords(text: &str) -> String {
    let ends_a_name = |found: char| found.is_whitespace() || "\"'/".contains(found);
    let mut shown = String::new();
    let mut parts = text.split('@').peekable();
    while let Some(part) = parts.next() {
        let word = part.rfind(ends_a_name).map_or(0, |at| at + 1);
        match part[word..].find(':').filter(|_| parts.peek().is_some()) {
            Some(colon) => {
                shown.push_str(&part[..=word + colon]);
                shown.push_str("***@");
            }
            None => {
                shown.push_str(part);
                if parts.peek().is_some() {
                    shown.push('@');
                }
            }
        }
    }
    shown
}

/// Dotted keys with their values and lines, in the order of the text.
fn keys_of(text: &str) -> Result<Vec<(String, Value, usize)>, toml::de::Error> {
    let values: toml::Table = toml::from_str(text)?;
    let places = DeTable::parse(text)?;
    let mut found = Vec::new();
    walk("", places.get_ref(), &values, &mut found);
    found.sort_by_key(|(_, _, start)| *start);
    Ok(found.into_iter().map(|(key, value, start)| (key, value, line_of(text, start))).collect())
}

fn walk(prefix: &str, places: &DeTable<'_>, values: &toml::Table, found: &mut Vec<(String, Value, usize)>) {
    for (name, place) in places {
        let key = format!("{prefix}{}", name.get_ref());
        match (place.get_ref(), values.get(name.get_ref().as_ref())) {
            (DeValue::Table(inner), Some(Value::Table(table))) => {
                walk(&format!("{key}."), inner, table, found);
            }
            (_, Some(value)) => found.push((key, value.clone(), name.span().start)),
            (_, None) => {}
        }
    }
}

fn line_of(text: &str, position: usize) -> usize {
    text.as_bytes().iter().take(position).filter(|byte| **byte == b'\n').count() + 1
}

fn fits(key: &str, default: &Value, value: &Value) -> bool {
    match (default, value) {
        _ if key == "store" => match value {
            Value::Array(urls) => urls.iter().all(Value::is_str),
            other => other.is_str(),
        },
        (Value::Float(_), Value::Integer(_)) => true,
        (Value::Array(_), Value::Array(items)) => items.iter().all(Value::is_str),
        _ => default.same_type(value),
    }
}

fn describe(key: &str, default: &Value) -> &'static str {
    match default {
        _ if key == "store" => "a text or a list of texts",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list of texts",
        _ => "a text",
    }
}

/// A value of the default's type from the text of a variable or flag: lists by commas or as TOML.
fn value_of_text(default: &Value, text: &str) -> Option<Value> {
    let as_list = || toml::from_str::<toml::Table>(&format!("list = {text}")).ok()?.remove("list");
    match default {
        Value::Integer(_) => text.replace('_', "").parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Array(_) | Value::String(_) if text.starts_with('[') && text.ends_with(']') => as_list(),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Some(Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> String {
        Settings::defaults().lay_file(Path::new("d.toml"), text).unwrap_err().to_string()
    }

    fn environment(name: &str, value: &str) -> Result<()> {
        Settings::defaults().lay_environment([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn unknown_keys_are_refused_with_a_suggestion() {
        assert_eq!(file("htpp = \"x\""), "d.toml, line 1: unknown key \"htpp\"; did you mean \"http\"?");
        assert_eq!(
            file("[log]\n\nlevle = \"x\""),
            "d.toml, line 3: unknown key \"log.levle\"; did you mean \"log.level\"?"
        );
        assert_eq!(
            file("zzz.qqq = 1"),
            "d.toml, line 1: unknown key \"zzz.qqq\"; `dvor config show` lists all keys"
        );
        assert_eq!(file("log = 5"), "d.toml, line 1: log is a section; did you mean \"log.level\"?");
    }

    #[test]
    fn wrong_types_and_broken_files_name_the_line() {
        assert_eq!(file("data = \"x\"\nhttp = 7080"), "d.toml, line 2: http must be a text, not integer");
        assert_eq!(
            file("limits.connections = \"many\""),
            "d.toml, line 1: limits.connections must be a whole number, not string"
        );
        assert_eq!(file("store = [1]"), "d.toml, line 1: store must be a text or a list of texts, not array");
        assert!(file("a = \nb = 1").starts_with("d.toml, line 1: "), "{}", file("a = \nb = 1"));
    }

    #[test]
    fn a_variable_that_looks_like_a_key_is_refused_and_others_are_left_alone() {
        let error = environment("DVOR_LOG_LEVEL", "debug").unwrap_err().to_string();
        assert_eq!(error, "DVOR_LOG_LEVEL is not a setting; did you mean DVOR_LOG__LEVEL?");
        let error = environment("DVOR_HTPP", "1").unwrap_err().to_string();
        assert_eq!(error, "DVOR_HTPP is not a setting; did you mean DVOR_HTTP?");
        let error = environment("DVOR_LIMITS__CONNECTIONS", "many").unwrap_err().to_string();
        assert_eq!(error, "DVOR_LIMITS__CONNECTIONS: \"many\" is not a whole number");
        for other in ["DVOR_SERVICE_HOST", "DVOR_PORT_7080_TCP", "DVOR_TEST_POSTGRES", "DVOR_TOKEN", "HTTP"] {
            environment(other, "x").unwrap();
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let check = |text: &str, shown: &str| assert_eq!(redact(text), shown);
        check("postgres://dvor:s3cr@t@db/dvor", "postgres://dvor:***@db/dvor");
        check(
            "postgres://dvor@db/dvor?password=x&sslmode=require",
            "postgres://dvor@db/dvor?password=***&sslmode=require",
        );
        check("s3://bucket/p?secret_access_key=x&region=r", "s3://bucket/p?secret_access_key=***&region=r");
        check("embedded:/srv/a@b:c", "embedded:/srv/a@b:c");
    }
}
