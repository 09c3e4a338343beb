//! Stages of other programs: sections of the configuration whose names are the stages' ids.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use stages::api::{PluginRequest, SavedWish, TlsRequest};
use toml::Value;

use super::settings::{Settings, Source, closest};

const SECTION: &str = "stages.plugin.";

/// The keys of a section, each with a value of its type.
fn keys() -> [(&'static str, Value); 11] {
    let text = || Value::String(String::new());
    [
        ("address", text()),
        ("masks", Value::Array(Vec::new())),
        ("deadline_ms", Value::Integer(0)),
        ("calls_per_second", Value::Float(0.0)),
        ("parallel", Value::Integer(0)),
        ("saved", text()),
        ("traverse_every_hours", Value::Integer(0)),
        ("tls_ca_file", text()),
        ("tls_certificate_file", text()),
        ("tls_key_file", text()),
        ("tls_server_name", text()),
    ]
}

/// The value that a key of a section has when nobody sets it; `None`: it is no such key.
pub(super) fn default(key: &str, source: &Source) -> Result<Option<Value>> {
    let Some((_, name)) = key.strip_prefix(SECTION).and_then(|rest| rest.split_once('.')) else {
        return Ok(None);
    };
    if let Some((_, value)) = keys().into_iter().find(|(known, _)| *known == name) {
        return Ok(Some(value));
    }
    match closest(name, keys().map(|(known, _)| known), 0.7) {
        Some(known) => bail!("{source}: unknown key {key:?}; did you mean {known:?}?"),
        None => bail!("{source}: unknown key {key:?}"),
    }
}

/// All of them, by id.
pub(super) fn read(settings: &Settings) -> Result<Vec<(String, PluginRequest)>> {
    let keys = settings.entries().iter().filter_map(|entry| entry.key.strip_prefix(SECTION));
    let ids: BTreeSet<_> = keys.filter_map(|key| key.split_once('.')).map(|(id, _)| id.to_owned()).collect();
    ids.into_iter().map(|id| Ok((id.clone(), section(settings, &id)?))).collect()
}

fn section(settings: &Settings, id: &str) -> Result<PluginRequest> {
    let place = || {
        let first = settings.entries().iter().find(|entry| entry.key.starts_with(&format!("{SECTION}{id}.")));
        first.map_or_else(String::new, |entry| entry.source.to_string())
    };
    let Some(address) = value::<String>(settings, id, "address")?.filter(|address| !address.is_empty())
    else {
        bail!("{}: {SECTION}{id} lacks an address", place());
    };
    let number = |name| value::<u32>(settings, id, name);
    let tls = TlsRequest {
        ca: file(settings, id, "tls_ca_file")?,
        certificate: file(settings, id, "tls_certificate_file")?,
        key: file(settings, id, "tls_key_file")?,
        server_name: value(settings, id, "tls_server_name")?.unwrap_or_default(),
    };
    let is_plain = [&tls.ca, &tls.certificate, &tls.key, &tls.server_name].iter().all(|text| text.is_empty());
    let request = PluginRequest {
        address,
        masks: value(settings, id, "masks")?,
        deadline_ms: number("deadline_ms")?.unwrap_or_default(),
        calls_per_second: value(settings, id, "calls_per_second")?.unwrap_or_default(),
        parallel: number("parallel")?.unwrap_or_default(),
        saved: saved(settings, id)?,
        traverse_every_hours: number("traverse_every_hours")?.unwrap_or_default(),
        tls: (!is_plain).then_some(tls),
    };
    stages::check_registration(id, &request.clone().registration())
        .map_err(|error| anyhow!("{}: {SECTION}{id}: {error}", place()))?;
    Ok(request)
}

fn is_set(settings: &Settings, key: &str) -> bool {
    settings.entries().iter().any(|entry| entry.key == key)
}

fn value<T: DeserializeOwned>(settings: &Settings, id: &str, name: &str) -> Result<Option<T>> {
    let key = format!("{SECTION}{id}.{name}");
    is_set(settings, &key).then(|| settings.read(&key, Ok)).transpose()
}

fn saved(settings: &Settings, id: &str) -> Result<SavedWish> {
    let key = format!("{SECTION}{id}.saved");
    if !is_set(settings, &key) {
        return Ok(SavedWish::None);
    }
    settings.read(&key, |text: String| match text.as_str() {
        "none" => Ok(SavedWish::None),
        "topic" => Ok(SavedWish::Topic),
        "call" => Ok(SavedWish::Call),
        _ => bail!("{text:?} is not none, topic or call"),
    })
}

/// The text of the file that a key names.
fn file(settings: &Settings, id: &str, name: &str) -> Result<String> {
    let Some(path) = value::<String>(settings, id, name)?.filter(|path| !path.is_empty()) else {
        return Ok(String::new());
    };
    let place = settings.place(&format!("{SECTION}{id}.{name}"));
    std::fs::read_to_string(&path).with_context(|| format!("{place}: {path} cannot be read"))
}
