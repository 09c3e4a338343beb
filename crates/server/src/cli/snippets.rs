use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use snippets::config::Section;
use snippets::{ConfigError, Registry};

use super::backend::Backend;
use super::exit::{self, Failure};
use super::{Common, print, print_columns, print_json, usage};
use crate::config::Config;
use crate::http::{DropSnippet, Dropped};

/// Check and explain the configuration of snippets
#[derive(Subcommand)]
pub enum SnippetsCommand {
    /// Check a configuration with everything that it names
    #[command(after_help = "Example:\n  dvor snippets check snippets/config.pb.txt")]
    Check { file: PathBuf },
    /// Print each option in force for a section, and the section that set it
    #[command(
        after_help = "Example:\n  dvor snippets explain offer/card --snippets-config snippets/config.pb.txt"
    )]
    Explain {
        /// The absolute name of a snippet or a group
        name: String,
        /// Instead of the configured file
        #[arg(long, value_name = "FILE")]
        snippets_config: Option<String>,
    },
    /// Give key prefixes to the snippets that have none: adds lines to key_prefixes.txt beside the configuration
    #[command(after_help = "Example:\n  dvor snippets prefixes --snippets-config snippets/config.pb.txt")]
    Prefixes {
        /// Instead of the configured file
        #[arg(long, value_name = "FILE")]
        snippets_config: Option<String>,
    },
    /// Delete all documents of a snippet that is configured no longer, and retire its key prefix for ever
    #[command(after_help = "Example:\n  dvor snippets drop photos/1.x")]
    Drop { name: String },
}

impl SnippetsCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Check { file } => check(common, &file),
            Self::Explain { name, snippets_config } => {
                explain(common, &name, configured(common, snippets_config.as_ref())?.as_deref())
            }
            Self::Prefixes { snippets_config } => {
                prefixes(common, configured(common, snippets_config.as_ref())?)
            }
            Self::Drop { name } => discard(common, name).await,
        }
    }
}

fn configured(common: &Common, flag: Option<&String>) -> Result<Option<PathBuf>> {
    let settings = common.settings_with(&[("snippets_config", flag)])?;
    Ok(Config::from_settings(&settings).map_err(usage)?.snippets_options.config)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn refused(error: ConfigError) -> anyhow::Error {
    Failure::of(exit::USAGE, error.to_string())
}

fn check(common: &Common, file: &Path) -> Result<()> {
    let (draft, prefixes) = snippets::read(Some(file), &Registry::shipped()).map_err(refused)?;
    let count = draft.snippets().count();
    draft
        .numbered(&prefixes)
        .map_err(|error| Failure::of(exit::USAGE, format!("{}: {error}", file.display())))?;
    if common.json {
        return print_json(&json!({ "file": file, "snippets": count }));
    }
    print(&format!("{} is valid and has {count} snippets", file.display()))
}

fn explain(common: &Common, name: &str, file: Option<&Path>) -> Result<()> {
    let (draft, prefixes) = snippets::read(file, &Registry::shipped()).map_err(refused)?;
    let Some(section) = draft.sections.get(name) else {
        let names: Vec<_> = draft.sections.keys().map(String::as_str).collect();
        let like = crate::config::closest(name, names, 0.7);
        let hint = like.map_or_else(String::new, |like| format!("; did you mean {like:?}?"));
        return Err(Failure::of(exit::NOT_FOUND, format!("no section is called {name:?}{hint}")));
    };
    let number = prefixes.number(name).filter(|_| section.is_snippet);
    if common.json {
        return print_json(&explained(section, number));
    }
    print(&format!("{name} is {}\n", describe(section, number)))?;
    let rows: Vec<_> = section
        .settings
        .iter()
        .map(|(option, setting)| {
            let by = if setting.section.is_empty() { "the root" } else { &setting.section };
            vec![option.to_owned(), setting.value.to_string(), format!("{by}, line {}", setting.place.line)]
        })
        .collect();
    print_columns(&["OPTION", "VALUE", "SET BY"], &rows)
}

fn describe(section: &Section, number: Option<u32>) -> String {
    let number = number.map_or_else(|| "none yet".to_owned(), |number| number.to_string());
    match (section.is_snippet, section.recursive.is_empty()) {
        (true, true) => format!("a snippet; key prefix {number}"),
        (true, false) => {
            format!("a snippet and a group of {}; key prefix {number}", section.recursive.join(", "))
        }
        (false, true) => "a group that nothing can be written to".to_owned(),
        (false, false) => format!("a group of {}", section.recursive.join(", ")),
    }
}

fn explained(section: &Section, number: Option<u32>) -> serde_json::Value {
    let options: Vec<_> = section
        .settings
        .iter()
        .map(|(option, setting)| {
            let value = setting.value.to_string();
            json!({ "option": option, "value": value, "section": setting.section, "line": setting.place.line })
        })
        .collect();
    json!({ "name": section.name, "is_snippet": section.is_snippet, "recursive": section.recursive,
            "key_prefix": number, "options": options })
}

fn prefixes(common: &Common, file: Option<PathBuf>) -> Result<()> {
    let Some(file) = file else {
        let detail = "the configuration that comes with Dvor has all its key prefixes; name yours with --snippets-config";
        return Err(Failure::of(exit::USAGE, detail));
    };
    let (draft, mut prefixes) = snippets::read(Some(&file), &Registry::shipped()).map_err(refused)?;
    let added = prefixes.add_missing(draft.snippets());
    if !added.is_empty() {
        snippets::write_prefixes(&file, &prefixes).map_err(refused)?;
    }
    if common.json {
        let added: Vec<_> =
            added.iter().map(|(name, number)| json!({ "name": name, "number": number })).collect();
        return print_json(&json!({ "added": added }));
    }
    if added.is_empty() {
        return print("every snippet has its key prefix");
    }
    print(&added.iter().map(|(name, number)| format!("{name} {number}")).collect::<Vec<_>>().join("\n"))
}

async fn discard(common: &Common, name: String) -> Result<()> {
    let backend = Backend::open(common).await?;
    let dropped: Result<Dropped> = backend.post("/v1/admin/snippets/drop", &DropSnippet { name }).await;
    backend.close().await?;
    let Dropped { name, documents } = dropped?;
    if common.json {
        return print_json(&json!({ "name": name, "documents": documents }));
    }
    print(&format!("{documents} documents of {name} are gone, and its key prefix is retired"))
}
