use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use snippets::config::{Decided, InForce, Section, Setting};
use snippets::{ConfigError, Error, Registry};

use super::backend::Backend;
use super::exit::{self, Failure};
use super::snippet_documents::{Content, Document};
use super::{Common, print, print_columns, print_json, usage};
use crate::access::{Access, Audited, audited};
use crate::app::App;
use crate::config::Config;
use crate::http::{DropSnippet, Dropped};

/// Documents of snippets, and their configuration
#[derive(Subcommand)]
pub enum SnippetsCommand {
    /// Write a document
    #[command(
        after_help = "Examples:\n  dvor snippets put offer/card 17 --file card.json\n  echo '{\"a\":1}' | dvor snippets put notes k1 --language ru"
    )]
    Put {
        #[command(flatten)]
        document: Document,
        #[command(flatten)]
        content: Content,
    },
    /// Print a document
    #[command(after_help = "Example:\n  dvor snippets get offer 4093-1275-8842-013 --language en")]
    Get(Document),
    /// Delete a document
    #[command(after_help = "Example:\n  dvor snippets delete notes k1")]
    Delete(Document),
    /// Check a configuration with everything that it names
    #[command(
        after_help = "Examples:\n  dvor snippets check snippets/config.pb.txt\n  dvor snippets check --snippets-config snippets/config.pb.txt"
    )]
    Check {
        /// The same as --snippets-config
        file: Option<PathBuf>,
        /// Instead of the configured file
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        snippets_config: Option<String>,
    },
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
    #[command(
        after_help = "Example:\n  dvor snippets drop photos/1.x --snippets-config snippets/config.pb.txt"
    )]
    Drop {
        name: String,
        /// Instead of the configured file; a server that runs has its own
        #[arg(long, value_name = "FILE")]
        snippets_config: Option<String>,
    },
}

impl SnippetsCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Put { document, content } => document.put(common, &content).await,
            Self::Get(document) => document.get(common).await,
            Self::Delete(document) => document.delete(common).await,
            Self::Check { file, snippets_config } => {
                let configured = match file {
                    Some(file) => Some(file),
                    None => configured(common, snippets_config.as_ref())?,
                };
                check(common, configured.as_deref())
            }
            Self::Explain { name, snippets_config } => {
                explain(common, &name, configured(common, snippets_config.as_ref())?.as_deref())
            }
            Self::Prefixes { snippets_config } => {
                prefixes(common, configured(common, snippets_config.as_ref())?)
            }
            Self::Drop { name, snippets_config } => {
                discard(common, name, configured(common, snippets_config.as_ref())?.as_deref()).await
            }
        }
    }
}

