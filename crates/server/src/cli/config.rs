use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use serde_json::json;

use super::{Common, print, print_json, usage};
use crate::config::{Config, Entry, Settings, redact};

/// Look at the configuration
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print every setting with the value in force and where it comes from
    #[command(after_help = "Examples:\n  dvor config show\n  DVOR_LOG__LEVEL=debug dvor config show --json")]
    Show,
    /// Check a configuration file
    #[command(after_help = "Example:\n  dvor config check /etc/dvor/dvor.toml")]
    Check { file: PathBuf },
}

impl ConfigCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Show => show(common),
            Self::Check { file } => check(common, &file).map_err(usage),
        }
    }
}

fn show(common: &Common) -> Result<()> {
    let mut settings = common.settings()?;
    let config = Config::from_settings(&settings).map_err(usage)?;
    // The folder that is used says more than that none was named.
    settings.fill("data", toml::Value::String(config.data.display().to_string()));
    if common.json {
        let item =
            |entry: &Entry| json!({ "key": entry.key, "value": shown(&entry.value), "source": entry.source });
        return print_json(&json!({ "items": settings.entries().iter().map(item).collect::<Vec<_>>() }));
    }
    print(&as_toml(&settings))
}

/// Valid TOML, with the source of each value behind it.
fn as_toml(settings: &Settings) -> String {
    let (mut lines, mut section) = (Vec::new(), "");
    for Entry { key, value, source } in settings.entries() {
        let (of, name) = key.rsplit_once('.').unwrap_or(("", key));
        if of != section {
            lines.push(format!("\n[{of}]"));
            section = of;
        }
        lines.push(format!("{name} = {}  # {source}", shown(value)));
    }
    lines.join("\n")
}

/// The value without its secrets.
fn shown(value: &toml::Value) -> toml::Value {
    match value {
        toml::Value::String(text) => toml::Value::String(redact(text)),
        toml::Value::Array(items) => toml::Value::Array(items.iter().map(shown).collect()),
        other => other.clone(),
    }
}

fn check(common: &Common, file: &std::path::Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let mut settings = Settings::defaults();
    settings.lay_file(file, &text)?;
    Config::from_settings(&settings)?;
    if common.json {
        return print_json(&json!({ "file": file, "valid": true }));
    }
    print(&format!("{} is valid", file.display()))
}