fn configured(common: &Common, flag: Option<&String>) -> Result<Option<PathBuf>> {
    let settings = common.settings_with(&[("snippets_config", flag)])?;
    Ok(Config::from_settings(&settings).map_err(usage)?.snippets_settings.config)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn refused(error: ConfigError) -> anyhow::Error {
    Failure::of(exit::USAGE, error.to_string())
}

fn check(common: &Common, file: Option<&Path>) -> Result<()> {
    let (draft, prefixes) = snippets::read(file, &Registry::shipped()).map_err(refused)?;
    let name = file.map_or_else(
        || "the configuration that comes with Dvor".to_owned(),
        |file| file.display().to_string(),
    );
    let count = draft.snippets().count();
    draft.numbered(&prefixes).map_err(|error| Failure::of(exit::USAGE, format!("{name}: {error}")))?;
    if common.json {
        return print_json(&json!({ "file": file, "snippets": count }));
    }
    print(&format!("{name} is valid and has {count} snippets"))
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
        .in_force()
        .into_iter()
        .map(|InForce { option, value, by }| vec![option, value, decided(&by)])
        .collect();
    print_columns(&["OPTION", "VALUE", "SET BY"], &rows)
}

fn decided(by: &Decided<'_>) -> String {
    let place = |setting: &Setting| {
        let section = if setting.section.is_empty() { "the root" } else { &setting.section };
        format!("{section}, line {}", setting.place.line)
    };
    match by {
        Decided::Default => "default".to_owned(),
        Decided::Set(setting) => place(setting),
        Decided::SetAs(option, setting) => format!("{}: {option}", place(setting)),
    }
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
    let (mut options, mut defaults) = (Vec::new(), Vec::new());
    for InForce { option, value, by } in section.in_force() {
        match by {
            Decided::Default => defaults.push(json!({ "option": option, "value": value })),
            Decided::Set(set) => options.push(
                json!({ "option": option, "value": value, "section": set.section, "line": set.place.line }),
            ),
            Decided::SetAs(by, set) => options.push(
                json!({ "option": option, "value": value, "section": set.section, "line": set.place.line, "by": by }),
            ),
        }
    }
    json!({ "name": section.name, "is_snippet": section.is_snippet, "recursive": section.recursive,
            "key_prefix": number, "options": options, "defaults": defaults })
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

async fn discard(common: &Common, name: String, file: Option<&Path>) -> Result<()> {
    let backend = Backend::open(common).await?;
    let dropped = match &backend {
        // The server goes by its own configuration.
        Backend::Server { .. } => backend
            .post("/v1/admin/snippets/drop", &DropSnippet { name })
            .await
            .map(|Dropped { name, documents }| (name, documents)),
        Backend::Here { app, .. } => drop_here(app, file, &name).await.map(|documents| (name, documents)),
    };
    backend.close().await?;
    let (name, documents) = dropped?;
    if common.json {
        return print_json(&json!({ "name": name, "documents": documents }));
    }
    print(&format!("{documents} documents of {name} are gone, and its key prefix is retired"))
}

/// What the server does, by the configuration that `dvor serve` would read.
async fn drop_here(app: &App, file: Option<&Path>, name: &str) -> Result<usize> {
    let access = Access::without_token("local command");
    audited(&app.store, &app.clock, &access, &Audited { what: "snippets.drop", whom: name }).await?;
    let dropped = snippets::drop_snippet(&app.store, file, &Registry::shipped(), name).await;
    dropped.map_err(|error| match error {
        Error::NotFound(_) => Failure::of(exit::NOT_FOUND, error.to_string()),
        Error::BadRequest(_) | Error::Config(_) => Failure::of(exit::USAGE, error.to_string()),
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use metrics_exporter_prometheus::PrometheusBuilder;
    use snippets::{Settings, Snippets};

    use super::*;
    use crate::app::Part;
    use crate::cli::{Cli, Command};

    /// The configuration of `drop NAME --snippets-config FILE`, as the command finds it.
    fn named(file: &Path) -> Option<PathBuf> {
        let flag = file.to_str().unwrap();
        let cli = Cli::try_parse_from(["dvor", "snippets", "drop", "a", "--snippets-config", flag]).unwrap();
        match cli.command {
            Command::Snippets(SnippetsCommand::Drop { snippets_config, .. }) => {
                configured(&cli.common, snippets_config.as_ref()).unwrap()
            }
            _ => None,
        }
    }

    async fn outcome(app: &App, file: Option<&Path>, name: &str) -> (u8, String) {
        match drop_here(app, file, name).await {
            Ok(documents) => (0, documents.to_string()),
            Err(error) => (exit::code(&error), error.to_string()),
        }
    }

    #[tokio::test]
    async fn without_a_server_a_drop_goes_by_the_configuration_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.pb.txt");
        let write = |sections: &str| {
            let text = format!("Body {{ Output: JSON InputSameAsOutput: true {sections} }}");
            std::fs::write(&file, text).unwrap();
        };
        write("Section { Name: \"a\" } Section { Name: \"b\" }");
        std::fs::write(folder.path().join("key_prefixes.txt"), "a 1\nb 2\n").unwrap();
        let common =
            Common { data: folder.path().join("data").to_str().map(str::to_owned), ..Common::default() };
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let app = App::open(common.load().unwrap(), metrics, Part::Onlooker).await.unwrap();
        let settings = Settings { config: Some(file.clone()), ..Settings::default() };
        Snippets::open(&app.base, settings, Registry::shipped()).await.unwrap();

        // Those who name no configuration have the one that comes with Dvor, which knows nothing of these.
        let (code, reason) = outcome(&app, None, "a").await;
        assert_eq!(code, exit::USAGE);
        assert!(reason.contains("does not belong to this store"), "{reason}");
        let named = named(&file);
        let configured = "snippet a is configured: take it out of the configuration first".to_owned();
        assert_eq!(outcome(&app, named.as_deref(), "a").await, (exit::USAGE, configured));
        write("Section { Name: \"b\" }");
        assert_eq!(outcome(&app, named.as_deref(), "a").await, (0, "0".to_owned()));
        assert_eq!(outcome(&app, named.as_deref(), "c").await.0, exit::NOT_FOUND);
        let numbers = std::fs::read_to_string(folder.path().join("key_prefixes.txt")).unwrap();
        assert_eq!(numbers, "a 1 retired\nb 2\n");
        app.close().await.unwrap();
    }

    #[test]
    fn what_is_explained_is_what_holds() {
        let text = "Body { Output: PB\nSection { Name: \"near\" Body { Input: PB\n\
                    Section { Name: \"x\" Body { InputSameAsOutput: true Output: TEXT } } } } }";
        let assets = snippets::config::Assets::Embedded(&[]);
        let draft = snippets::config::Draft::read(text, assets, &Registry::shipped()).unwrap();
        let section = &draft.sections["near/x"];
        let json = explained(section, None);
        assert_eq!(
            json["options"][0],
            json!({ "option": "Input", "value": "[TEXT]", "section": "near/x", "line": 3, "by": "InputSameAsOutput" })
        );
        assert_eq!(json["defaults"][1], json!({ "option": "Service", "value": "\"main\"" }));
        let said: Vec<_> = section.in_force().iter().map(|one| decided(&one.by)).collect();
        assert_eq!(said[..3], ["default", "near/x, line 3: InputSameAsOutput", "near/x, line 3"]);
    }
}
